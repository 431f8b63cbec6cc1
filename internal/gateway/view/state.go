package view

import (
	"context"
	"errors"
	"iter"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/store"
	"firn.dev/wire"
)

// State returns the state of a session.
func (v *View) State(ctx context.Context, id firn.ID, now Glimpse, atWork bool) (*wire.State, error) {
	used, branches, err := v.counters(ctx, id)
	if err != nil {
		return nil, err
	}
	s := &wire.State{
		Head: now.head, Provider: now.provider, Model: now.model, Foreign: now.foreign, Next: now.next, Thinking: string(now.thinking),
		Verbose: now.chosen.Verbose, Send: sendPolicy(now.chosen), Auth: now.chosen.Auth, Window: now.usage,
		Turns: used.Turns, Compactions: used.Compactions, Branches: branches, Counters: countersOf(used),
		Messages: used.Messages, Uptime: used.Active / 1000,
		Interrupted: !atWork && now.unfinished, Damage: now.damage,
	}
	s.Breaker = v.breaker(ctx, id, now.breaker)
	return s, nil
}

// breaker returns the state of the compaction circuit breaker, by the settings of the
// session's agent; nil if the last attempt did not fail.
func (v *View) breaker(ctx context.Context, id firn.ID, b compact.Breaker) *wire.Breaker {
	if b.Failures == 0 {
		return nil
	}
	var settings compact.Settings
	if a, err := v.Agent(ctx, id); err == nil {
		settings = a.Compaction
	}
	out := &wire.Breaker{
		Failures: b.Failures, Limit: settings.FailureLimit(), Open: b.IsOpen(settings, v.Clock()), Last: b.Last.UTC(), Error: firn.CutText(b.Error, 500),
	}
	if out.Open {
		out.Until = b.Until(settings).UTC()
	}
	return out
}

// counters returns the usage of a session and the number of its branches. It counts from
// the end of the latest turn; if no turn is near, it uses the shape of the session.
func (v *View) counters(ctx context.Context, id firn.ID) (agent.Counters, int, error) {
	if !(shaper{v}).knownLong(id) {
		used, branches, err := agent.CountBranches(ctx, nearEnd{v.Store, v}, id)
		if !errors.Is(err, errLong) {
			return used, branches, err
		}
	}
	s, done, err := (shaper{v}).weighedShape(ctx, id)
	if err != nil {
		return agent.Counters{}, 0, err
	}
	defer done()
	if !s.weighed() {
		return agent.CountBranches(ctx, v.Store, id)
	}
	return s.used, s.outline().leaves, nil
}

// nearEnd is a store whose backward reads are bounded.
type nearEnd struct {
	store.Store
	v *View
}

// ReadBack fails with errLong if the session is too long.
func (n nearEnd) ReadBack(ctx context.Context, id firn.ID, before firn.Pos) iter.Seq2[firn.Record, error] {
	if before != store.End {
		return n.Store.ReadBack(ctx, id, before)
	}
	return readBackBounded(ctx, n.v.Store, id)
}

// sendPolicy returns the session's send policy: allow, deny or "".
func sendPolicy(chosen firn.State) string {
	if chosen.Send == "inherit" {
		return ""
	}
	return chosen.Send
}
