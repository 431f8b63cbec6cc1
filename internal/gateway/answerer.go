package gateway

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/base/typo"
	"firn.dev/internal/gateway/view"
	"firn.dev/window"
	"firn.dev/wire"
)

// Several agents can answer in one session. A session belongs to one agent, its owner,
// which answers unless a turn names another. The name is stored with the message, so that
// the same agent answers after a restart. The asker's access to that agent is checked when
// the message arrives and when its turn starts.

// owner returns the name of the agent that a session belongs to.
func (g *core) owner(ctx context.Context, id firn.ID) (string, error) {
	h, err := g.header(ctx, id)
	return cmp.Or(h.Agent, g.setup.Load().Default), err
}

// agentOf returns the agent that a session belongs to.
func (g *core) agentOf(ctx context.Context, id firn.ID) (*agent.Agent, error) {
	owner, err := g.owner(ctx, id)
	if err != nil {
		return nil, err
	}
	return g.setup.Load().agent(owner)
}

// answerer validates the agent named by a turn and returns it; empty means the owner.
func (g *access) answerer(ctx context.Context, id firn.ID, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	owner, err := g.owner(ctx, id)
	if err != nil || name == owner {
		return "", err
	}
	if err := mayAnswer(BoundsOf(ctx), name); err != nil {
		return "", err
	}
	_, err = g.setup.Load().agent(name)
	return name, err
}

// mayAnswer rejects an agent that is not entirely within the bounds. The error does not
// reveal that it exists.
func mayAnswer(b route.Bounds, name string) error {
	if b.AdmitsAgent(name) {
		return nil
	}
	return &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("unknown agent %q", view.Clip(name)), Hint: "omit the agent to use that of the session"}
}

// agent returns the agent that answers a batch, whose messages all name the same one, and
// the owner of the session.
func (l *lane) agent(ctx context.Context, batch []*ticket) (*agent.Agent, string, error) {
	owner, err := l.g.owner(ctx, l.id)
	if err != nil {
		return nil, "", err
	}
	a, err := l.g.setup.Load().agent(cmp.Or(batch[0].Agent, owner))
	return a, owner, err
}

// allFor reports whether all queued and running messages are for the same agent. The caller
// holds mu.
func (l *lane) allFor(name string) bool {
	return !slices.ContainsFunc(slices.Concat(l.running, l.queue), func(t *ticket) bool { return t.Agent != name })
}

// nameOf returns the name of an agent.
func nameOf(a *agent.Agent) string { return cmp.Or(a.Name, "main") }

// askedAgent returns the agent named by the last user or machine message of a path; empty
// if none.
func askedAgent(p window.Path) string {
	for _, e := range slices.Backward(p.Entries) {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleUser || byMachine(e) {
			return window.AnsweringAgent(&e)
		}
	}
	return ""
}

// unknownAgent returns the problem for an unknown agent, with a suggestion.
func (s *Setup) unknownAgent(name string) error {
	message := fmt.Sprintf("unknown agent %q", view.Clip(name))
	if meant := typo.Nearest(name, slices.Sorted(maps.Keys(s.Agents)), 2); meant != "" {
		message += "; did you mean " + meant + "?"
	}
	return &wire.Problem{Kind: wire.NotFound, Message: message, Hint: "to list agents: firn status; to add one: firn config set agents.NAME.model PROVIDER/MODEL"}
}
