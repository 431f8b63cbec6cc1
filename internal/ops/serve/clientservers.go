package serve

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/mcpclient"
	"firn.dev/tool"
	"firn.dev/wire"
)

// mostOffered is the number of tools that a gateway accepts from a client.
const mostOffered = 256

// clientServers has the tools of MCP servers that this process runs for turns of a gateway.
type clientServers struct {
	pool  *mcpclient.Pool
	allow config.Tools
	// servers returns the servers of the next turn; report receives problems.
	servers func() []mcpclient.Server
	report  func(string)

	mu sync.Mutex
	// tools are those of the last offer.
	tools map[string]tool.Tool
}

// newClientServers returns the tools of servers and starts these in the background. They are
// ended with the builder.
func newClientServers(b *agentBuilder, o Options, allow config.Tools, servers func() []mcpclient.Server) *clientServers {
	c := &clientServers{pool: mcpclient.NewPool(o.Version, o.Log, time.Now), allow: allow, servers: servers, report: b.reportOnce}
	b.closeLater(c.pool)
	c.pool.Group(servers()).Start()
	return c
}

// offer returns the tools for the next turn.
func (c *clientServers) offer() []tool.Tool {
	if c == nil {
		return nil
	}
	group := c.pool.Group(c.servers())
	c.pool.Retain(group)
	tools, problems := group.Tools(context.Background())
	for _, p := range problems {
		c.report(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools = make(map[string]tool.Tool)
	var offered []tool.Tool
	for _, x := range tools {
		if name := x.Spec().Name; allowed(c.allow, name) {
			c.tools[name] = x
			offered = append(offered, x)
		}
	}
	return offered
}

// find returns a tool of the last offer.
func (c *clientServers) find(name string) (tool.Tool, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.tools[name]
	return x, ok
}

// OpenServers returns a terminal that adds the tools of MCP servers to those of an agent. Close
// must be called after use.
func OpenServers(o Options, agentName string, servers []mcpclient.Server) *Terminal {
	if o.Report == nil {
		o.Report = func(string) {}
	}
	c, _ := o.Settings.Agent(agentName)
	t := &Terminal{
		builder: &agentBuilder{home: o.Settings.Home, settings: o.Settings.Config, env: o.Env, clock: time.Now, report: o.Report, fs: sealfs.Home(o.Settings.Home)},
		history: fileHistory(o.Settings.Home), tools: make(map[string]tool.Tool), compare: func() {},
		offer: wire.ClientTools{Secret: newSecret(), Tools: []wire.ClientTool{}, Added: true},
	}
	for i := range servers {
		if servers[i].Command != "" {
			servers[i].Env = append(passedEnv(o.Env, nil), servers[i].Env...)
		}
	}
	t.servers = newClientServers(t.builder, o, c.Tools, func() []mcpclient.Server { return servers })
	return t
}

// newSecret returns the secret of a client.
func newSecret() string {
	var secret [24]byte
	_, _ = rand.Read(secret[:]) // never fails
	return hex.EncodeToString(secret[:])
}
