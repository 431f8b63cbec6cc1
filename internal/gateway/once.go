package gateway

import (
	"context"
	"iter"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/store"
	"firn.dev/wire"
)

// AnswerOnce answers a conversation without storing it, and yields the events of the turn.
// The last event reports that the turn completed; otherwise the last value is an error. The
// turn has the client's tools or none: calls of an agent's tools, their approvals and
// results are history. It ends with ctx.
func (g *core) AnswerOnce(ctx context.Context, q wire.Once) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		ctx, end, err := g.beginOnce(ctx)
		if err != nil {
			yield(wire.Event{}, err)
			return
		}
		defer end()
		if err := g.answerOnce(ctx, q, func(e wire.Event) bool { return yield(e, nil) }); err != nil {
			yield(wire.Event{}, err)
		}
	}
}

// beginOnce counts a turn that is not stored as work of the gateway, whose end cancels it.
func (g *core) beginOnce(ctx context.Context) (context.Context, func(), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, errClosing()
	}
	g.work.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(g.ctx, func() { cancel(context.Cause(g.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
		g.work.Done()
	}, nil
}

// answerOnce runs the turn in a store of its own. It ends early if send returns false.
func (g *core) answerOnce(ctx context.Context, q wire.Once, send func(wire.Event) bool) error {
	if g.Scratch == nil {
		return &wire.Problem{Kind: wire.Unsupported, Message: "this gateway answers only what it stores"}
	}
	of, err := g.setup.Load().agent(q.Agent)
	if err != nil {
		return err
	}
	terms := termsOf(q.Terms)
	if terms.Tools == nil {
		terms.NoTools = true
	}
	if err := of.Check(terms); err != nil {
		return err
	}
	a, id := passing(of, g.Scratch()), firn.NewID()
	defer a.Close()
	last, err := g.putOnce(ctx, a, id, q)
	if err != nil {
		return err
	}
	answer := wire.Answer{Session: id, Message: last, Agent: nameOf(a)}
	for e, err := range a.Run(ctx, id, agent.Input{Terms: terms}) {
		if err != nil {
			return err
		}
		reported, ok := translate(id, e)
		if done, isDone := e.(agent.Finished); isDone {
			reported, ok = event(wire.TurnCompleted, id, answerOf(answer, done.Outcome)), true
		}
		if ok && !send(reported) {
			return nil
		}
	}
	return nil
}

// putOnce stores the messages in the store of the turn, and returns the last one.
func (g *core) putOnce(ctx context.Context, a *agent.Agent, id firn.ID, q wire.Once) (firn.EntryID, error) {
	entries := []firn.Entry{firn.NewEntry(&firn.Header{Session: id, Agent: a.Name})}
	for _, line := range q.Entries {
		e, err := g.Dialect.Decode(line)
		if err != nil {
			return "", Invalid("cannot read entry %d of the conversation: %v", len(entries), err)
		}
		e.ID, e.Parent = firn.NewEntryID(), ""
		entries = append(entries, e)
	}
	if len(entries) == 1 {
		return "", Invalid("the conversation is empty")
	}
	_, err := a.Store.Append(ctx, id, store.Start, entries...)
	return entries[len(entries)-1].ID, err
}

// passing returns an agent that answers like another one, from another store and without
// its tools, hooks and background work.
func passing(a *agent.Agent, s store.Store) *agent.Agent {
	return &agent.Agent{
		Name: a.Name, Store: s, Model: a.Model, Models: a.Models, Fallbacks: a.Fallbacks, System: a.System, Thinking: a.Thinking,
		Compaction: a.Compaction, Summarizer: a.Summarizer, ResultBudget: a.ResultBudget, Turns: a.Turns, Rounds: a.Rounds, Failures: a.Failures,
		Results: a.Results, Silence: a.Silence, Backoff: a.Backoff, NoTitles: true, Clock: a.Clock, Counter: a.Counter,
	}
}
