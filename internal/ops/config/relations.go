package config

import (
	"firn.dev/internal/base/approve"
	"maps"
	"slices"
	"strings"
)

// checkRelated checks for settings that contradict each other.
func (d *decoder) checkRelated(s *Settings) {
	c := s.Config
	if c.Gateway.Listen != "" && !loopback(c.Gateway.Listen) && !c.Gateway.AllowRemote {
		d.at(s, "gateway.listen", "set gateway.allow_remote to allow this", "%s is reachable from the network", quoted(c.Gateway.Listen))
	}
	d.checkStoreSettings(s)
	d.checkLinks(s, "session.identity_links", c.Session.IdentityLinks)
	for i, b := range c.Bindings {
		d.agent(s, b.Agent, "bindings", itoa(i), "agent")
		if b.PeerKind != "" && b.Peer == "" {
			d.at(s, joinPath([]string{"bindings", itoa(i), "peer_kind"}), "", "only has an effect together with peer")
		}
	}
	d.checkJobs(s)
	d.checkEmbeddings(s)
	d.checkMCPServers(s)
	for _, id := range slices.Sorted(maps.Keys(c.Hooks)) {
		d.agent(s, c.Hooks[id].Agent, "hooks", id, "agent")
		if h := c.Hooks[id]; h.Token == "" && !h.Signed() {
			d.at(s, joinPath([]string{"hooks", id}), "set a token; or secret_env or secret_file if the service signs its requests", "no client could call it")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.Agents)) {
		d.checkAgent(s, "agents."+id, c.Agents[id])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		d.checkModelSize(s, c.Models[name], "models", name)
	}
	for _, id := range slices.Sorted(maps.Keys(c.Providers)) {
		for _, name := range slices.Sorted(maps.Keys(c.Providers[id].Models)) {
			d.checkModelSize(s, c.Providers[id].Models[name], "providers", id, "models", name)
		}
	}
}

// at records a problem with the setting at a path.
func (d *decoder) at(s *Settings, path, hint, format string, args ...any) {
	segments, err := splitPath(path)
	if err != nil {
		segments = nil
	}
	d.addProblem(nearestNode(s.tree, segments), segments, hint, format, args...)
}

// agent checks that an agent exists. Empty means the default agent.
func (d *decoder) agent(s *Settings, id string, path ...string) {
	if id == "" {
		return
	}
	if _, known := s.Config.Agent(id); !known {
		d.at(s, joinPath(path), didYouMean(nearest(id, s.AgentIDs())), "unknown agent %s", quoted(id))
	}
}

// checkJobs checks that job names are unique.
func (d *decoder) checkJobs(s *Settings) {
	seen := make(map[string]bool)
	for i, job := range s.Cron {
		if seen[job.ID] {
			d.at(s, joinPath([]string{"cron", itoa(i), "id"}), "", "duplicate job %s", quoted(job.ID))
		}
		seen[job.ID] = true
		d.agent(s, job.Agent, "cron", itoa(i), "agent")
	}
}

// checkEmbeddings checks that at most one model is set.
func (d *decoder) checkEmbeddings(s *Settings) {
	e := s.Config.Search.Embeddings
	if e.Dir != "" && (e.URL != "" || e.Model != "") {
		set := "url and model are"
		switch {
		case e.Model == "":
			set = "url is"
		case e.URL == "":
			set = "model is"
		}
		d.at(s, "search.embeddings.dir", "keep url and model, or dir", "%s set too", set)
	}
}

// WarnOfModel adds a warning about the model in search.embeddings.dir.
func (s *Settings) WarnOfModel(err error) {
	d := &decoder{}
	d.at(s, "search.embeddings.dir", ModelHint, "%s", err)
	s.Warnings = append(s.Warnings, d.problems...)
}

// ModelHint suggests what to do about a model that cannot be used.
const ModelHint = "name a directory with model.safetensors and tokenizer.json of a Model2Vec model, or remove it: firn config unset search.embeddings.dir"

// checkLinks checks that no ID belongs to two people.
func (d *decoder) checkLinks(s *Settings, path string, links map[string][]string) {
	owner := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(links)) {
		for _, id := range links[name] {
			id = strings.ToLower(strings.TrimSpace(id))
			if other, ok := owner[id]; ok && other != name {
				d.at(s, path+"."+quoteKey(name), "", "%s is already used for %s", quoted(id), quoted(other))
			}
			owner[id] = name
		}
	}
}

// checkAgent checks for contradictory settings of an agent.
func (d *decoder) checkAgent(s *Settings, path string, a Agent) {
	if a.System != "" && a.SystemFile != "" {
		d.at(s, path+".system_file", "keep one of them", "system is already set")
	}
	if a.Shell.Timeout > a.Shell.MaxTimeout {
		d.at(s, path+".shell.timeout", "", "exceeds max_timeout, %s", formatDuration(a.Shell.MaxTimeout))
	}
	if a.Pruning.HardRatio < a.Pruning.SoftRatio {
		d.at(s, path+".pruning.hard_ratio", "", "below soft_ratio, %v", a.Pruning.SoftRatio)
	}
	d.checkRules(s, path+".approvals.allow", a.Approvals.Allow)
	d.checkRules(s, path+".approvals.deny", a.Approvals.Deny)
	d.checkLinks(s, path+".identity_links", a.IdentityLinks)
}

// checkRules checks the rules about tool calls.
func (d *decoder) checkRules(s *Settings, path string, rules []string) {
	if _, err := approve.ParseRules(rules); err != nil {
		d.at(s, path, "expected TOOL or TOOL(PATTERN), such as shell(git diff *)", "%v", err)
	}
}

// checkModelSize checks that the output of a model is not larger than its window.
func (d *decoder) checkModelSize(s *Settings, m Model, path ...string) {
	if m.Window != nil && m.MaxOutput != nil && *m.MaxOutput > *m.Window {
		d.at(s, joinPath(append(path, "max_output")), "", "exceeds the window, %d", *m.Window)
	}
}
