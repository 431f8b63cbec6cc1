package gateway

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"

	"firn.dev/wire"
)

// recentSessions is how many sessions the status names.
const recentSessions = 5

// Status tells how the gateway is. It counts the sessions that are neither
// archived nor hidden.
func (g *Gateway) Status(ctx context.Context) (wire.Status, error) {
	s := wire.Status{
		Version: g.Version, Home: g.Home, Store: g.StorePath, Started: g.started, Gateway: g.Address, PID: os.Getpid(),
		Agents: g.Agents(ctx),
	}
	if s.Gateway == "" {
		s.Gateway = "in-process"
	}
	s.Running, s.Queued = g.Load()
	page, err := g.sessions(ctx, SessionQuery{Limit: recentSessions})
	if err != nil {
		return s, err
	}
	if s.Recent, s.Sessions = page.Items, page.Total; s.Sessions < 0 { // the store cannot count but by listing all
		page, err = g.sessions(ctx, SessionQuery{Limit: recentSessions, Count: true})
		s.Sessions = page.Total
	}
	return s, err
}

// Load tells how much there is to do: how many turns are running, each in a lane of
// its own, and how many messages wait.
func (g *Gateway) Load() (running, queued int) {
	g.mu.Lock()
	lanes := slices.Collect(maps.Values(g.lanes))
	g.mu.Unlock()
	for _, l := range lanes {
		l.mu.Lock()
		queued += len(l.queue)
		l.mu.Unlock()
	}
	return len(lanes), queued
}

// Running lists the sessions that have a turn running, here or at another gateway,
// the one that has run longest first, each with when its turn began and how many
// messages wait.
func (g *Gateway) Running(ctx context.Context) []wire.Session {
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

// byStart orders sessions by when their turns began.
func byStart(a, b wire.Session) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) }

// RunningHere is Running of this gateway alone.
func (g *Gateway) RunningHere(ctx context.Context) []wire.Session {
	g.mu.Lock()
	lanes := slices.Collect(maps.Values(g.lanes))
	g.mu.Unlock()
	sessions := make([]wire.Session, 0, len(lanes))
	for _, l := range lanes {
		s := wire.Session{ID: l.id}
		if info, err := g.Info(ctx, l.id); err == nil {
			s = g.listed(ctx, &info)
		} // one that cannot be looked at runs all the same
		l.mu.Lock()
		s.Live, s.Since, s.Queued = l.busy, l.startedAt, len(l.queue)
		l.mu.Unlock()
		sessions = append(sessions, s)
	}
	slices.SortFunc(sessions, byStart)
	return sessions
}

// Agents lists the agents as they are set up, by id.
func (g *Gateway) Agents(context.Context) []wire.Agent {
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

// Models lists the models that can be chosen: those of the agents first, then
// all others that are known.
func (g *Gateway) Models(ctx context.Context) []wire.Model {
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
	for _, m := range setup.Known {
		add(m)
	}
	return models
}
