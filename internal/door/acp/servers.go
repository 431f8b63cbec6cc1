package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	sdk "github.com/coder/acp-go-sdk"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// Server is an MCP server that an editor offers for a session. Either Command or URL is set.
type Server struct {
	Name    string
	Command string
	Args    []string
	Env     []string // NAME=VALUE
	Dir     string
	URL     string
	Header  http.Header
}

// ToolHost runs the tools of an editor's MCP servers, until it is closed.
type ToolHost interface {
	client.ToolHost
	io.Closer
}

// serversOf converts the MCP servers of a session in a directory.
func serversOf(offered []sdk.McpServer, dir string) ([]Server, error) {
	var servers []Server
	for _, m := range offered {
		switch {
		case m.Stdio != nil:
			s := Server{Name: m.Stdio.Name, Command: m.Stdio.Command, Args: m.Stdio.Args, Dir: dir}
			for _, e := range m.Stdio.Env {
				s.Env = append(s.Env, e.Name+"="+e.Value)
			}
			servers = append(servers, s)
		case m.Http != nil:
			s := Server{Name: m.Http.Name, URL: m.Http.Url, Header: make(http.Header)}
			for _, h := range m.Http.Headers {
				s.Header.Add(h.Name, h.Value)
			}
			servers = append(servers, s)
		default:
			return nil, &wire.Problem{Kind: wire.Invalid, Message: "an MCP server of the session uses neither stdio nor HTTP", Hint: "use one of these transports"}
		}
	}
	return servers, nil
}

// useServers starts the MCP servers of a session. They replace earlier ones.
func (d *agent) useServers(id sdk.SessionId, offered []sdk.McpServer, dir string) error {
	servers, err := serversOf(offered, dir)
	if err != nil {
		return err
	}
	d.closeServers(id)
	if len(servers) == 0 {
		return nil
	}
	if d.Servers == nil {
		return &wire.Problem{Kind: wire.Invalid, Message: "MCP servers of the editor cannot be used here"}
	}
	d.hosts.Store(id, d.Servers(d.Agent, servers))
	return nil
}

// closeServers ends the MCP servers of a session.
func (d *agent) closeServers(id sdk.SessionId) {
	if h, ok := d.hosts.LoadAndDelete(id); ok {
		_ = h.(ToolHost).Close() // the servers are no longer needed
	}
}

// closeAllServers ends the MCP servers of all sessions.
func (d *agent) closeAllServers() error {
	var errs []error
	d.hosts.Range(func(_, h any) bool {
		errs = append(errs, h.(ToolHost).Close())
		return true
	})
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("end MCP servers: %w", err)
	}
	return nil
}

// streamTurn runs a turn, with the tools of the session's MCP servers if it has any.
func (d *agent) streamTurn(ctx context.Context, name sdk.SessionId, id firn.ID, turn wire.Turn) iter.Seq2[wire.Event, error] {
	if h, ok := d.hosts.Load(name); ok {
		return client.HostTools(d.c, h.(ToolHost)).StreamTurn(ctx, id, turn)
	}
	return d.c.StreamTurn(ctx, id, turn)
}

// stableServers converts the servers of a request that is not stable yet.
func stableServers(offered []sdk.UnstableMcpServer) ([]sdk.McpServer, error) {
	text, err := json.Marshal(offered)
	if err != nil {
		return nil, err
	}
	var servers []sdk.McpServer
	if err := json.Unmarshal(text, &servers); err != nil {
		return nil, &wire.Problem{Kind: wire.Invalid, Message: "mcpServers has a server of an unknown kind"}
	}
	return servers, nil
}
