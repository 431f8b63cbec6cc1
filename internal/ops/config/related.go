package config

import (
	"maps"
	"slices"
	"strings"
)

// related finds settings that do not fit together.
func (d *decoder) related(s *Settings) {
	c := s.Config
	if c.Gateway.Listen != "" && !loopback(c.Gateway.Listen) && !c.Gateway.AllowRemote {
		d.at(s, "gateway.listen", "set gateway.allow_remote if that is meant", "others on the network reach %s", quoted(c.Gateway.Listen))
	}
	d.store(s)
	d.links(s, "session.identity_links", c.Session.IdentityLinks)
	for i, b := range c.Bindings {
		d.agent(s, b.Agent, "bindings", itoa(i), "agent")
		if b.PeerKind != "" && b.Peer == "" {
			d.at(s, joinPath([]string{"bindings", itoa(i), "peer_kind"}), "", "it counts only together with peer")
		}
	}
	d.jobs(s)
	for _, id := range slices.Sorted(maps.Keys(c.Hooks)) {
		d.agent(s, c.Hooks[id].Agent, "hooks", id, "agent")
		if h := c.Hooks[id]; h.Token == "" && !h.Signed() {
			d.at(s, joinPath([]string{"hooks", id}), "name a token; or secret_env or secret_file, if the service signs its calls", "nobody could call it")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Agents)) {
		d.habits(s, "agents."+id, c.Agents[id])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		d.sizes(s, c.Models[name], "models", name)
	}
	for _, id := range slices.Sorted(maps.Keys(c.Providers)) {
		for _, name := range slices.Sorted(maps.Keys(c.Providers[id].Models)) {
			d.sizes(s, c.Providers[id].Models[name], "providers", id, "models", name)
		}
	}
}

// at notes a problem with the setting at a path.
func (d *decoder) at(s *Settings, path, hint, format string, args ...any) {
	segments, err := splitPath(path)
	if err != nil {
		segments = nil
	}
	d.complain(nearestNode(s.tree, segments), segments, hint, format, args...)
}

// agent refuses an agent that there is not. Empty is the default agent.
func (d *decoder) agent(s *Settings, id string, path ...string) {
	if id == "" {
		return
	}
	if _, known := s.Config.Agent(id); !known {
		d.at(s, joinPath(path), meant(nearest(id, s.AgentIDs())), "there is no agent %s", quoted(id))
	}
}

// jobs refuses two jobs of one name.
func (d *decoder) jobs(s *Settings) {
	seen := make(map[string]bool)
	for i, job := range s.Cron {
		if seen[job.ID] {
			d.at(s, joinPath([]string{"cron", itoa(i), "id"}), "", "there are two jobs %s", quoted(job.ID))
		}
		seen[job.ID] = true
		d.agent(s, job.Agent, "cron", itoa(i), "agent")
	}
}

// links refuses an id that stands for two people.
func (d *decoder) links(s *Settings, path string, links map[string][]string) {
	owner := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(links)) {
		for _, id := range links[name] {
			id = strings.ToLower(strings.TrimSpace(id))
			if other, ok := owner[id]; ok && other != name {
				d.at(s, path+"."+quoteKey(name), "", "%s stands for %s already", quoted(id), quoted(other))
			}
			owner[id] = name
		}
	}
}

// habits refuses habits of an agent that contradict each other.
func (d *decoder) habits(s *Settings, path string, a Agent) {
	if a.System != "" && a.SystemFile != "" {
		d.at(s, path+".system_file", "keep one of them", "system says it already")
	}
	if a.Shell.Timeout > a.Shell.MaxTimeout {
		d.at(s, path+".shell.timeout", "", "it is longer than max_timeout, %s", formatDuration(a.Shell.MaxTimeout))
	}
	if a.Pruning.HardRatio < a.Pruning.SoftRatio {
		d.at(s, path+".pruning.hard_ratio", "", "it is less than soft_ratio, %v", a.Pruning.SoftRatio)
	}
	d.links(s, path+".identity_links", a.IdentityLinks)
}

// sizes refuses a model whose answer is larger than its window.
func (d *decoder) sizes(s *Settings, m Model, path ...string) {
	if m.Window != nil && m.MaxOutput != nil && *m.MaxOutput > *m.Window {
		d.at(s, joinPath(append(path, "max_output")), "", "it is more than the window, %d", *m.Window)
	}
}
