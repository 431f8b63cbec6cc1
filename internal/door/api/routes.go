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
func (o *operation) changes() bool { return o.scope.Includes(wire.ScopeWrite) }

// operations returns the route table.
func operations() []*operation {
	all := slices.Concat(sessionRoutes(), binRoutes(), cardRoutes(), branchRoutes(), turnRoutes(), keyRoutes(), statusRoutes(), dataRoutes(), workRoutes(), searchRoutes(), memoryRoutes(), exchangeRoutes(), storedRoutes(), tokenRoutes(), browserRoutes(), foreignRoutes(), healthRoutes())
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
var idempotencyParam = header("Idempotency-Key", "Names the request: sending it again within a day, also after a failure or a restart of the gateway, makes nothing more and gets the same answer.")

var paging = []param{count("limit", "How many at most, up to 1000."), text("cursor", "Goes on from an earlier page.")}

func sessionRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/sessions", name: "listSessions", scope: wire.ScopeRead, what: "Lists sessions, latest first.", query: append([]param{
			text("agent", "Only those of an agent."), text("key", "Only those of a key."), text("sender", "Only those with one person, who is called so."), text("text", "Only those with this in the title or the first message."),
			flag("archived", "Those that are archived."), flag("hidden", "Those that are hidden."), flag("live", "Only those in which a turn runs."),
			text("source", "Only those of a source: a folder of another tool, or firn for our own."), text("tag", "Only those with a tag."), text("cwd", "Only those that were begun in a directory, or in which something was said there."),
			{name: "since", kind: "date-time", what: "Only those with an entry from then on."}, {name: "until", kind: "date-time", what: "Only those whose latest entry is before then."}, flag("count", "Tells how many there are also where that takes long."), flag("state", "Tells the state of each too; a page has 100 at most then."),
		}, paging...), action: give(sessionCalls.listSessions)},
		{method: "POST", path: "/v1/sessions", name: "newSession", scope: wire.ScopeWrite, what: "Makes a session, or finds the one that a key points at.", idempotent: true, query: []param{idempotencyParam}, action: takeOptional(sessionCalls.newSession)},
		{method: "GET", path: "/v1/sessions/{id}", name: "getSession", scope: wire.ScopeRead, what: "Tells all about a session. Its end is the ETag.", action: give(sessionCalls.getSession)},
		{method: "PATCH", path: "/v1/sessions/{id}", name: "patchSession", scope: wire.ScopeWrite, what: "Changes a session's title, model and the like.", action: take(sessionCalls.patchSession)},
		{method: "DELETE", path: "/v1/sessions/{id}", name: "removeSession", scope: wire.ScopeWrite, what: "Puts a session away. No byte is removed.", query: []param{
			text("reason", "Why."), flag("bin", "Moves its files to the bin; else it is hidden."),
		}, action: give(binCalls.removeSession)},
		{method: "GET", path: "/v1/sessions/{id}/entries", name: "listEntries", heavy: true, scope: wire.ScopeRead, what: "Lists entries of a session.", query: append([]param{
			text("view", "All that is on disk, the branch of the head, or the window.", wire.ViewDisk, wire.ViewBranch, wire.ViewWindow),
			count("after", "Only those after a position."), count("before", "Only those before a position."), flag("back", "Newest first."),
			text("head", "The entry that the branch ends with; else the head."), text("as", "As a page shows them: cards instead of lines, long texts cut short. Or lines byte for byte, as text.", asHTML, asText),
		}, paging...), action: give(entryCalls.listEntries)},
		{method: "POST", path: "/v1/sessions/{id}/entries", name: "appendEntries", scope: wire.ScopeWrite, what: "Appends entries. They are durable when it answers.", idempotent: true, query: []param{
			idempotencyParam,
			header("If-Match", "The position, in quotes, at which the session must end; else it is a conflict that tells where it does."),
		}, action: take(entryCalls.appendEntries)},
		{method: "GET", path: "/v1/sessions/{id}/tree", name: "getTree", heavy: true, scope: wire.ScopeRead, what: "Tells the shape of a session.", query: paging, action: give(entryCalls.getTree)},
		{method: "GET", path: "/v1/sessions/{id}/children", name: "listChildren", scope: wire.ScopeRead, what: "Lists the sessions of sub-agents that this session began, latest first, archived ones too.", action: give(sessionCalls.listChildren)},
		{method: "GET", path: "/v1/sessions/{id}/damage", name: "getDamage", heavy: true, scope: wire.ScopeRead, what: "Lists what is damaged in a session: what cannot be read, and what is out of place. Reads all of it.", action: give(entryCalls.getDamage)},
		{method: "GET", path: "/v1/sessions/{id}/window", name: "getWindow", heavy: true, scope: wire.ScopeRead, what: "Tells what the model is sent next, and what is left out and why.", query: []param{
			text("as", "Adds the request as a provider would get it, such as anthropic or openai."), flag("file", "Answers with the request alone, byte for byte, as a file."),
		}, action: windowAction()},
	}
}

func branchRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/sessions/{id}/compactions", name: "listCompactions", heavy: true, scope: wire.ScopeRead, what: "Lists the compactions of a session.", action: give(compactionCalls.listCompactions)},
		{method: "POST", path: "/v1/sessions/{id}/compactions", name: "compact", long: true, scope: wire.ScopeWrite, what: "Compacts a session; answers with the summary.", idempotent: true, query: []param{idempotencyParam}, action: takeOptional(compactionCalls.compact)},
		{method: "DELETE", path: "/v1/sessions/{id}/compactions/{cid}", name: "undoCompaction", scope: wire.ScopeWrite, what: "Undoes a compaction.", action: give(compactionCalls.undoCompaction)},
		{method: "POST", path: "/v1/sessions/{id}/compactions/{cid}/redo", verb: true, name: "redoCompaction", scope: wire.ScopeWrite, what: "Puts an undone compaction in force again.", action: takeOptional(compactionCalls.redoCompaction)},
		{method: "POST", path: "/v1/sessions/{id}/fork", verb: true, name: "fork", scope: wire.ScopeWrite, what: "Makes a session that goes on from an entry of this one.", idempotent: true, query: []param{idempotencyParam}, action: takeOptional(branchCalls.fork)},
		{method: "POST", path: "/v1/sessions/{id}/rewind", verb: true, name: "rewind", long: true, scope: wire.ScopeWrite, what: "Moves the head to an earlier entry, or back to a later one.", action: take(branchCalls.rewind)},
		{method: "POST", path: "/v1/sessions/{id}/label", verb: true, name: "label", scope: wire.ScopeWrite, what: "Puts a name on an entry, or takes it away.", action: take(branchCalls.label)},
		{method: "POST", path: "/v1/sessions/{id}/hide", verb: true, name: "hide", scope: wire.ScopeWrite, what: "Hides an entry.", action: take(branchCalls.hide)},
		{method: "POST", path: "/v1/sessions/{id}/show", verb: true, name: "show", scope: wire.ScopeWrite, what: "Shows a hidden entry again.", action: take(branchCalls.show)},
		{method: "POST", path: "/v1/sessions/{id}/restore", verb: true, name: "restoreSession", scope: wire.ScopeWrite, what: "Takes a session out of the bin, or shows a hidden one again.", action: takeOptional(binCalls.restoreSession)},
		{method: "POST", path: "/v1/sessions/{id}/purge", verb: true, name: "purge", scope: wire.ScopeAdmin, what: "Erases a session, or some of its entries, for good.", action: take(binCalls.purge)},
	}
}

func turnRoutes() []operation {
	named := header("Idempotency-Key", "Names the message: sending it twice is saying it once.")
	return []operation{
		{method: "POST", path: "/v1/sessions/{id}/turns", name: "turn", long: true, scope: wire.ScopeWrite, what: "Says something and answers with the answer, or, if text/event-stream is asked for, with what happens until it is there.",
			query: []param{named}, action: action{in: reflect.TypeFor[wire.Turn](), out: reflect.TypeFor[wire.Answer](), also: true, optional: true, run: on(turnCalls.turn)}},
		{method: "POST", path: "/v1/sessions/{id}/kill", verb: true, name: "kill", scope: wire.ScopeWrite, what: "Stops the turn that runs and clears the queue.", action: takeOptional(turnCalls.kill)},
		{method: "GET", path: "/v1/sessions/{id}/events", name: "sessionEvents", heavy: true, scope: wire.ScopeRead, what: "Tells what happens in a session: first what is in the log, then what comes. The id of an event is a position.", query: []param{
			text("as", "As a page shows it: cards for entries, and HTML that grows for an answer.", asHTML),
			count("after", "Begins after a position."), header("Last-Event-ID", "Begins after a position; counts more than the parameter."),
		}, action: write(typeStream, eventCalls.sessionEvents)},
		{method: "GET", path: "/v1/events", name: "allEvents", scope: wire.ScopeRead, what: "Tells what happens in all sessions, from now on.", action: write(typeStream, eventCalls.allEvents)},
		{method: "POST", path: "/v1/inbound", name: "inbound", long: true, scope: wire.ScopeWrite, what: "Takes in a message from outside and routes it. It is durable when it answers.", query: []param{named}, action: take(turnCalls.inbound)},
	}
}

func keyRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/keys", name: "listKeys", scope: wire.ScopeRead, what: "Lists keys and where they point, those used last first.", query: append([]param{text("agent", "Only those of an agent."), text("text", "Only those that contain this.")}, paging...), action: give(keyCalls.listKeys)},
		{method: "GET", path: "/v1/keys/{key}", name: "getKey", scope: wire.ScopeRead, what: "Tells where a key points, and every session it had.", action: give(keyCalls.getKey)},
		{method: "PUT", path: "/v1/keys/{key}", name: "pointKey", scope: wire.ScopeWrite, what: "Points a key at a session.", action: take(keyCalls.pointKey)},
		{method: "DELETE", path: "/v1/keys/{key}", name: "removeKey", scope: wire.ScopeWrite, what: "Makes a key point nowhere. Its sessions stay.", action: give(keyCalls.removeKey)},
		{method: "POST", path: "/v1/keys/{key}/reset", name: "resetKey", scope: wire.ScopeWrite, what: "Begins a new session for a key.", action: takeOptional(keyCalls.resetKey)},
		{method: "POST", path: "/v1/keys/{key}/continue-previous", name: "continuePrevious", scope: wire.ScopeWrite, what: "Undoes a reset: the key points at the session it had before.", action: takeOptional(keyCalls.continuePrevious)},
	}
}

func statusRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/running", name: "listRunning", scope: wire.ScopeRead, what: "Lists the sessions in which a turn runs.", action: give(statusCalls.listRunning)},
		{method: "GET", path: "/v1/usage", name: "usage", scope: wire.ScopeRead, what: "Tells what was used.", query: []param{
			text("by", "What a row is; else a day.", "day", "model", "agent", "session"), text("and", "A second thing that rows differ in.", "day", "model", "agent", "session"),
			{name: "since", kind: "date-time", what: "Only from then on."}, text("format", "How it is told; else as JSON.", "json", "csv"),
		}, action: usageAction()},
		{method: "GET", path: "/v1/status", name: "status", scope: wire.ScopeRead, what: "Tells how the gateway is.", action: give(statusCalls.status)},
		{method: "GET", path: "/v1/agents", name: "listAgents", scope: wire.ScopeRead, what: "Lists the agents.", action: give(statusCalls.listAgents)},
		{method: "GET", path: "/v1/models", name: "listModels", scope: wire.ScopeRead, what: "Lists the models that can be chosen, as we do and as OpenAI does; there the agents are among them.", action: give(statusCalls.listModels)},
		{method: "GET", path: "/v1/models/{model}", name: "getModel", scope: wire.ScopeRead, what: "Tells of a model or an agent as OpenAI does.", encodeProblem: openAIProblem, action: give(statusCalls.getModel)},
	}
}

func workRoutes() []operation {
	hook := give(workCalls.hook)
	hook.anything = true
	return []operation{
		{method: "POST", path: "/v1/hooks/{hook}", name: "callHook", scope: wire.ScopeHook, what: "Tells an agent what another program sent, by the template of a hook. The token must be the one that the hook names; who signs the body as the hook says needs none.", query: []param{
			header("Idempotency-Key", "Names the call: it is taken once."),
		}, action: hook},
		{method: "GET", path: "/v1/jobs", name: "listJobs", scope: wire.ScopeRead, what: "Lists jobs that run at certain times.", action: give(workCalls.listJobs)},
		{method: "POST", path: "/v1/jobs/{job}/run", name: "runJob", scope: wire.ScopeWrite, what: "Runs a job now. The run has begun when it answers.", action: takeOptional(workCalls.runJob)},
		{method: "POST", path: "/v1/maintenance", name: "maintain", scope: wire.ScopeAdmin, what: "Clears away what the settings ask for, or tells what that would be.", action: takeOptional(workCalls.maintain)},
	}
}

func exchangeRoutes() []operation {
	bring := give(exchangeCalls.importSession)
	bring.anything = true
	take := action{content: typeLines, run: on(exchangeCalls.export)}
	return []operation{
		{method: "GET", path: "/v1/formats", name: "listFormats", scope: wire.ScopeRead, what: "Lists the formats that sessions can be read from and written to, and what each cannot say.", action: give(exchangeCalls.listFormats)},
		{method: "POST", path: "/v1/import", name: "importSession", long: true, scope: wire.ScopeWrite, what: "Keeps a transcript of any format, which is the body, as a session. What is there already is not added again.", query: []param{
			text("from", "The format; else it is told from the first lines."), text("id", "What the session is called; else the id that it has."),
			text("agent", "Whose session it becomes."), text("title", "Used if it has no title."), text("name", "The name of the file it came from."),
		}, action: bring},
		{method: "GET", path: "/v1/sessions/{id}/export", name: "exportSession", heavy: true, scope: wire.ScopeRead, what: "Tells a session as another tool would have written it, line by line; or, if a report is asked for, how well that goes.", query: []param{
			text("format", "The format; html is a page to read, with secrets masked."), text("cwd", "The directory to go on in; else the session's."), text("as", "The id that the tool is to know the session by; else one made from the session's."), text("view", "What a page shows: the branch of the head, or all.", wire.ViewBranch, wire.ViewDisk), flag("mask", "Puts [secret] in the place of what looks like a secret; a report tells in how many places, and the header Firn-Masked of the answer that it was done."), flag("report", "Answers with a report instead."),
		}, action: take},
	}
}

func tokenRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/tokens", name: "listTokens", scope: wire.ScopeAdmin, what: "Lists tokens, without their secrets.", action: give(tokenCalls.listTokens)},
		{method: "POST", path: "/v1/tokens", name: "createToken", scope: wire.ScopeAdmin, what: "Makes a token. Its secret is told this once.", action: take(tokenCalls.createToken)},
		{method: "DELETE", path: "/v1/tokens/{token}", name: "revokeToken", scope: wire.ScopeAdmin, what: "Takes a token back.", action: give(tokenCalls.revokeToken)},
	}
}

func healthRoutes() []operation {
	return []operation{
		{method: "GET", path: "/healthz", name: "health", what: "Says that the gateway is alive.", action: give(healthCalls.health)},
		{method: "GET", path: "/readyz", name: "readiness", what: "Says whether the gateway can do its work.", action: give(healthCalls.readiness)},
		{method: "GET", path: "/metrics", name: "metrics", scope: wire.ScopeRead, what: "Tells numbers in Prometheus' text format.", action: write(typeMetrics, healthCalls.metrics)},
		{method: "GET", path: "/openapi.json", name: "openapi", what: "Describes this interface.", action: write("application/json", healthCalls.openapi)},
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
	c.fail(&withStatus{&wire.Problem{Kind: wire.Invalid, Message: "that method is not for this address", Hint: "use " + strings.Join(allowed, " or ")}, http.StatusMethodNotAllowed})
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
			return gateway.Invalid("a name in the address is empty, too long, or has characters that cannot be printed")
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
		return &wire.Problem{Kind: wire.NotAllowed, Message: "the token has the scope " + string(c.who.scope) + ", and this needs " + string(c.op.scope)}
	}
	if c.who.stale && c.op.changes() {
		return &wire.Problem{Kind: wire.Unavailable, Message: "nothing can be changed now: the servers that keep the tokens do not answer", Hint: "try again in a moment"}
	}
	if c.h.draining() && (c.op.changes() || c.op.content == typeStream) {
		return &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "ask again when it is back"}
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
