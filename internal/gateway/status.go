package gateway

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"

	"firn.dev/wire"
)

// recentSessions is the number of sessions in the status.
const recentSessions = 5

// Status returns the status of the gateway. It counts the sessions that are neither
// archived nor hidden.
func (g *sessionReader) Status(ctx context.Context) (wire.Status, error) {
	s := wire.Status{
		Version: g.Version, Home: g.Home, Store: g.StorePath, Started: g.started, Gateway: g.Address, PID: os.Getpid(),
		Agents: g.Agents(ctx),
	}
	if s.Gateway == "" {
		s.Gateway = "in-process"
	}
	if g.MCP != nil {
		s.MCP = g.MCP()
	}
	s.Running, s.Queued = g.lanes.Load()
	page, err := g.sessions(ctx, SessionQuery{Limit: recentSessions})
	if err != nil {
		return s, err
	}
	if s.Recent, s.Sessions = page.Items, page.Total; s.Sessions < 0 { // the store can count only by listing all
		page, err = g.sessions(ctx, SessionQuery{Limit: recentSessions, Count: true})
		s.Sessions = page.Total
	}
	return s, err
}

// Load returns the number of running turns, which is that of lanes, and of queued messages.
func (g *lanes) Load() (running, queued int) {
	lanes := g.allLanes()
	for _, l := range lanes {
		l.mu.Lock()
		queued += len(l.queue)
		l.mu.Unlock()
	}
	return len(lanes), queued
}

// Running lists the sessions with a running turn on any gateway, the longest-running first,
// each with the start time of the turn and the number of queued messages.
func (g *sessionReader) Running(ctx context.Context) []wire.Session {
	all := g.RunningHere(ctx)
	if g.Peers == nil {
		return all
	}
	for _, s := range g.Peers.Running(ctx) {
		if !slices.ContainsFunc(all, func(here wire.Session) bool { return here.ID == s.ID }) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, byStart)
	return all
}

// byStart orders sessions by the start of their turns.
func byStart(a, b wire.Session) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) }

// RunningHere is like Running, for this gateway only.
func (g *sessionReader) RunningHere(ctx context.Context) []wire.Session {
	lanes := g.lanes.allLanes()
	sessions := make([]wire.Session, 0, len(lanes))
	for _, l := range lanes {
		s := wire.Session{ID: l.id}
		if info, err := g.Info(ctx, l.id); err == nil {
			s = g.listed(ctx, &info)
		} // an unreadable session is listed too
		l.mu.Lock()
		s.Live, s.Since, s.Queued = l.busy, l.startedAt, len(l.queue)
		l.mu.Unlock()
		sessions = append(sessions, s)
	}
	slices.SortFunc(sessions, byStart)
	return sessions
}

// Agents lists the configured agents by ID.
func (g *sessionReader) Agents(context.Context) []wire.Agent {
	setup := g.setup.Load()
	agents := make([]wire.Agent, 0, len(setup.Agents))
	for _, id := range slices.Sorted(maps.Keys(setup.Agents)) {
		out := wire.Agent{ID: id}
		if m := setup.Agents[id].Model; m != nil {
			info := m.Info()
			out.Provider, out.Model, out.Window, out.Assumed = info.Provider, info.Name, info.Window, info.Assumed
		}
		agents = append(agents, out)
	}
	return agents
}

// Models lists the available models: first those of the agents, then those of local servers
// if local is set, then all other known ones.
func (g *sessionReader) Models(ctx context.Context, local bool) []wire.Model {
	setup := g.setup.Load()
	models := []wire.Model{}
	add := func(m wire.Model) {
		if !slices.ContainsFunc(models, func(known wire.Model) bool { return known.ID == m.ID }) {
			models = append(models, m)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(setup.Agents)) {
		if m := setup.Agents[id].Model; m != nil {
			info := m.Info()
			add(wire.Model{ID: info.Provider + "/" + info.Name, Window: info.Window, MaxOutput: info.MaxOutput, Assumed: info.Assumed})
		}
	}
	if local && setup.Local != nil {
		for _, m := range setup.Local(ctx) {
			add(m)
		}
	}
	for _, m := range setup.View().KnownModels() {
		add(m)
	}
	return models
}
