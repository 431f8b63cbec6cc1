// Package mcp is a Model Context Protocol server. Its tools search and read sessions, send
// messages, and store and recall notes.
//
// It is a client of the gateway: over stdio it uses the gateway that the command line
// finds, and over HTTP the gateway that serves it, with the caller's identity. A token's
// limits therefore apply here too. Tool results are bounded and say where they continue;
// errors are one sentence.
package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"

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
	// Alone is set if the gateway is in this process and nobody else can reach it, so that
	// calls which need approval are refused.
	Alone bool

	schemas *sdk.SchemaCache
}

// instructions are the server instructions for models.
const instructions = `Sessions are conversations that AI agents had, kept as trees of entries that are only ever added to. ` +
	`Find one with list_sessions, read it with read_session (around an entry if it is long), and see with get_window what its model would be sent next. ` +
	`Find what was said anywhere with search_sessions and look around it with read_window; recall finds notes, remember and forget change them. ` +
	`A session is named by its id, the beginning of it, its exact title, or @ and a key.`

// newServer returns a server that uses client c.
func newServer(c *client.Client, o Options) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "firn", Title: "firn", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions, SchemaCache: o.schemas,
	})
	d := &toolServer{c: c, alone: o.Alone}
	sdk.AddTool(s, readOnlyTool("list_sessions", "List sessions, those used last first."), d.list)
	sdk.AddTool(s, readOnlyTool("read_session", "Read what was said in a session: the end of it, or what stands around an entry."), d.read)
	sdk.AddTool(s, readOnlyTool("get_window", "Tell what the model of a session would be sent next, what is left out, and why."), d.window)
	sdk.AddTool(s, readOnlyTool("search_sessions", "Search everything that was said in sessions, also what was compacted away. Each hit names its session and entry, for read_window."), d.search)
	sdk.AddTool(s, readOnlyTool("read_window", "Tell what was said around an entry of a session."), d.around)
	sdk.AddTool(s, readOnlyTool("recall", "Look for what was noted to be remembered, and for what was said in earlier sessions; tells where it comes from."), d.recall)
	if !o.ReadOnly {
		sdk.AddTool(s, writeTool("send_message", "Say something in a session and wait for the agent's answer. Without a session, or with a new key, one is begun.", false), d.send)
		sdk.AddTool(s, writeTool("fork_session", "Begin a session that goes on from an entry of another, which stays as it is.", false), d.fork)
		sdk.AddTool(s, writeTool("compact_session", "Let a summary stand for the older part of a session. Nothing is lost, and it can be undone.", true), d.compact)
		sdk.AddTool(s, writeTool("remember", "Remember facts beyond this conversation: decisions, preferences, names, dates. What is noted already is not noted again.", true), d.remember)
		sdk.AddTool(s, writeTool("forget", "Forget a note or a fact that was remembered. People can undo it.", false), d.forget)
	}
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "session", Title: "A session", URITemplate: resourcePrefix + "{id}", MIMEType: "text/plain",
		Description: "What was said in a session, the latest at the end, as much of it as fits.",
	}, d.resource)
	return s
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
	from, to := hangup.Wait(in, nopCloser{out})
	err := newServer(c, o).Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(from), Writer: to})
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
			// The gateway has checked the Host and Origin of the request.
			sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer(c, o) }, &sdk.StreamableHTTPOptions{
				Stateless: true, DisableLocalhostProtection: true,
			}).ServeHTTP(w, r)
		})
	}
}

// sentence returns an error as one sentence, with its hint.
func sentence(err error) error {
	var p *wire.Problem
	if errors.As(err, &p) && p.Hint != "" {
		return errors.New(p.Message + "; " + p.Hint)
	}
	return err
}
