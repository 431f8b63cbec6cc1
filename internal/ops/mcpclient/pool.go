package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/tool"
)

// Pool has the connections of a process. Its methods may be called concurrently.
type Pool struct {
	version string
	log     *slog.Logger
	now     func() time.Time
	tokens  atomic.Int64

	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
	links  map[string]*link
}

// NewPool returns a pool without connections. Version is reported to servers.
func NewPool(version string, log *slog.Logger, now func() time.Time) *Pool {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &Pool{version: version, log: log, now: now, links: make(map[string]*link)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// run runs f in the background. It returns false if the pool is closed.
func (p *Pool) run(f func(ctx context.Context)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.work.Go(func() {
		// What a server sends must not end the process.
		defer func() {
			if r := recover(); r != nil {
				p.log.Error("an MCP client panicked", "panic", fmt.Sprint(r))
			}
		}()
		f(p.ctx)
	})
	return true
}

// token returns a new progress token.
func (p *Pool) token() string { return strconv.FormatInt(p.tokens.Add(1), 10) }

// Close ends all connections and their processes, and waits for that.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	links := p.links
	p.links = nil
	p.mu.Unlock()
	p.cancel()
	var closing sync.WaitGroup
	for _, l := range links {
		closing.Go(func() { l.close(context.Background()) })
	}
	closing.Wait()
	p.work.Wait()
	return nil
}

// Group returns the servers as a group. Servers that the pool has already share their
// connection. Nothing is started.
func (p *Pool) Group(servers []Server) *Group {
	g := &Group{}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range servers {
		s = s.withDefaults()
		s.Name, s.Problem = brief(s.Name), clean(s.Problem)
		id := s.identity()
		l := p.links[id]
		if l == nil {
			l = &link{server: s, pool: p, closed: p.closed}
			if !p.closed {
				p.links[id] = l
			}
		}
		g.links = append(g.links, l)
	}
	slices.SortStableFunc(g.links, func(a, b *link) int { return strings.Compare(a.server.Name, b.server.Name) })
	return g
}

// Retain ends the connections that belong to none of the groups.
func (p *Pool) Retain(groups ...*Group) {
	keep := make(map[*link]bool)
	for _, g := range groups {
		for _, l := range g.links {
			keep[l] = true
		}
	}
	var gone []*link
	p.mu.Lock()
	for id, l := range p.links {
		if !keep[l] {
			gone = append(gone, l)
			delete(p.links, id)
		}
	}
	p.mu.Unlock()
	for _, l := range gone {
		p.run(l.close)
	}
}

// Group is the servers of an agent or a project.
type Group struct{ links []*link }

// Start begins to start all servers in the background.
func (g *Group) Start() {
	for _, l := range g.links {
		l.start()
	}
}

// Tools returns the tools of the servers. It starts those that are not running and waits for
// each of them, as long as its setting says. Problems are sentences about servers whose tools
// are missing; each is returned once.
func (g *Group) Tools(ctx context.Context) (tools []tool.Tool, problems []string) {
	g.wait(ctx)
	for _, l := range g.links {
		if p := l.notice(); p != "" {
			problems = append(problems, p)
		}
	}
	return g.Known(), problems
}

// wait starts all servers and waits for them, each as long as its setting says.
func (g *Group) wait(ctx context.Context) {
	began := time.Now()
	for _, l := range g.links {
		started := l.start()
		if started == nil {
			continue
		}
		limit := time.NewTimer(l.server.Wait - time.Since(began))
		select {
		case <-started:
		case <-limit.C:
		case <-ctx.Done():
		}
		limit.Stop()
	}
}

// notice returns the sentence about a server that is not ready, once.
func (l *link) notice() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.live != nil || l.notified:
		return ""
	case l.starting != nil:
		return "the MCP server " + l.server.Name + " is still starting; its tools can be used from the next message on"
	}
	l.notified = true
	if l.server.Problem != "" {
		return "the MCP server " + l.server.Name + " cannot be used: " + l.server.Problem
	}
	return l.problem
}

// Known returns the tools of the servers that are running, sorted by server. It starts none.
func (g *Group) Known() []tool.Tool {
	used := make(names)
	var tools []tool.Tool
	for _, l := range g.links {
		for _, t := range l.tools(used) {
			tools = append(tools, t)
		}
	}
	return tools
}

// tools returns the tools of a server, in the order of the server.
func (l *link) tools(used names) []remoteTool {
	l.mu.Lock()
	c := l.live
	l.mu.Unlock()
	if c == nil {
		return nil
	}
	c.mu.Lock()
	listed := c.tools
	c.mu.Unlock()
	var tools []remoteTool
	for _, t := range listed {
		if t == nil || !l.server.enabled(t.Name) {
			continue
		}
		schema, ok := schemaOf(t.InputSchema)
		name, free := used.assign(l.server.Name, t.Name)
		if !ok || !free {
			continue
		}
		tools = append(tools, remoteTool{
			link: l, name: t.Name, reads: l.server.TrustReadOnly && t.Annotations != nil && t.Annotations.ReadOnlyHint,
			spec: provider.Tool{Name: name, Description: firn.CutText(clean(t.Description), maxDescription), Schema: schema},
		})
	}
	return tools
}

// schemaOf returns the schema of a tool's arguments; false if it cannot be used.
func schemaOf(schema any) (json.RawMessage, bool) {
	if schema == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), true
	}
	object, ok := schema.(map[string]any)
	if !ok {
		return nil, false
	}
	if object["type"] == "object" && object["properties"] == nil {
		object = maps.Clone(object)
		object["properties"] = map[string]any{} // some providers demand it
	}
	data, err := json.Marshal(object)
	return data, err == nil && len(data) <= maxSchema
}

// Status describes the servers of the group.
func (g *Group) Status() []Status {
	used := make(names)
	all := []Status{}
	for _, l := range g.links {
		s := Status{Name: l.server.Name, Source: l.server.Source, State: Idle, Tools: []string{}}
		for _, t := range l.tools(used) {
			s.Tools = append(s.Tools, t.spec.Name)
		}
		l.mu.Lock()
		switch {
		case l.live != nil:
			s.State = Ready
		case l.starting != nil:
			s.State = Starting
		case l.server.Problem != "":
			s.State, s.Problem = Failed, l.server.Problem
		case l.problem != "":
			s.State, s.Problem = Failed, l.problem
		}
		l.mu.Unlock()
		all = append(all, s)
	}
	return all
}

// remoteTool is a tool of a server.
type remoteTool struct {
	link  *link
	name  string // the server's own name
	spec  provider.Tool
	reads bool
}

// Spec implements [tool.Tool].
func (t remoteTool) Spec() provider.Tool { return t.spec }

// ReadOnly implements [tool.ReadOnly]: it reports whether the user trusts the server's
// statement that the tool only reads.
func (t remoteTool) ReadOnly() bool { return t.reads }

// Run implements [tool.Tool].
func (t remoteTool) Run(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
	return t.link.call(ctx, t.name, arguments)
}

// Owns reports whether a tool belongs to the server with a name.
func Owns(server string, t tool.Tool) bool {
	r, ok := t.(remoteTool)
	return ok && r.link.server.Name == server
}

// Covers reports whether all servers of another group are in this one.
func (g *Group) Covers(other *Group) bool {
	return !slices.ContainsFunc(other.links, func(l *link) bool { return !slices.Contains(g.links, l) })
}
