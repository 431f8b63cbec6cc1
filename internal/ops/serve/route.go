package serve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"firn.dev/internal/base/approve"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/maintenance"
	"firn.dev/internal/gateway/timer"
	"firn.dev/internal/ops/config"
)

// routing converts the routing settings.
func routing(c config.Config, ids []string) route.Config {
	r := route.Config{
		Default: c.DefaultAgent, MainKey: c.Session.MainKey, Global: c.Session.Scope == "global",
		Scope: route.Scope(c.Session.DMScope), Links: route.Links(c.Session.IdentityLinks),
	}
	for _, id := range ids {
		a, _ := c.Agent(id)
		one := route.Agent{ID: id, Scope: route.Scope(a.DMScope)}
		if len(a.IdentityLinks) > 0 {
			one.Links = route.Links(a.IdentityLinks)
		}
		r.Agents = append(r.Agents, one)
	}
	for _, b := range c.Bindings {
		r.Bindings = append(r.Bindings, route.Binding{Agent: b.Agent, Channel: b.Channel, Account: b.Account, PeerKind: route.PeerKind(b.PeerKind), Peer: b.Peer})
	}
	return r
}

// habits converts the settings of individual agents.
func habits(c config.Config, ids []string) map[string]gateway.AgentSettings {
	all := make(map[string]gateway.AgentSettings)
	for _, id := range ids {
		a, _ := c.Agent(id)
		one := gateway.AgentSettings{Turns: make(map[string]int)}
		for name, n := range a.DMHistory {
			channel, peer, of := strings.Cut(name, ":")
			channel = strings.ToLower(strings.TrimSpace(channel))
			if of {
				channel += ":" + strings.TrimSpace(peer)
			}
			one.Turns[channel] = n
		}
		one.Delegation = gateway.Delegation{Peers: peersOf(c, id), Depth: a.Delegation.Depth, Children: a.Delegation.Children}
		one.Approvals = approvalsOf(a.Approvals)
		if a.Reset != nil {
			one.Resets = &route.Resets{General: policy(*a.Reset)}
		}
		if a.SendPolicy != nil {
			one.Send = new(sendPolicy(*a.SendPolicy))
		}
		all[id] = one
	}
	return all
}

// approvalsOf converts the policy for tool calls. The rules were checked with the settings.
func approvalsOf(a config.Approvals) gateway.Approvals {
	allow, _ := approve.ParseRules(a.Allow)
	deny, _ := approve.ParseRules(a.Deny)
	return gateway.Approvals{Mode: approve.Mode(a.Mode), Rules: approve.Rules{Allow: allow, Deny: deny}}
}

// resets converts the session reset settings.
func resets(c config.Config) route.Resets {
	r := route.Resets{General: policy(c.Session.Reset), ByType: make(map[route.ResetType]route.Policy), ByChannel: make(map[string]route.Policy)}
	for name, reset := range c.Session.ResetByType {
		r.ByType[route.ResetType(name)] = policy(reset)
	}
	for name, reset := range c.Session.ResetByChannel {
		r.ByChannel[name] = policy(reset)
	}
	return r
}

func policy(r config.Reset) route.Policy {
	return route.Policy{Mode: route.Mode(r.Mode), AtHour: route.Hour(r.AtHour), Idle: r.Idle, TTL: r.TTL, Quiet: cmp.Or(r.Quiet, -1)}
}

func sendPolicy(p config.SendPolicy) route.SendPolicy {
	out := route.SendPolicy{Default: route.Effect(p.Default)}
	for _, r := range p.Rules {
		out.Rules = append(out.Rules, route.SendRule{Effect: route.Effect(r.Action), Channel: r.Channel, ChatType: route.ChatType(r.ChatType), KeyPrefix: r.KeyPrefix})
	}
	return out
}

// commandPolicy converts the permissions for commands in messages.
func commandPolicy(c config.Commands) route.CommandPolicy {
	out := route.CommandPolicy{Direct: append([]string{}, c.Direct...), Group: append([]string{}, c.Group...)}
	for _, r := range c.Rules {
		out.Rules = append(out.Rules, route.CommandRule{Channel: r.Channel, ChatType: route.ChatType(r.ChatType), Senders: r.Senders, Commands: r.Commands})
	}
	return out
}

// zone returns the time zone in which days begin.
func zone(name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("load time zone: %w", err)
	}
	return z, nil
}

// setup creates the agents and the setup of the gateway from the settings.
func (h *Instance) setup(s *agentBuilder) (gateway.Setup, error) {
	agents, err := s.all()
	if err != nil {
		return gateway.Setup{}, err
	}
	h.mu.Lock()
	h.agents = agents
	h.mu.Unlock()
	var ids []string
	for id := range agents {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	where, err := zone(s.settings.Session.TimeZone)
	if err != nil {
		return gateway.Setup{}, err
	}
	r := routing(s.settings, ids)
	if err := r.Check(); err != nil {
		return gateway.Setup{}, fmt.Errorf("set up routing: %w", err)
	}
	out := gateway.Setup{
		Agents: agents, Default: s.settings.DefaultAgent, Models: s.models.Find, Profile: s.models.Profile, Known: sync.OnceValue(s.models.Known), Local: s.models.Local, Queue: queue(s.settings.Session.Queue),
		Route: r, Resets: resets(s.settings), Zone: where, Triggers: s.settings.Session.ResetTriggers, ThreadHistory: int64(s.settings.Session.ThreadHistory), Send: sendPolicy(s.settings.Session.SendPolicy),
		Commands: commandPolicy(s.settings.Session.Commands), Queues: make(map[string]route.Queue), Habits: habits(s.settings, ids),
	}
	out.Terminal = s.local != nil && (s.local.Write || s.local.Shell)
	for channel, q := range s.settings.Session.QueueByChannel {
		out.Queues[channel] = queue(q)
	}
	out.Maintenance = maintaining(s.settings.Maintenance)
	if !h.serves { // a command does only what was requested
		out.Maintenance.Every = 0
	} else {
		if out.Hooks, err = hooks(s.settings, s.env); err != nil {
			return gateway.Setup{}, err
		}
		if out.Jobs, err = jobs(s.settings); err != nil {
			return gateway.Setup{}, err
		}
	}
	return out, nil
}

func queue(q config.Queue) route.Queue {
	return route.Queue{Mode: route.QueueMode(q.Mode), Debounce: &q.Debounce, Cap: q.Cap, Drop: route.DropPolicy(q.Drop)}
}

// jobs converts the cron settings.
func jobs(c config.Config) ([]timer.Job, error) {
	var all []timer.Job
	for _, j := range c.Cron {
		one := timer.Job{
			ID: j.ID, Schedule: j.Schedule, Agent: j.Agent, Message: j.Message, Model: j.Model, Timeout: j.Timeout,
			Keep: j.Keep, Retention: j.Retention, Enabled: j.Enabled, CatchUp: j.CatchUp,
		}
		if j.Zone != "" {
			where, err := zone(j.Zone)
			if err != nil {
				return nil, err
			}
			one.Zone = where
		}
		all = append(all, one)
	}
	return all, nil
}

// hooks converts the hook settings.
func hooks(c config.Config, env func(name string) string) (map[string]gateway.Hook, error) {
	all := make(map[string]gateway.Hook)
	for id, k := range c.Hooks {
		one := gateway.Hook{Token: k.Token, Agent: k.Agent, Model: k.Model, Key: k.Key, Template: k.Template, Enabled: k.Enabled}
		if k.Enabled {
			secret, err := k.Secret(env)
			if err != nil {
				return nil, fmt.Errorf("set up hook %s: %w", id, err)
			}
			one.Signature = gateway.NewSignature(k.Signature, k.SignatureHeader, secret)
		}
		all[id] = one
	}
	return all, nil
}

func maintaining(m config.Maintenance) maintenance.Settings {
	return maintenance.Settings{
		Enforce: m.Mode == "enforce", PruneAfter: m.PruneAfter, MaxEntries: m.MaxEntries, MaxDiskBytes: int64(m.MaxDiskBytes),
		HighWater: m.HighWater, ResetArchiveRetention: m.ResetArchiveRetention, SubagentIdle: m.SubagentIdle, Every: m.Every,
		BinRetention: m.BinRetention, BinMaxBytes: int64(m.BinMaxBytes),
	}
}
