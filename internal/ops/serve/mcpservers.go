package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev/agent"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/instructions"
	"firn.dev/internal/ops/mcpclient"
	"firn.dev/provider"
	"firn.dev/tool"
	"firn.dev/wire"
)

// settingsSource is the source of servers in the settings.
const settingsSource = "settings"

// mcpServers returns the servers of the settings that an agent can use. If shared is set, only
// those that turns of all requesters can use are returned.
func (s *agentBuilder) mcpServers(agentName string, shared bool) []mcpclient.Server {
	var servers []mcpclient.Server
	for _, name := range slices.Sorted(maps.Keys(s.settings.MCPServers)) {
		m := s.settings.MCPServers[name]
		uses := slices.ContainsFunc(m.Agents, func(pattern string) bool {
			ok, err := path.Match(pattern, agentName)
			return ok && err == nil
		})
		if m.Enabled && uses && (m.Shared || !shared) {
			servers = append(servers, MCPServer(name, m, s.env))
		}
	}
	return servers
}

// MCPServer returns a server of the settings with its secrets. A secret that is missing is its
// Problem.
func MCPServer(name string, m config.MCPServer, env func(string) string) mcpclient.Server {
	s := mcpclient.Server{
		Name: name, Source: settingsSource, Command: m.Command, Args: m.Args, URL: m.URL, Allow: m.Tools.Allow, Deny: m.Tools.Deny,
		TrustReadOnly: m.TrustReadOnly, Wait: cmp.Or(m.Wait, -1), StartTimeout: m.StartTimeout, Timeout: m.Timeout,
	}
	if m.URL != "" {
		if err := addSecrets(&s, m, env); err != nil {
			s.Problem = err.Error()
		}
		return s
	}
	s.Dir, s.Env = cmp.Or(m.Directory, env("HOME"), env("USERPROFILE")), passedEnv(env, m.PassEnv)
	for _, key := range slices.Sorted(maps.Keys(m.Env)) {
		s.Env = append(s.Env, key+"="+m.Env[key])
	}
	return s
}

// addSecrets adds the headers and credentials of a server over HTTP.
func addSecrets(s *mcpclient.Server, m config.MCPServer, env func(string) string) error {
	s.Header = make(http.Header)
	for name, variable := range m.HeadersEnv {
		value := env(variable)
		if value == "" {
			return fmt.Errorf("the variable %s is not set", variable)
		}
		s.Header.Set(name, value)
	}
	if m.TokenEnv != "" || m.TokenFile != "" {
		token, err := config.Secret(m.TokenEnv, m.TokenFile, env)
		switch {
		case err != nil:
			return err
		case token == "":
			return fmt.Errorf("its token is missing: set the variable %s, or token_file", cmp.Or(m.TokenEnv, "of token_env"))
		}
		s.Header.Set("Authorization", "Bearer "+token)
	}
	if m.ClientID == "" {
		return nil
	}
	secret, err := config.Secret(m.SecretEnv, m.SecretFile, env)
	if err == nil && secret == "" {
		err = errors.New("its OAuth client secret is missing: set oauth_secret_env or oauth_secret_file")
	}
	s.ClientID, s.ClientSecret = m.ClientID, secret
	return err
}

// mcpProject is the file .mcp.json of a project.
type mcpProject struct {
	// Root is the directory of the file.
	root    string
	digest  string
	servers []mcpclient.Server
	// Written are the servers as the file has them: without the values of variables.
	written []mcpclient.Server
	// Approved means that the user approved this content of the file.
	approved bool
}

// readMCPProject reads the file of the project that a directory belongs to. It returns false
// if there is none.
func readMCPProject(fsys vfs.FS, home, dir string, env func(string) string) (p mcpProject, found bool, err error) {
	if dir == "" {
		return p, false, nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	p.root = instructions.Root(dir)
	f, err := fsys.Open(filepath.Join(p.root, mcpclient.ProjectFile), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return p, false, nil
	}
	if err != nil {
		return p, false, fmt.Errorf("read MCP servers: %w", err)
	}
	defer f.Close() // read-only
	data, err := io.ReadAll(io.LimitReader(f, mcpclient.MaxProjectFile+1))
	if err != nil {
		return p, false, fmt.Errorf("read MCP servers: %w", err)
	}
	p.digest = mcpclient.Digest(data)
	p.servers, err = mcpclient.Project{Dir: p.root, Base: passedEnv(env, nil), Env: env}.Parse(data)
	if err == nil {
		p.written, err = mcpclient.Project{Dir: p.root}.Parse(data)
	}
	if err != nil {
		return p, false, err
	}
	approved, err := (&approvedRules{fs: fsys, home: home}).mcpDigest(p.root)
	p.approved = approved == p.digest
	return p, len(p.servers) > 0, err
}

// names returns the names of the servers, for messages.
func (p mcpProject) names() string {
	var names []string
	for _, s := range p.servers {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// projectServers returns the approved servers of the project of a workspace, and a sentence
// if there are servers that cannot be used.
func (s *agentBuilder) projectServers(workspace string) (servers []mcpclient.Server, notice string) {
	p, found, err := readMCPProject(s.fs, s.home, workspace, s.env)
	switch {
	case err != nil:
		return nil, err.Error()
	case !found:
		return nil, ""
	case !p.approved:
		return nil, fmt.Sprintf("%s of this project has MCP servers (%s); to review and use them: firn mcp approve", mcpclient.ProjectFile, p.names())
	}
	return p.servers, ""
}

// addMCP gives an agent the tools of MCP servers.
func (s *agentBuilder) addMCP(a *agent.Agent, c config.Agent, workspace string) {
	if s.mcp == nil {
		return
	}
	own, shared := s.mcpServers(a.Name, false), s.mcpServers(a.Name, true)
	project, notice := []mcpclient.Server(nil), ""
	if project, notice = s.projectServers(workspace); notice != "" && s.local != nil {
		s.reportOnce(notice)
	}
	s.setGroup(a.Name, s.mcp.Group(merge(own, project)))
	a.MoreTools = func(ctx context.Context, run agent.Run) ([]tool.Tool, []string) {
		servers := shared
		if run.Bounds.Unbounded() {
			servers = own
			if run.Workplace == nil {
				project, notice := s.projectServers(workspace)
				if notice != "" && !run.Preview {
					s.reportOnce(notice)
				}
				servers = merge(own, project)
			}
		}
		group := s.mcp.Group(servers)
		if run.Bounds.Unbounded() && run.Workplace == nil {
			s.setGroup(a.Name, group)
		}
		if len(servers) == 0 {
			return nil, nil
		}
		tools, notices := group.Known(), []string(nil)
		if !run.Preview {
			tools, notices = group.Tools(ctx)
		}
		return boundTools(tools, c.Tools, shared), notices
	}
}

// merge returns the servers of both lists. A name in the first one hides it in the second.
func merge(first, second []mcpclient.Server) []mcpclient.Server {
	all := slices.Clone(first)
	for _, s := range second {
		if !slices.ContainsFunc(first, func(x mcpclient.Server) bool { return x.Name == s.Name }) {
			all = append(all, s)
		}
	}
	return all
}

// setGroup sets the servers of an agent. Servers that no agent has any more are ended.
func (s *agentBuilder) setGroup(agentName string, g *mcpclient.Group) {
	s.mu.Lock()
	before := s.groups[agentName]
	if s.groups == nil {
		s.groups = make(map[string]*mcpclient.Group)
	}
	s.groups[agentName] = g
	stale := s.stale
	s.mu.Unlock()
	if before != nil && !g.Covers(before) && !stale {
		s.mcp.Retain(s.mcpGroups()...)
	}
}

// retire means that other settings apply now.
func (s *agentBuilder) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
}

// boundTools returns the tools that the agent's settings allow. Those of servers that are not
// shared refuse calls if the turn becomes one of a requester with bounds.
func boundTools(tools []tool.Tool, allow config.Tools, shared []mcpclient.Server) []tool.Tool {
	var bound []tool.Tool
	for _, x := range tools {
		if allowed(allow, x.Spec().Name) {
			bound = append(bound, boundTool{x, shared})
		}
	}
	return bound
}

// boundTool is a tool of an MCP server.
type boundTool struct {
	tool.Tool
	shared []mcpclient.Server
}

// ReadOnly implements [tool.ReadOnly].
func (t boundTool) ReadOnly() bool {
	r, ok := t.Tool.(tool.ReadOnly)
	return ok && r.ReadOnly()
}

// Spec implements [tool.Tool].
func (t boundTool) Spec() provider.Tool { return t.Tool.Spec() }

// Run implements [tool.Tool].
func (t boundTool) Run(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
	if !agent.BoundsOf(ctx).Unbounded() && !slices.ContainsFunc(t.shared, func(s mcpclient.Server) bool { return mcpclient.Owns(s.Name, t.Tool) }) {
		return tool.Result{}, errors.New("the tool cannot be used for the requester of this turn")
	}
	return t.Tool.Run(ctx, arguments)
}

// mcpStatus describes the MCP servers of all agents.
func (h *Instance) mcpStatus() []wire.MCPServer {
	h.mu.Lock()
	if len(h.builders) == 0 {
		h.mu.Unlock()
		return nil
	}
	s := h.builders[len(h.builders)-1]
	h.mu.Unlock()
	var all []wire.MCPServer
	for _, g := range s.mcpGroups() {
		for _, x := range g.Status() {
			row := wire.MCPServer{Name: x.Name, Source: x.Source, State: string(x.State), Tools: x.Tools, Problem: x.Problem}
			if !slices.ContainsFunc(all, func(y wire.MCPServer) bool { return y.Name == row.Name && y.Source == row.Source }) {
				all = append(all, row)
			}
		}
	}
	slices.SortFunc(all, func(a, b wire.MCPServer) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Source, b.Source))
	})
	return all
}

// startMCP starts the servers of all agents in the background, so that they are ready when the
// user has typed the first message.
func (s *agentBuilder) startMCP() {
	for _, g := range s.mcpGroups() {
		g.Start()
	}
}

// mcpGroups returns the MCP servers in use.
func (s *agentBuilder) mcpGroups() []*mcpclient.Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.groups))
}
