// Package mcp lets programs that speak the Model Context Protocol look into
// sessions, talk in them, and note and recall what is worth knowing.
//
// It is a client of the gateway and nothing more: over stdio of whichever
// gateway the command line finds, over HTTP of the one that serves it, as
// whoever called. So what a token may not do cannot be done here either. What
// tools return is bounded, and says where it goes on; what goes wrong is a
// sentence.
package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn/client"
	"firn/internal/hangup"
	"firn/wire"
)

// Options say how the protocol is spoken.
type Options struct {
	// Version is told to clients.
	Version string
	// ReadOnly leaves out the tools that change something.
	ReadOnly bool

	schemas *sdk.SchemaCache
}

// instructions are told to models.
const instructions = `Sessions are conversations that AI agents had, kept as trees of entries that are only ever added to. ` +
	`Find one with list_sessions, read it with read_session (around an entry if it is long), and see with get_window what its model would be sent next. ` +
	`Find what was said anywhere with search_sessions and look around it with read_window; recall finds notes, remember and forget change them. ` +
	`A session is named by its id, the beginning of it, its exact title, or @ and a key.`

// newServer makes a server on a client.
func newServer(c *client.Client, o Options) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "firn", Title: "firn", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions, SchemaCache: o.schemas,
	})
	d := &desk{c: c}
	sdk.AddTool(s, looks("list_sessions", "List sessions, those used last first."), d.list)
	sdk.AddTool(s, looks("read_session", "Read what was said in a session: the end of it, or what stands around an entry."), d.read)
	sdk.AddTool(s, looks("get_window", "Tell what the model of a session would be sent next, what is left out, and why."), d.window)
	sdk.AddTool(s, looks("search_sessions", "Search everything that was said in sessions, also what was compacted away. Each hit names its session and entry, for read_window."), d.search)
	sdk.AddTool(s, looks("read_window", "Tell what was said around an entry of a session."), d.around)
	sdk.AddTool(s, looks("recall", "Look for what was noted to be remembered, and for what was said in earlier sessions; tells where it comes from."), d.recall)
	if !o.ReadOnly {
		sdk.AddTool(s, changes("send_message", "Say something in a session and wait for the agent's answer. Without a session, or with a new key, one is begun.", false), d.send)
		sdk.AddTool(s, changes("fork_session", "Begin a session that goes on from an entry of another, which stays as it is.", false), d.fork)
		sdk.AddTool(s, changes("compact_session", "Let a summary stand for the older part of a session. Nothing is lost, and it can be undone.", true), d.compact)
		sdk.AddTool(s, changes("remember", "Remember facts beyond this conversation: decisions, preferences, names, dates. What is noted already is not noted again.", true), d.remember)
		sdk.AddTool(s, changes("forget", "Forget a note or a fact that was remembered. People can undo it.", false), d.forget)
	}
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "session", Title: "A session", URITemplate: resourcePrefix + "{id}", MIMEType: "text/plain",
		Description: "What was said in a session, the latest at the end, as much of it as fits.",
	}, d.resource)
	return s
}

// looks describes a tool that changes nothing.
func looks(name, what string) *sdk.Tool {
	return &sdk.Tool{Name: name, Description: what, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)}}
}

// changes describes a tool that adds to a session or to the notes.
func changes(name, what string, again bool) *sdk.Tool {
	return &sdk.Tool{Name: name, Description: what, Annotations: &sdk.ToolAnnotations{DestructiveHint: new(bool), IdempotentHint: again}}
}

// Serve speaks the protocol over in and out until the client hangs up or ctx
// ends.
func Serve(ctx context.Context, c *client.Client, in io.Reader, out io.Writer, o Options) error {
	from, to := hangup.Wait(in, open{out})
	err := newServer(c, o).Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(from), Writer: to})
	if errors.Is(err, io.EOF) || err != nil && ctx.Err() == nil && errors.Is(err, sdk.ErrConnectionClosed) {
		return nil
	}
	return err
}

// open is a writer that is not closed by those who were lent it.
type open struct{ io.Writer }

// Close does nothing.
func (open) Close() error { return nil }

// Handler makes the handlers of requests over HTTP: each is answered as whoever
// sent it, and nothing is remembered between two.
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
			// The gateway has looked at the name and the origin of the request.
			sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer(c, o) }, &sdk.StreamableHTTPOptions{
				Stateless: true, DisableLocalhostProtection: true,
			}).ServeHTTP(w, r)
		})
	}
}

// sentence makes one of an error: what went wrong, and what to do about it.
func sentence(err error) error {
	var p *wire.Problem
	if errors.As(err, &p) && p.Hint != "" {
		return errors.New(p.Message + "; " + p.Hint)
	}
	return err
}
