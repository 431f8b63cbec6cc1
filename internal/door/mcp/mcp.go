// Package mcp is a Model Context Protocol server. Its tools search and read sessions, send
// messages, and store and recall notes. Its resources are sessions, entries, images and
// notes; its prompts start work on them.
//
// It is a client of the gateway: over stdio it uses the gateway that the command line
// finds, and over HTTP the gateway that serves it, with the caller's identity. A token's
// limits therefore apply here too. Tool results are bounded and say where they continue;
// errors are one sentence.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev/client"
	"firn.dev/internal/door/hangup"
	"firn.dev/wire"
)

// Options configures the server.
type Options struct {
	// Version is reported to clients.
	Version string
	// ReadOnly leaves out the tools that change anything.
	ReadOnly bool
	// Alone is set if the gateway is in this process and no other client can reach it, so that
	// calls which need approval are denied.
	Alone bool

	schemas *sdk.SchemaCache
	// live is set if notifications about resources can reach the client: over stdio, and over
	// HTTP from protocol version 2026-07-28.
	live bool
	// connected is set if the connection lasts longer than one request, as over stdio.
	connected bool
	// page is the number of sessions in a page of resources; zero means resourcePage.
	page int
}

// instructions are the server instructions for models.
const instructions = `Sessions are conversations of AI agents, stored as append-only trees of entries. ` +
	`List sessions with list_sessions, read one with read_session (around an entry if it is long), and use get_window to see the next request to its model. ` +
	`Search the messages of all sessions with search_sessions and read their context with read_window; recall searches notes, remember and forget change them. ` +
	`Refer to a session by its id, the start of the id, its exact title, or @ and a key.`

// newServer returns a server that uses client c. The caller closes the watcher after the
// server's last request.
func newServer(ctx context.Context, c *client.Client, o Options) (*sdk.Server, *watcher) {
	d := &toolServer{c: c, alone: o.Alone, page: cmp.Or(o.page, resourcePage)}
	w := newWatcher(ctx, d)
	d.changed = w.listChanged
	options := &sdk.ServerOptions{
		Instructions: instructions, SchemaCache: o.schemas, SetCacheable: private, CompletionHandler: d.complete,
		// The lists of tools and prompts do not change.
		Capabilities: &sdk.ServerCapabilities{
			Tools: &sdk.ToolCapabilities{}, Prompts: &sdk.PromptCapabilities{}, Resources: &sdk.ResourceCapabilities{ListChanged: o.live},
		},
	}
	if o.live {
		options.SubscribeHandler, options.UnsubscribeHandler = w.subscribe, w.unsubscribe
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "firn", Title: "firn", Version: o.Version}, options)
	w.server = s
	d.addTools(s, o.ReadOnly)
	d.addResources(s)
	d.addPrompts(s)
	s.AddReceivingMiddleware(d.listResources, w.middleware(o))
	return s, w
}

// private marks results as the caller's own: what a token may read, others may not.
func private(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }

// addTools adds the tools.
func (d *toolServer) addTools(s *sdk.Server, readOnly bool) {
	sdk.AddTool(s, readOnlyTool("list_sessions", "List sessions, most recently used first."), d.list)
	sdk.AddTool(s, readOnlyTool("read_session", "Read the messages of a session: its end, or around an entry."), d.read)
	sdk.AddTool(s, readOnlyTool("get_window", "Show the next request to the model of a session, what is left out, and why."), d.window)
	sdk.AddTool(s, readOnlyTool("search_sessions", "Search the messages of all sessions, including compacted ones. Each hit has its session and entry, for read_window."), d.search)
	sdk.AddTool(s, readOnlyTool("read_window", "Show the messages around an entry of a session."), d.around)
	sdk.AddTool(s, readOnlyTool("recall", "Search notes and earlier sessions. Each result has its source."), d.recall)
	if readOnly {
		return
	}
	sdk.AddTool(s, writeTool("send_message", "Send a message to a session and wait for the agent's answer. Without a session, or with a new key, a session is created.", false), d.send)
	sdk.AddTool(s, writeTool("fork_session", "Create a session that continues from an entry of another, which is not changed.", false), d.fork)
	sdk.AddTool(s, writeTool("compact_session", "Summarize the older part of a session. Nothing is lost, and it can be undone.", true), d.compact)
	sdk.AddTool(s, writeTool("remember", "Remember facts beyond this conversation: decisions, preferences, names, dates. Facts already noted are not added again.", true), d.remember)
	sdk.AddTool(s, writeTool("forget", "Forget a note or a fact. The user can undo it.", false), d.forget)
}

// readOnlyTool describes a tool that changes nothing.
func readOnlyTool(name, what string) *sdk.Tool {
	return &sdk.Tool{Name: name, Description: what, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)}}
}

// writeTool describes a tool that adds to a session or to the notes. again is true if it is
// idempotent.
func writeTool(name, what string, again bool) *sdk.Tool {
	return &sdk.Tool{Name: name, Description: what, Annotations: &sdk.ToolAnnotations{DestructiveHint: new(bool), IdempotentHint: again}}
}

// Serve serves the protocol on in and out until the client disconnects or ctx ends.
func Serve(ctx context.Context, c *client.Client, in io.Reader, out io.Writer, o Options) error {
	from, to := hangup.Wait(in, nopCloser{out}, "subscriptions/listen") // which lasts as long as the connection
	o.live, o.connected = true, true
	server, w := newServer(ctx, c, o)
	defer w.close()
	err := server.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(from), Writer: to})
	if errors.Is(err, io.EOF) || err != nil && ctx.Err() == nil && errors.Is(err, sdk.ErrConnectionClosed) {
		return nil
	}
	return err
}

// nopCloser is a writer whose Close does nothing.
type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }

// Handler returns a function that makes the HTTP handler for a user. The handlers are
// stateless.
func Handler(o Options) func(who string, gate http.Handler) http.Handler {
	o.schemas = sdk.NewSchemaCache()
	return func(_ string, gate http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			local := client.InProcess(gate)
			defer local.Close()
			c, err := client.New(client.Options{Transport: local, UserAgent: "mcp"})
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			server, watch := newServer(r.Context(), c, ofRequest(o, r))
			defer watch.close()
			// The gateway has checked the Host and Origin of the request.
			sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
				Stateless: true, DisableLocalhostProtection: true,
			}).ServeHTTP(w, r)
		})
	}
}

// listening is the first protocol version in which a client without a protocol session can
// listen for notifications, by a request that does not end.
const listening = "2026-07-28"

// ofRequest returns the options for an HTTP request.
func ofRequest(o Options, r *http.Request) Options {
	o.live = r.Header.Get("Mcp-Protocol-Version") >= listening
	return o
}

// failure returns an error of the gateway as one of the protocol: the parameters are not
// valid, or the server failed. Tools report theirs in the result instead.
func failure(err error) error {
	code := int64(jsonrpc.CodeInternalError)
	switch wire.KindOf(err) {
	case wire.NotFound, wire.Invalid, wire.Ambiguous, wire.Unsupported, wire.NotAllowed:
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: sentence(err).Error()}
}

// sentence returns an error as one sentence, with its hint.
func sentence(err error) error {
	var p *wire.Problem
	if errors.As(err, &p) && p.Hint != "" {
		return errors.New(p.Message + "; " + p.Hint)
	}
	return err
}
