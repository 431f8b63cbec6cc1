package api

import (
	"bytes"
	"io"
	"net/http"

	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/door/foreign"
	"firn.dev/internal/door/token"
	"firn.dev/wire"
)

// Foreign creates the handler of one request in another protocol. The handler is a client
// like any other: it calls the gateway through gate, with the scope and bounds of its
// caller. It must not use gate after it has responded. who is the name of the caller as it
// appears in the log.
//
// The request has been authenticated, authorized and checked for its size. Its body is in
// memory.
type Foreign func(who string, gate http.Handler) http.Handler

// foreign handles a request in another protocol.
func (c foreignCalls) foreign(speak Foreign) error {
	if speak == nil {
		return &wire.Problem{Kind: wire.Unsupported, Message: "this gateway does not support that protocol"}
	}
	body, err := c.body("application/json", true)
	if err != nil {
		return err
	}
	data := []byte{}
	if body != nil {
		if data, err = io.ReadAll(body); err != nil {
			return c.bodyError(err)
		}
		c.bodyArrived()
		if err := rawjson.CheckUnique(data, false); err != nil {
			return c.bodyError(err)
		}
	}
	r := c.r.Clone(c.r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	c.streaming = true // the duration depends on a model
	speak(c.who.name, c.gate()).ServeHTTP(&deadlineWriter{ResponseWriter: c.w, c: c.call}, r)
	return nil
}

func (c foreignCalls) openai() error    { return c.foreign(c.h.config.OpenAI) }
func (c foreignCalls) anthropic() error { return c.foreign(c.h.config.Anthropic) }
func (c foreignCalls) agui() error      { return c.foreign(c.h.config.AGUI) }
func (c foreignCalls) mcp() error       { return c.foreign(c.h.config.MCP) }

// gate returns a handler for the gateway that acts as the caller only. It replaces the
// credentials of every request with the token from the caller's header or cookie.
func (c foreignCalls) gate() http.Handler {
	owner, authorization := isOwner(c.r.Context()), c.r.Header.Values("Authorization")
	if key := c.r.Header.Get(apiKeyHeader); key != "" && len(authorization) == 0 {
		authorization = []string{"Bearer " + key}
	}
	if secret, ok := token.Cookie(c.r); ok && len(authorization) == 0 && c.h.config.Web != nil {
		authorization = []string{"Bearer " + secret}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if owner {
			ctx = asOwner(ctx)
		}
		r = r.Clone(ctx)
		r.Header.Del("Authorization")
		r.Header.Del(apiKeyHeader)
		r.Header.Del("Cookie")
		for _, a := range authorization {
			r.Header.Add("Authorization", a)
		}
		c.h.ServeHTTP(w, r)
	})
}

// deadlineWriter extends the write deadline with every write.
type deadlineWriter struct {
	http.ResponseWriter
	c *call
}

// Write implements [http.ResponseWriter].
func (p *deadlineWriter) Write(b []byte) (int, error) {
	p.c.deadline()
	return p.ResponseWriter.Write(b)
}

// Unwrap supports [http.ResponseController].
func (p *deadlineWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Flush implements [http.Flusher], which some handlers require.
func (p *deadlineWriter) Flush() { _ = http.NewResponseController(p.ResponseWriter).Flush() }

// failure returns the body of an error response in the format of the protocol.
func (c *call) failure(p wire.Problem) any {
	if c.op != nil && c.op.encodeProblem != nil {
		return c.op.encodeProblem(p)
	}
	return wire.Failure{Error: p}
}

// openAIProblem and anthropicProblem encode a problem as these APIs do.
func openAIProblem(p wire.Problem) any    { return foreign.ToOpenAI(p) }
func anthropicProblem(p wire.Problem) any { return foreign.ToAnthropic(p) }

// foreignRoutes returns the routes of other protocols.
func foreignRoutes() []operation {
	const shape = " Request and response follow the OpenAI API."
	paging := []param{text("after", "Returns items after this one."), count("limit", "Maximum number of results, up to 100."), text("order", "Sort order: oldest (asc) or newest (desc) first.", "asc", "desc"), text("include", "Ignored."), text("include[]", "Ignored.")}
	open := func(method, path, name, what string, scope wire.Scope, query ...param) operation {
		a := write("application/json", foreignCalls.openai)
		a.anything = method == http.MethodPost
		return operation{method: method, path: path, name: name, what: what + shape, scope: scope, query: query, foreign: true, encodeProblem: openAIProblem, action: a}
	}
	claude := func(path, name, what string, scope wire.Scope, query ...param) operation {
		a := write("application/json", foreignCalls.anthropic)
		a.anything = true
		query = append(query, text("beta", "Ignored."))
		return operation{method: http.MethodPost, path: path, name: name, what: what + " Request and response follow Anthropic's API.", scope: scope, query: query, foreign: true, encodeProblem: anthropicProblem, action: a}
	}
	interact := func(path, name, what string) operation {
		a := write("text/event-stream", foreignCalls.agui)
		a.anything = true
		return operation{method: http.MethodPost, path: path, name: name, what: what + " Follows the Agent-User Interaction Protocol: a thread is a session.", scope: wire.ScopeWrite, foreign: true, action: a}
	}
	speak := write("application/json", foreignCalls.mcp)
	speak.anything = true
	return []operation{
		open("POST", "/v1/chat/completions", "chatCompletion", "Creates a chat completion and stores the conversation as a session. The member `cwd` of `metadata` is the working directory of the message. Supports streaming.", wire.ScopeWrite,
			header(sessionHeader, "The session to continue; created if it does not exist.")),
		open("POST", "/v1/responses", "createResponse", "Creates a response, optionally continuing a conversation or an earlier response. Supports streaming.", wire.ScopeWrite),
		open("GET", "/v1/responses/{response}", "getResponse", "Returns a response.", wire.ScopeRead, text("include", "Ignored."), text("include[]", "Ignored.")),
		open("DELETE", "/v1/responses/{response}", "deleteResponse", "Hides a response. Nothing is erased.", wire.ScopeWrite),
		open("GET", "/v1/responses/{response}/input_items", "listInputItems", "Lists the messages that a response answers.", wire.ScopeRead, paging...),
		open("POST", "/v1/responses/{response}/cancel", "cancelResponse", "Cancels a background response. As these are not supported, it always fails.", wire.ScopeWrite),
		open("POST", "/v1/conversations", "createConversation", "Creates a conversation (a session).", wire.ScopeWrite),
		open("GET", "/v1/conversations/{conversation}", "getConversation", "Returns a conversation (a session).", wire.ScopeRead),
		open("POST", "/v1/conversations/{conversation}", "updateConversation", "Replaces the metadata of a conversation.", wire.ScopeWrite),
		open("DELETE", "/v1/conversations/{conversation}", "deleteConversation", "Hides a conversation (a session). Nothing is erased.", wire.ScopeWrite),
		open("GET", "/v1/conversations/{conversation}/items", "listItems", "Lists the items of a conversation.", wire.ScopeRead, paging...),
		open("POST", "/v1/conversations/{conversation}/items", "createItems", "Adds items to a conversation.", wire.ScopeWrite, text("include", "Ignored."), text("include[]", "Ignored.")),
		open("GET", "/v1/conversations/{conversation}/items/{item}", "getItem", "Returns an item of a conversation.", wire.ScopeRead, text("include", "Ignored."), text("include[]", "Ignored.")),
		open("DELETE", "/v1/conversations/{conversation}/items/{item}", "deleteItem", "Hides an item of a conversation from the model. Nothing is erased.", wire.ScopeWrite),
		claude("/v1/messages", "createMessage", "Answers a conversation and stores it as a session. The members `session` and `cwd` of `metadata` name the session and the working directory. Supports streaming.", wire.ScopeWrite,
			header(sessionHeader, "The session to continue; created if it does not exist.")),
		claude("/v1/messages/count_tokens", "countTokens", "Estimates the number of input tokens of a conversation.", wire.ScopeRead),
		interact("/v1/ag-ui", "runAgent", "Answers the new messages of a thread with a stream of events."),
		interact("/v1/ag-ui/{agent}", "runNamedAgent", "Answers as an agent or model, with a stream of events."),
		{method: "POST", path: "/mcp", name: "mcp", scope: wire.ScopeRead, what: "Serves the Model Context Protocol over streamable HTTP, without protocol sessions.", foreign: true, action: speak},
	}
}
