// Package acp lets editors that speak the Agent Client Protocol talk to firn's
// agents. A session of theirs is a session of ours: it is kept, and can be
// loaded after a restart, or gone on with in firn chat.
//
// It is a client of the gateway and nothing more. The agent's tools are its
// own: the editor's files and terminals are not asked for, and neither are the
// servers of tools that it names.
package acp

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"firn/client"
	"firn/internal/hangup"
	"firn/wire"
)

// Options say how the protocol is spoken.
type Options struct {
	// Version is told to editors.
	Version string
	// Agent is who answers in new sessions; empty means the default agent. Model
	// is provider/model, if it is not to be the agent's own.
	Agent, Model string
}

// Serve speaks the protocol over in and out until the editor hangs up or ctx
// ends. Turns that run then are stopped.
func Serve(ctx context.Context, c *client.Client, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	d := &desk{Options: o, c: c, ctx: ctx}
	d.ready.Add(1)
	from, to := hangup.Wait(in, open{out}, "session/prompt")
	d.conn = sdk.NewAgentSideConnection(d, to, from)
	d.conn.SetLogger(slog.New(slog.DiscardHandler)) // stderr is for people
	d.ready.Done()
	select {
	case <-d.conn.Done():
	case <-ctx.Done():
	}
	cancel()
	d.turns.Wait()
	return nil
}

// open is a writer that is not closed by those who were lent it.
type open struct{ io.Writer }

// Close does nothing.
func (open) Close() error { return nil }

// desk is the agent that an editor sees.
type desk struct {
	Options
	c *client.Client
	// ready is done when conn is there: the editor may speak before we are.
	ready sync.WaitGroup
	conn  *sdk.AgentSideConnection
	// ctx ends when nobody listens any more; turns counts those that run.
	ctx   context.Context
	turns sync.WaitGroup
}

var (
	_ sdk.Agent       = (*desk)(nil)
	_ sdk.AgentLoader = (*desk)(nil)
)

// Initialize tells what can be done here.
func (d *desk) Initialize(_ context.Context, q sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	title := "firn"
	return sdk.InitializeResponse{
		ProtocolVersion: min(q.ProtocolVersion, sdk.ProtocolVersionNumber),
		AgentInfo:       &sdk.Implementation{Name: "firn", Title: &title, Version: d.Version},
		AuthMethods:     []sdk.AuthMethod{},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: sdk.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{
				List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{}, Close: &sdk.SessionCloseCapabilities{},
			},
		},
	}, nil
}

// Authenticate lets in: who may start us may talk to us.
func (d *desk) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, nil
}

// NewSession begins a session.
func (d *desk) NewSession(ctx context.Context, q sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	key := "acp:" + strings.ToLower(rand.Text())
	if d.Agent != "" {
		key = "agent:" + d.Agent + ":" + key
	}
	s, err := d.c.NewSession(ctx, wire.NewSession{Key: key, CWD: q.Cwd})
	if err == nil && d.Model != "" {
		s, err = d.c.Patch(ctx, s.ID, wire.Patch{Model: &d.Model})
	}
	return sdk.NewSessionResponse{SessionId: sdk.SessionId(s.ID)}, failure(err)
}

// LoadSession takes up a session again, and tells all that was said in it.
func (d *desk) LoadSession(ctx context.Context, q sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	id, err := d.c.Resolve(ctx, string(q.SessionId))
	if err == nil {
		err = d.replay(ctx, q.SessionId, id)
	}
	return sdk.LoadSessionResponse{}, failure(err)
}

// ResumeSession takes up a session again without a word.
func (d *desk) ResumeSession(ctx context.Context, q sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	_, err := d.c.Resolve(ctx, string(q.SessionId))
	return sdk.ResumeSessionResponse{}, failure(err)
}

// CloseSession stops what runs in a session. It is kept.
func (d *desk) CloseSession(ctx context.Context, q sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	id, err := d.c.Resolve(ctx, string(q.SessionId))
	if err == nil {
		_, err = d.c.Stop(ctx, id)
	}
	return sdk.CloseSessionResponse{}, failure(err)
}

// pageSize is how many sessions a list has.
const pageSize = 50

// ListSessions lists sessions, those used last first: all, or those that were
// begun in a directory.
func (d *desk) ListSessions(ctx context.Context, q sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	out := sdk.ListSessionsResponse{Sessions: []sdk.SessionInfo{}}
	query := client.Query{Agent: d.Agent, Limit: pageSize}
	if q.Cursor != nil {
		query.Cursor = *q.Cursor
	}
	page, err := d.c.SessionsPage(ctx, query)
	if err != nil {
		return out, failure(err)
	}
	for _, s := range page.Items {
		if q.Cwd != nil && s.CWD != *q.Cwd {
			continue
		}
		title, updated := s.Title, s.Updated.UTC().Format(time.RFC3339)
		if title == "" {
			title = s.Prompt
		}
		out.Sessions = append(out.Sessions, sdk.SessionInfo{SessionId: sdk.SessionId(s.ID), Cwd: s.CWD, Title: &title, UpdatedAt: &updated})
	}
	if page.Cursor != "" {
		out.NextCursor = &page.Cursor
	}
	return out, nil
}

// SetSessionMode is not there: agents have no modes.
func (d *desk) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	return sdk.SetSessionModeResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionSetMode)
}

// SetSessionConfigOption is not there: there are no options.
func (d *desk) SetSessionConfigOption(context.Context, sdk.SetSessionConfigOptionRequest) (sdk.SetSessionConfigOptionResponse, error) {
	return sdk.SetSessionConfigOptionResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionSetConfigOption)
}

// update tells the editor what happens in a session.
func (d *desk) update(ctx context.Context, id sdk.SessionId, u sdk.SessionUpdate) error {
	d.ready.Wait()
	return d.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: id, Update: u})
}

// failure tells an error as the protocol does: with a sentence.
func failure(err error) error {
	var p *wire.Problem
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &p):
		return &sdk.RequestError{Code: internalError, Message: err.Error()}
	}
	message := p.Message
	if p.Hint != "" {
		message += "; " + p.Hint
	}
	code := internalError
	switch p.Kind {
	case wire.NotFound, wire.Ambiguous:
		code = notFound
	case wire.Invalid:
		code = invalidParams
	case wire.NoToken, wire.NotAllowed:
		code = authRequired
	}
	return &sdk.RequestError{Code: code, Message: message, Data: map[string]any{"kind": p.Kind}}
}

// The codes of errors.
const (
	invalidParams = -32602
	internalError = -32603
	authRequired  = -32000
	notFound      = -32002
)
