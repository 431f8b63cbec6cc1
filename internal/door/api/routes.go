package api

import (
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"

	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// operation is one entry of the route table: method, path, required scope and action. The
// API description is generated from it.
type operation struct {
	method, path string
	// name is the name in generated clients; what is a one-sentence description.
	name, what string
	// scope is the required scope; empty means open to all. login is set for login and
	// logout, which are open but counted and logged like other operations.
	scope wire.Scope
	login bool
	query []param
	// verb is set if the last segment may follow a colon instead of a slash:
	// /v1/sessions/{id}:fork.
	verb bool
	// long is set if the operation may wait for a model. Such operations have a separate
	// limit, so that they do not block others.
	long bool
	// heavy is set if the response may be as large as a session. Memory is reserved for it.
	heavy bool
	// foreign is set for other protocols. Their handlers call this API in turn, and the
	// work is counted there. encodeProblem encodes errors in the format of the protocol;
	// nil means our own.
	foreign       bool
	encodeProblem func(wire.Problem) any
	// idempotent is set for operations that create something. A request with an idempotency
	// key runs once, and repetitions receive the same response.
	idempotent bool
	action
}

// param is a query parameter or a header.
type param struct {
	name, kind, what string
	// header is set for headers.
	header bool
	// values lists the allowed values, if they are fixed.
	values []string
}

// action handles a request.
type action struct {
	// in and out are the types of the JSON bodies; nil if there is none.
	in, out reflect.Type
	// optional is set if the body may be omitted, anything if it may have any content type.
	optional, anything bool
	// content is the media type of a body that is not JSON. also is set if out may also be
	// sent as a stream of events.
	content string
	also    bool
	run     func(*call) error
}

// give responds with the result of do.
func give[H any, P handlers[H], Out any](do func(H) (Out, error)) action {
	return action{out: reflect.TypeFor[Out](), run: func(c *call) error {
		out, err := do(handlersOf[H, P](c))
		if err != nil {
			return err
		}
		return c.reply(http.StatusOK, out)
	}}
}

// take decodes the body and responds with the result of do.
func take[H any, P handlers[H], In, Out any](do func(H, In) (Out, error)) action {
	return action{in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), run: func(c *call) error {
		var in In
		if err := c.decode(&in, c.op.optional); err != nil {
			return err
		}
		out, err := do(handlersOf[H, P](c), in)
		if err != nil {
			return err
		}
		return c.reply(http.StatusOK, out)
	}}
}

// takeOptional is like take for a body that may be omitted.
func takeOptional[H any, P handlers[H], In, Out any](do func(H, In) (Out, error)) action {
	a := take[H, P](do)
	a.optional = true
	return a
}

// write returns an action whose response, which is not JSON, is written by do.
func write[H any, P handlers[H]](content string, do func(H) error) action {
	return action{content: content, run: on[H, P](do)}
}

// on returns a function that calls do with the handlers of a request.
func on[H any, P handlers[H]](do func(H) error) func(*call) error {
	return func(c *call) error { return do(handlersOf[H, P](c)) }
}

// knows reports whether the operation has a query parameter of that name.
func (o *operation) knows(name string) bool {
	return slices.ContainsFunc(o.query, func(p param) bool { return p.name == name && !p.header })
}

// changes reports whether the operation changes anything.
func (o *operation) changes() bool {
	return o.scope.Includes(wire.ScopeWrite) || o.scope == wire.ScopeSync && o.method != http.MethodGet
}

// operations returns the route table.
func operations() []*operation {
	all := slices.Concat(sessionRoutes(), binRoutes(), cardRoutes(), branchRoutes(), fileRoutes(), turnRoutes(), keyRoutes(), statusRoutes(), dataRoutes(), workRoutes(), searchRoutes(), memoryRoutes(), exchangeRoutes(), storedRoutes(), syncRoutes(), tokenRoutes(), browserRoutes(), foreignRoutes(), healthRoutes())
	table := make([]*operation, len(all))
	for i := range all {
		table[i] = &all[i]
	}
	return table
}

const (
	typeStream  = "text/event-stream"
	typeMetrics = "text/plain; version=0.0.4"
	typeLines   = "application/x-ndjson"
	typeBytes   = "application/octet-stream"
)

func text(name, what string, values ...string) param {
	return param{name: name, kind: "string", what: what, values: values}
}
func flag(name, what string) param  { return param{name: name, kind: "boolean", what: what} }
func count(name, what string) param { return param{name: name, kind: "integer", what: what} }
func header(name, what string) param {
	return param{name: name, kind: "string", what: what, header: true}
}

// idempotencyParam is the Idempotency-Key header of creating operations.
var idempotencyParam = header("Idempotency-Key", "Identifies the request. Repeating it within a day, even after an error or a restart, has no further effect and returns the same response.")

var paging = []param{count("limit", "Maximum number of results, up to 1000."), text("cursor", "Cursor of the previous page.")}

func sessionRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/sessions", name: "listSessions", scope: wire.ScopeRead, what: "Lists sessions, most recently updated first.", query: append([]param{
			text("sort", "Sorts by this field instead. Turns and costs are those recorded by firn.", "updated", "created", "title", "turns", "size", "cost"), text("order", "Ascending or descending; ascending by default for titles only.", "asc", "desc"), text("group", "Sorts by directory, source or day first, and returns the group of each session.", "project", "source", "day"),
			text("agent", "Only those of this agent."), text("key", "Only those of this key."), text("sender", "Only those with this sender."), text("text", "Only those with this text in the title or first message."),
			flag("archived", "Lists archived sessions instead."), flag("hidden", "Lists hidden sessions instead."), flag("empty", "Includes sessions without entries."), flag("live", "Only those with a running turn."),
			text("source", "Only those of this source: another tool's directory, or firn for its own."), text("tag", "Only those with this tag."), text("cwd", "Only those started in this directory, or with a message sent from it."), text("under", "As cwd, for this directory and all below it."),
			{name: "since", kind: "date-time", what: "Only those updated at or after this time."}, {name: "until", kind: "date-time", what: "Only those last updated before this time."}, flag("count", "Returns the total even if counting is slow."), flag("state", "Includes the state of each session; limits a page to 100."),
		}, paging...), action: give(sessionCalls.listSessions)},
		{method: "POST", path: "/v1/sessions", name: "newSession", scope: wire.ScopeWrite, what: "Creates a session, or returns the one a key points at.", idempotent: true, query: []param{idempotencyParam}, action: takeOptional(sessionCalls.newSession)},
		{method: "GET", path: "/v1/sessions/{id}", name: "getSession", scope: wire.ScopeRead, what: "Returns a session. The ETag is its end position.", action: give(sessionCalls.getSession)},
		{method: "PATCH", path: "/v1/sessions/{id}", name: "patchSession", scope: wire.ScopeWrite, what: "Updates a session's title, model and other settings.", action: take(sessionCalls.patchSession)},
		{method: "DELETE", path: "/v1/sessions/{id}", name: "removeSession", scope: wire.ScopeWrite, what: "Hides a session or moves it to the trash bin. Nothing is erased.", query: []param{
			text("reason", "Reason, for the log."), flag("bin", "Moves the files to the trash bin instead of hiding the session."),
		}, action: give(binCalls.removeSession)},
		{method: "GET", path: "/v1/sessions/{id}/entries", name: "listEntries", heavy: true, scope: wire.ScopeRead, what: "Lists a session's entries.", query: append([]param{
			text("view", "All entries on disk, the current branch, or the window sent to the model.", wire.ViewDisk, wire.ViewBranch, wire.ViewWindow),
			count("after", "Only entries after this position."), count("before", "Only entries before this position."), flag("back", "Returns entries newest first."),
			text("head", "Last entry of the branch; default: the head."), text("as", "html: rendered cards, with long texts truncated. text: the lines byte for byte, as strings.", asHTML, asText),
		}, paging...), action: give(entryCalls.listEntries)},
		{method: "POST", path: "/v1/sessions/{id}/entries", name: "appendEntries", scope: wire.ScopeWrite, what: "Appends entries. They are durable when the response is sent.", idempotent: true, query: []param{
			idempotencyParam,
			header("If-Match", "Expected end position of the session, in quotes. If it differs, the response is a conflict with the current end."),
		}, action: take(entryCalls.appendEntries)},
		{method: "GET", path: "/v1/sessions/{id}/tree", name: "getTree", heavy: true, scope: wire.ScopeRead, what: "Returns a session's tree.", query: paging, action: give(entryCalls.getTree)},
		{method: "GET", path: "/v1/sessions/{id}/children", name: "listChildren", scope: wire.ScopeRead, what: "Lists sub-agent sessions started by this session, newest first, including archived ones.", action: give(sessionCalls.listChildren)},
		{method: "GET", path: "/v1/sessions/{id}/damage", name: "getDamage", heavy: true, scope: wire.ScopeRead, what: "Lists the damage in a session: unreadable and misplaced entries. Reads the whole session.", action: give(entryCalls.getDamage)},
		{method: "GET", path: "/v1/sessions/{id}/window", name: "getWindow", heavy: true, scope: wire.ScopeRead, what: "Returns the next request to the model, and what is left out and why.", query: []param{
			text("as", "Includes the request in a provider's format, such as anthropic or openai."), flag("file", "Returns only the request, byte for byte, as a file."),
		}, action: windowAction()},
	}
}

func branchRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/sessions/{id}/compactions", name: "listCompactions", heavy: true, scope: wire.ScopeRead, what: "Lists a session's compactions.", action: give(compactionCalls.listCompactions)},
		{method: "POST", path: "/v1/sessions/{id}/compactions", name: "compact", long: true, scope: wire.ScopeWrite, what: "Compacts a session and returns the summary.", idempotent: true, query: []param{idempotencyParam}, action: takeOptional(compactionCalls.compact)},
		{method: "DELETE", path: "/v1/sessions/{id}/compactions/{cid}", name: "undoCompaction", scope: wire.ScopeWrite, what: "Undoes a compaction.", action: give(compactionCalls.undoCompaction)},
		{method: "POST", path: "/v1/sessions/{id}/compactions/{cid}/redo", verb: true, name: "redoCompaction", scope: wire.ScopeWrite, what: "Redoes an undone compaction.", action: takeOptional(compactionCalls.redoCompaction)},
		{method: "POST", path: "/v1/sessions/{id}/fork", verb: true, name: "fork", scope: wire.ScopeWrite, what: "Creates a session that continues from an entry of this one.", idempotent: true, query: []param{idempotencyParam}, action: takeOptional(branchCalls.fork)},
		{method: "POST", path: "/v1/sessions/{id}/rewind", verb: true, name: "rewind", long: true, scope: wire.ScopeWrite, what: "Moves the head to an earlier entry, or back to a later one.", action: take(branchCalls.rewind)},
		{method: "POST", path: "/v1/sessions/{id}/label", verb: true, name: "label", scope: wire.ScopeWrite, what: "Sets or removes an entry's label.", action: take(branchCalls.label)},
		{method: "POST", path: "/v1/sessions/{id}/hide", verb: true, name: "hide", scope: wire.ScopeWrite, what: "Hides an entry.", action: take(branchCalls.hide)},
		{method: "POST", path: "/v1/sessions/{id}/show", verb: true, name: "show", scope: wire.ScopeWrite, what: "Unhides an entry.", action: take(branchCalls.show)},
		{method: "POST", path: "/v1/sessions/{id}/restore", verb: true, name: "restoreSession", scope: wire.ScopeWrite, what: "Restores a session from the trash bin, or unhides it.", action: takeOptional(binCalls.restoreSession)},
		{method: "POST", path: "/v1/sessions/{id}/purge", verb: true, name: "purge", scope: wire.ScopeAdmin, what: "Permanently erases a session or some of its entries.", action: take(binCalls.purge)},
	}
}

func turnRoutes() []operation {
	named := header("Idempotency-Key", "Identifies the message. A message sent again with the same ID is stored once.")
	return []operation{
		{method: "POST", path: "/v1/sessions/{id}/turns", name: "turn", long: true, scope: wire.ScopeWrite, what: "Sends a message and returns the answer or, with Accept: text/event-stream, a stream of events.",
			query: []param{named}, action: action{in: reflect.TypeFor[wire.Turn](), out: reflect.TypeFor[wire.Answer](), also: true, optional: true, run: on(turnCalls.turn)}},
		{method: "POST", path: "/v1/answers", name: "answerOnce", long: true, scope: wire.ScopeWrite, what: "Answers a conversation without storing it: returns the answer or, with Accept: text/event-stream, a stream of events. The agent's tools and notes are not used.",
			action: action{in: reflect.TypeFor[wire.Once](), out: reflect.TypeFor[wire.Answer](), also: true, run: on(turnCalls.answerOnce)}},
		{method: "POST", path: "/v1/sessions/{id}/kill", verb: true, name: "kill", scope: wire.ScopeWrite, what: "Stops the running turn and clears the queue. Returns the removed messages.", action: takeOptional(turnCalls.kill)},
		{method: "PATCH", path: "/v1/sessions/{id}/queue", name: "changeQueue", scope: wire.ScopeWrite, what: "Removes messages from the queue or changes its order. The change is durable when the response is sent. If a named message is not queued, nothing changes.", action: take(turnCalls.changeQueue)},
		{method: "GET", path: "/v1/sessions/{id}/approvals", name: "listApprovals", scope: wire.ScopeRead, what: "Lists tool calls that wait for approval. They are in the log, so they are listed also after a restart.", action: give(turnCalls.listApprovals)},
		{method: "POST", path: "/v1/sessions/{id}/approvals/{call}", name: "answerApproval", long: true, scope: wire.ScopeWrite, what: "Allows or denies a tool call. The answer is durable when the response is sent.", action: take(turnCalls.answerApproval)},
		{method: "POST", path: "/v1/sessions/{id}/calls/{call}", name: "answerCall", scope: wire.ScopeWrite, what: "Returns the result of a call of the client's tools, or output of a running one. Only the client that offered the tools with the turn can do so.", action: take(turnCalls.answerCall)},
		{method: "GET", path: "/v1/sessions/{id}/events", name: "sessionEvents", heavy: true, scope: wire.ScopeRead, what: "Streams a session's events: first those in the log, then new ones. Event IDs are positions.", query: []param{
			text("as", "html: entries as rendered cards, answers as growing HTML.", asHTML),
			count("after", "Starts after this position."), header("Last-Event-ID", "Starts after this position; takes precedence over the parameter."),
		}, action: write(typeStream, eventCalls.sessionEvents)},
		{method: "GET", path: "/v1/events", name: "allEvents", scope: wire.ScopeRead, what: "Streams events of all sessions, beginning now.", action: write(typeStream, eventCalls.allEvents)},
		{method: "POST", path: "/v1/inbound", name: "inbound", long: true, scope: wire.ScopeWrite, what: "Accepts a message from a chat network and routes it to a session. The message is durable when the response is sent.", query: []param{named}, action: take(turnCalls.inbound)},
	}
}

func keyRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/keys", name: "listKeys", scope: wire.ScopeRead, what: "Lists keys and the sessions they point at, most recently used first.", query: append([]param{text("agent", "Only those of this agent."), text("text", "Only keys that contain this text.")}, paging...), action: give(keyCalls.listKeys)},
		{method: "GET", path: "/v1/keys/{key}", name: "getKey", scope: wire.ScopeRead, what: "Returns the session a key points at, and every session it has had.", action: give(keyCalls.getKey)},
		{method: "PUT", path: "/v1/keys/{key}", name: "pointKey", scope: wire.ScopeWrite, what: "Points a key at a session.", action: take(keyCalls.pointKey)},
		{method: "DELETE", path: "/v1/keys/{key}", name: "removeKey", scope: wire.ScopeWrite, what: "Deletes a key. Its sessions stay.", action: give(keyCalls.removeKey)},
		{method: "POST", path: "/v1/keys/{key}/reset", name: "resetKey", scope: wire.ScopeWrite, what: "Starts a new session for a key.", action: takeOptional(keyCalls.resetKey)},
		{method: "POST", path: "/v1/keys/{key}/continue-previous", name: "continuePrevious", scope: wire.ScopeWrite, what: "Undoes a reset: points the key at its previous session.", action: takeOptional(keyCalls.continuePrevious)},
	}
}

func statusRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/running", name: "listRunning", scope: wire.ScopeRead, what: "Lists sessions with a running turn.", action: give(statusCalls.listRunning)},
		{method: "GET", path: "/v1/usage", name: "usage", scope: wire.ScopeRead, what: "Returns token usage and cost.", query: []param{
			text("by", "Groups by this; default: day.", "day", "model", "agent", "session"), text("and", "Second grouping.", "day", "model", "agent", "session"),
			{name: "since", kind: "date-time", what: "Only usage at or after this time."}, text("format", "Response format; default: json.", "json", "csv"),
		}, action: usageAction()},
		{method: "GET", path: "/v1/usage/report", name: "usageReport", scope: wire.ScopeRead, what: "Returns token usage, cost and tool calls by day, model, agent, project and tool.", query: []param{
			{name: "since", kind: "date-time", what: "Only usage on or after the day of this time."}, text("format", "Response format; default: json.", "json", "csv"),
		}, action: action{out: reflect.TypeFor[wire.UsageReport](), content: typeCSV, run: on(usageCalls.report)}},
		{method: "GET", path: "/v1/status", name: "status", scope: wire.ScopeRead, what: "Returns the gateway's status.", action: give(statusCalls.status)},
		{method: "GET", path: "/v1/settings", name: "listSettings", scope: wire.ScopeRead, what: "Lists the settings of agents, models and the terminal, and where each is set.", action: give(statusCalls.listSettings)},
		{method: "GET", path: "/v1/agents", name: "listAgents", scope: wire.ScopeRead, what: "Lists agents.", action: give(statusCalls.listAgents)},
		{method: "GET", path: "/v1/models", name: "listModels", scope: wire.ScopeRead, what: "Lists available models. The response also has the fields of OpenAI's API, in which agents are listed as models.", query: []param{flag("local", "Also asks the servers on the gateway's machine, such as Ollama, for their models.")}, action: give(statusCalls.listModels)},
		{method: "GET", path: "/v1/models/{model}", name: "getModel", scope: wire.ScopeRead, what: "Returns a model or an agent in the format of OpenAI's API.", encodeProblem: openAIProblem, action: give(statusCalls.getModel)},
	}
}

func workRoutes() []operation {
	hook := give(workCalls.hook)
	hook.anything = true
	return []operation{
		{method: "POST", path: "/v1/hooks/{hook}", name: "callHook", scope: wire.ScopeHook, what: "Sends a message to an agent, rendered from the body by the hook's template. Requires the hook's token, or a signature of the body if the hook has a secret.", query: []param{
			header("Idempotency-Key", "Identifies the call. Repeated calls are accepted once."),
		}, action: hook},
		{method: "GET", path: "/v1/jobs", name: "listJobs", scope: wire.ScopeRead, what: "Lists scheduled jobs.", action: give(workCalls.listJobs)},
		{method: "POST", path: "/v1/jobs/{job}/run", name: "runJob", scope: wire.ScopeWrite, what: "Runs a job now. Returns when the run has started.", action: takeOptional(workCalls.runJob)},
		{method: "POST", path: "/v1/maintenance", name: "maintain", scope: wire.ScopeAdmin, what: "Runs maintenance as configured, or returns its plan.", action: takeOptional(workCalls.maintain)},
	}
}

func exchangeRoutes() []operation {
	bring := give(exchangeCalls.importSession)
	bring.anything = true
	take := action{content: typeLines, run: on(exchangeCalls.export)}
	return []operation{
		{method: "GET", path: "/v1/formats", name: "listFormats", scope: wire.ScopeRead, what: "Lists the supported session formats and their limitations.", action: give(exchangeCalls.listFormats)},
		{method: "POST", path: "/v1/import", name: "importSession", long: true, scope: wire.ScopeWrite, what: "Imports the transcript in the body as a session. Entries that exist already are not added again.", query: []param{
			text("from", "Format of the transcript; default: detected from its first lines."), text("id", "ID for the session; default: the transcript's own."),
			text("agent", "Agent that owns the session."), text("title", "Title to use if the transcript has none."), text("name", "Name of the source file."),
		}, action: bring},
		{method: "GET", path: "/v1/sessions/{id}/export", name: "exportSession", heavy: true, scope: wire.ScopeRead, what: "Exports a session in another tool's format, or returns a report of what would be lost.", query: []param{
			text("format", "Output format; html is a page for reading, with secrets masked."), text("cwd", "Working directory to continue in; default: the session's."), text("as", "Session ID for the tool; default: derived from the session's ID."), text("view", "For html: the current branch, or all entries.", wire.ViewBranch, wire.ViewDisk), flag("mask", "Replaces secrets with [secret]. The response has the header Firn-Masked; a report has the number of places."), flag("report", "Returns a report instead."),
		}, action: take},
	}
}

func tokenRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/tokens", name: "listTokens", scope: wire.ScopeAdmin, what: "Lists tokens, without secrets.", action: give(tokenCalls.listTokens)},
		{method: "POST", path: "/v1/tokens", name: "createToken", scope: wire.ScopeAdmin, what: "Creates a token. The secret is returned only once.", action: take(tokenCalls.createToken)},
		{method: "DELETE", path: "/v1/tokens/{token}", name: "revokeToken", scope: wire.ScopeAdmin, what: "Revokes a token.", action: give(tokenCalls.revokeToken)},
	}
}

func healthRoutes() []operation {
	return []operation{
		{method: "GET", path: "/healthz", name: "health", what: "Returns 200 while the gateway is running.", action: give(healthCalls.health)},
		{method: "GET", path: "/readyz", name: "readiness", what: "Returns 200 if the gateway can serve requests, otherwise 503.", action: give(healthCalls.readiness)},
		{method: "GET", path: "/metrics", name: "metrics", scope: wire.ScopeRead, what: "Returns metrics in the Prometheus text format.", action: write(typeMetrics, healthCalls.metrics)},
		{method: "GET", path: "/openapi.json", name: "openapi", what: "Returns this OpenAPI document.", action: write("application/json", healthCalls.openapi)},
	}
}

// routes creates the multiplexer. Methods are dispatched here instead of in the
// multiplexer, so that errors have our format.
func (h *HTTP) routes() *http.ServeMux {
	mux := http.NewServeMux()
	paths := make(map[string][]*operation)
	for _, op := range h.table {
		paths[op.path] = append(paths[op.path], op)
	}
	for path, ops := range paths {
		if path == batchPath {
			continue
		}
		mux.HandleFunc(path, func(_ http.ResponseWriter, r *http.Request) { dispatch(r, ops) })
	}
	one := paths["/v1/sessions/{id}"]
	mux.HandleFunc(batchPath, func(_ http.ResponseWriter, r *http.Request) {
		ops := paths[batchPath]
		if r.Method != http.MethodPost { // a session may have this name
			r.SetPathValue("id", path.Base(batchPath))
			ops = one
		}
		dispatch(r, ops)
	})
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { dispatch(r, nil) })
	return mux
}

// dispatch passes a request to the operation for its method.
func dispatch(r *http.Request, ops []*operation) {
	c, _ := r.Context().Value(callMark{}).(*call)
	c.r = r // with its path values
	if len(ops) == 0 {
		if !c.page() {
			c.fail(noRoute())
		}
		return
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var allowed []string
	for _, op := range ops {
		if op.method == method {
			c.op = op
			c.fail(c.do())
			return
		}
		allowed = append(allowed, op.method)
	}
	c.w.Header().Set("Allow", strings.Join(allowed, ", "))
	c.fail(&withStatus{&wire.Problem{Kind: wire.Invalid, Message: "method not allowed", Hint: "use " + strings.Join(allowed, " or ")}, http.StatusMethodNotAllowed})
}

// do authorizes a request and runs its operation.
func (c *call) do() error {
	if err := c.admit(); err != nil {
		return err
	}
	if room := c.gauge(); room != nil {
		if !room.enter() {
			return busy()
		}
		defer room.leave()
	}
	for _, value := range c.pathValues() {
		if value == "" || len(value) > view.MaxReference || strings.ContainsFunc(value, unprintable) {
			return gateway.Invalid("a name in the path is empty, too long, or has unprintable characters")
		}
	}
	var err error
	if c.query, err = parseQuery(c.r, c.op); err != nil {
		return err
	}
	defer func() { c.reserved.release() }()
	leave, done, err := newForwarding(c).ensureOwned()
	if done || err != nil {
		return err
	}
	defer leave()
	if c.op.idempotent {
		return c.runOnce()
	}
	return c.op.run(c)
}

// gauge returns the gauge that limits the request. Health checks are not limited.
func (c *call) gauge() *gauge {
	rooms := c.h.limitsOf(c.r.Context())
	switch {
	case c.op.scope == "" && !c.op.login:
		return nil
	case c.op.login:
		return &c.h.logins
	case c.op.content == typeStream, c.op.foreign:
		return &rooms.streams
	case c.op.long:
		return &rooms.waiting
	}
	return &rooms.requests
}

// admit authenticates the caller and checks that it may run the operation.
func (c *call) admit() error {
	if c.op.scope == "" {
		return nil
	}
	var err error
	if c.who, err = c.h.authenticate(c.r); err != nil && c.op.name == hookName {
		c.who, err = c.authenticateSignature(err)
	}
	if err != nil {
		c.h.config.Metrics.Refused(rejectionReason(err))
		return err
	}
	if one := connOf(c.r.Context()); one != nil && !one.promote() {
		return &withStatus{busy().(*wire.Problem), http.StatusServiceUnavailable}
	}
	if !c.who.scope.Includes(c.op.scope) {
		c.h.config.Metrics.Refused("scope")
		return &wire.Problem{Kind: wire.NotAllowed, Message: "the token has scope " + string(c.who.scope) + ", but this requires " + string(c.op.scope)}
	}
	if c.who.stale && c.op.changes() {
		return &wire.Problem{Kind: wire.Unavailable, Message: "changes are not possible now: the servers that store the tokens do not respond", Hint: "try again in a moment"}
	}
	if c.h.draining() && (c.op.changes() || c.op.content == typeStream) {
		return &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "try again when it is back"}
	}
	// From here on, everything the request starts is attributed to the caller.
	who, bounds := c.who.asker()
	c.r = c.r.WithContext(gateway.WithAsker(c.r.Context(), who, bounds))
	return nil
}

// rejectionReason returns the metrics label of a failed authentication.
func rejectionReason(err error) string {
	if wire.KindOf(err) == wire.NotAllowed {
		return "origin"
	}
	return "token"
}

// pathValues returns the values of the path parameters.
func (c *call) pathValues() []string {
	var values []string
	for segment := range strings.SplitSeq(c.op.path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			values = append(values, c.r.PathValue(strings.TrimSuffix(name, "}")))
		}
	}
	return values
}

// plainVerb turns /v1/sessions/{id}:fork into /v1/sessions/{id}/fork. No other POST
// operation has such a path, so titles with a colon are unambiguous.
func plainVerb(method, path string) (string, bool) {
	at := strings.LastIndexByte(path, ':')
	if method != http.MethodPost || at < strings.LastIndexByte(path, '/') || !strings.HasPrefix(path, "/v1/sessions/") {
		return "", false
	}
	verb, of := path[at+1:], strings.Count(path, "/")
	switch {
	case of == 3 && slices.Contains([]string{"fork", "rewind", "label", "hide", "show", "restore", "purge", "kill"}, verb):
	case of == 5 && verb == "redo":
	default:
		return "", false
	}
	return path[:at] + "/" + verb, true
}

// withPath returns the request with another escaped path.
func withPath(r *http.Request, escaped string) *http.Request {
	plain, err := url.PathUnescape(escaped)
	if err != nil { // cannot happen: it comes from a parsed URL
		return r
	}
	u := *r.URL
	u.Path, u.RawPath = plain, escaped
	r = r.WithContext(r.Context())
	r.URL = &u
	return r
}
