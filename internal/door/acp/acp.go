// Package acp implements the Agent Client Protocol, so that editors can use firn's agents.
// The editor's sessions are firn sessions: they are saved, and can be loaded after a
// restart or resumed in firn chat.
//
// It is a client of the gateway. Agents use their own tools, and those of the MCP servers that
// the editor names for a session; the editor's files and terminals are not used.
package acp

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/door/hangup"
	"firn.dev/wire"
)

// Options configures the server.
type Options struct {
	// Version is reported to editors.
	Version string
	// Agent is the agent for new sessions; empty means the default agent. Model is
	// provider/model; empty means the agent's own model.
	Agent, Model string
	// Servers returns the tools of MCP servers for sessions of an agent; nil if editors
	// cannot bring servers.
	Servers func(agent string, servers []Server) ToolHost
}

// Serve serves the protocol on in and out until the editor disconnects or ctx ends. Running
// turns are then stopped.
func Serve(ctx context.Context, c *client.Client, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	d := &agent{Options: o, c: c, ctx: ctx}
	d.ready.Add(1)
	from, to := hangup.Wait(in, nopCloser{out}, "session/prompt")
	d.conn = sdk.NewAgentSideConnection(d, to, &renamer{in: bufio.NewReader(from)})
	d.conn.SetLogger(slog.New(slog.DiscardHandler)) // stderr is for users
	d.ready.Done()
	select {
	case <-d.conn.Done():
	case <-ctx.Done():
	}
	cancel()
	d.turns.Wait()
	return d.closeAllServers()
}

// nopCloser is a writer whose Close does nothing.
type nopCloser struct{ io.Writer }

// Close does nothing.
func (nopCloser) Close() error { return nil }

// agent implements the protocol's agent interface.
type agent struct {
	Options
	c *client.Client
	// ready is done when conn is set, since requests may arrive before that.
	ready sync.WaitGroup
	conn  *sdk.AgentSideConnection
	// ctx ends when the connection is closed; turns counts the running turns.
	ctx   context.Context
	turns sync.WaitGroup
	// dirs are the working directories of the editor's sessions, by ID.
	dirs sync.Map
	// hosts run the tools of the MCP servers of the editor's sessions, by ID.
	hosts sync.Map
	// approvals are the approval modes that the editor chose for its sessions, by ID.
	approvals sync.Map
}

var (
	_ sdk.Agent       = (*agent)(nil)
	_ sdk.AgentLoader = (*agent)(nil)
)

// Initialize returns the agent's capabilities.
func (d *agent) Initialize(_ context.Context, q sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	title := "firn"
	return sdk.InitializeResponse{
		ProtocolVersion: min(q.ProtocolVersion, sdk.ProtocolVersionNumber),
		AgentInfo:       &sdk.Implementation{Name: "firn", Title: &title, Version: d.Version},
		AuthMethods:     []sdk.AuthMethod{},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    sdk.McpCapabilities{Http: d.Servers != nil},
			PromptCapabilities: sdk.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{
				List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{}, Close: &sdk.SessionCloseCapabilities{},
				Fork: &sdk.SessionForkCapabilities{},
			},
		},
	}, nil
}

// Authenticate always succeeds: the right to start the process is sufficient.
func (d *agent) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, nil
}

// NewSession creates a session.
func (d *agent) NewSession(ctx context.Context, q sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	if err := checkDirectory(q.Cwd); err != nil {
		return sdk.NewSessionResponse{}, failure(err)
	}
	key := "acp:" + strings.ToLower(rand.Text())
	if d.Agent != "" {
		key = "agent:" + d.Agent + ":" + key
	}
	s, err := d.c.NewSession(ctx, wire.NewSession{Key: key, CWD: q.Cwd})
	if err == nil && d.Model != "" {
		s, err = d.c.Patch(ctx, s.ID, wire.Patch{Model: &d.Model})
	}
	name := sdk.SessionId(s.ID)
	if err == nil {
		d.dirs.Store(name, q.Cwd)
		err = d.useServers(name, q.McpServers, q.Cwd)
	}
	out := sdk.NewSessionResponse{SessionId: name}
	if err == nil {
		out.ConfigOptions, err = d.options(ctx, name)
	}
	return out, failure(err)
}

// UnstableForkSession creates a session that continues from the end of another one.
func (d *agent) UnstableForkSession(ctx context.Context, q sdk.UnstableForkSessionRequest) (sdk.UnstableForkSessionResponse, error) {
	servers, err := stableServers(q.McpServers)
	if err == nil {
		err = checkDirectory(q.Cwd)
	}
	var from firn.ID
	if err == nil {
		from, err = d.c.Resolve(ctx, string(q.SessionId))
	}
	if err != nil {
		return sdk.UnstableForkSessionResponse{}, failure(err)
	}
	s, err := d.c.Fork(ctx, from, wire.Fork{})
	name := sdk.SessionId(s.ID)
	if err == nil {
		d.dirs.Store(name, q.Cwd)
		err = d.useServers(name, servers, q.Cwd)
	}
	out := sdk.UnstableForkSessionResponse{SessionId: name}
	if err == nil {
		d.approvals.Store(name, d.approval(q.SessionId))
		out.ConfigOptions, err = d.unstableOptions(ctx, name)
	}
	return out, failure(err)
}

// checkDirectory rejects a working directory that is not absolute, as the protocol demands.
func checkDirectory(dir string) error {
	if dir != "" && !filepath.IsAbs(dir) {
		return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("cwd %.80q is not an absolute path", dir)}
	}
	return nil
}

// resume returns a session that the editor continues in a directory.
func (d *agent) resume(ctx context.Context, name sdk.SessionId, dir string) (firn.ID, error) {
	if err := checkDirectory(dir); err != nil {
		return "", err
	}
	id, err := d.c.Resolve(ctx, string(name))
	if err == nil {
		d.dirs.Store(name, dir)
	}
	return id, err
}

// LoadSession resumes a session and sends its history.
func (d *agent) LoadSession(ctx context.Context, q sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	id, err := d.resume(ctx, q.SessionId, q.Cwd)
	if err == nil {
		err = d.useServers(q.SessionId, q.McpServers, q.Cwd)
	}
	if err == nil {
		err = d.replay(ctx, q.SessionId, id)
	}
	var out sdk.LoadSessionResponse
	if err == nil {
		out.ConfigOptions, err = d.options(ctx, q.SessionId)
	}
	return out, failure(err)
}

// ResumeSession resumes a session without sending its history.
func (d *agent) ResumeSession(ctx context.Context, q sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	_, err := d.resume(ctx, q.SessionId, q.Cwd)
	if err == nil {
		err = d.useServers(q.SessionId, q.McpServers, q.Cwd)
	}
	var out sdk.ResumeSessionResponse
	if err == nil {
		out.ConfigOptions, err = d.options(ctx, q.SessionId)
	}
	return out, failure(err)
}

// CloseSession stops the running turn of a session. The session is kept.
func (d *agent) CloseSession(ctx context.Context, q sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	id, err := d.c.Resolve(ctx, string(q.SessionId))
	if err == nil {
		_, err = d.c.Stop(ctx, id)
	}
	d.forget(q.SessionId)
	return sdk.CloseSessionResponse{}, failure(err)
}

// forget releases what belongs to a session of the editor.
func (d *agent) forget(name sdk.SessionId) {
	d.dirs.Delete(name)
	d.approvals.Delete(name)
	d.closeServers(name)
}

// pageSize is the number of sessions per page of a list.
const pageSize = 50

// ListSessions lists sessions, most recently used first: all of them, or those that were
// started in a directory or have messages from there.
func (d *agent) ListSessions(ctx context.Context, q sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	out := sdk.ListSessionsResponse{Sessions: []sdk.SessionInfo{}}
	query := client.Query{Agent: d.Agent, Limit: pageSize}
	if q.Cursor != nil {
		query.Cursor = *q.Cursor
	}
	if q.Cwd != nil {
		if err := checkDirectory(*q.Cwd); err != nil {
			return out, failure(err)
		}
		query.Directory = *q.Cwd
	}
	page, err := d.c.SessionsPage(ctx, query)
	if err != nil {
		return out, failure(err)
	}
	for _, s := range page.Items {
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

// SetSessionMode is not supported: the approval mode is an option of the session.
func (d *agent) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	return sdk.SetSessionModeResponse{}, sdk.NewMethodNotFound(sdk.AgentMethodSessionSetMode)
}

// update sends a session update to the editor.
func (d *agent) update(ctx context.Context, id sdk.SessionId, u sdk.SessionUpdate) error {
	d.ready.Wait()
	return d.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: id, Update: u})
}

// failure converts an error to a protocol error with a one-sentence message.
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

// JSON-RPC error codes.
const (
	invalidParams = -32602
	internalError = -32603
	authRequired  = -32000
	notFound      = -32002
)
