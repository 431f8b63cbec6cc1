package gateway

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/trace"
	"firn.dev/wire"
)

// Turn sends a message to a session and returns the answer. The message is accepted when it
// is durable; from then on it is answered even if the caller leaves. If Wait is false, Turn
// returns as soon as the message is accepted.
func (g *lanes) Turn(ctx context.Context, id firn.ID, t wire.Turn) (wire.Answer, error) {
	if t.ClientTools != nil {
		return wire.Answer{}, Invalid("client tools need a stream of events: send Accept: text/event-stream")
	}
	ticket, err := g.accept(ctx, id, t)
	if err != nil {
		return wire.Answer{}, err
	}
	return ticket.await(ctx, id, t.Wait == nil || *t.Wait)
}

// StreamTurn is like Turn but yields the events of the turn. Of earlier turns it yields
// only the queued event. The last event reports that the turn completed or failed.
func (g *lanes) StreamTurn(ctx context.Context, id firn.ID, t wire.Turn) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		listener := g.events.listen(id)
		defer g.events.leave(listener)
		ticket, err := g.accept(ctx, id, t)
		if err != nil {
			yield(wire.Event{}, err)
			return
		}
		a := turnFilter{ticket: ticket, since: listener.since, ours: ticket.steered()}
		lease, calls := g.attachClient(ctx, ticket, t)
		defer lease.detach(calls)
		for {
			select {
			case <-calls.waiting():
				for _, e := range lease.take(calls) {
					if !yield(e, nil) {
						return
					}
				}
			case e := <-listener.events:
				if a.accepts(e) && !yield(e, nil) {
					return
				}
			case <-ticket.done:
				a.drain(listener, yield)
				return
			case <-listener.slow:
				yield(event(wire.Gap, id, nil), nil)
				return
			case <-ctx.Done():
				yield(wire.Event{}, context.Cause(ctx))
				return
			}
		}
	}
}

// attachClient connects the stream of a turn with the lease of its client's tools. The
// stream is nil if the turn has no such tools, or those of another client.
func (g *lanes) attachClient(ctx context.Context, t *ticket, turn wire.Turn) (*toolLease, *leaseStream) {
	lease := t.lease()
	if turn.ClientTools == nil {
		return lease, nil
	}
	return lease, lease.attach(turn.ClientTools.Secret, askerOf(ctx))
}

// turnFilter selects the events of a ticket's turn. A message that was steered into a
// running turn is part of that turn.
type turnFilter struct {
	ticket *ticket
	// since is the number of events published before the listener was added.
	since uint64
	// ours is set once the ticket's turn has started, over once it has ended.
	ours, over bool
}

// accepts reports whether an event belongs to the ticket's turn. The end of the turn is
// excluded: it is sent when the ticket is done.
func (a *turnFilter) accepts(e wire.Event) bool {
	turn, begun := a.ticket.startedAs()
	if begun > 0 && begun <= a.since {
		a.ours = true // it started before the listener was added
	}
	switch e.Name {
	case wire.TurnQueued:
		return messageOf(e) == a.ticket.ID
	case wire.TurnStarted:
		a.ours = a.ours || turn != "" && messageOf(e) == turn
	case wire.TurnCompleted, wire.TurnFailed:
		a.over = a.over || a.ours && !a.ticket.steered()
		return false
	}
	return a.ours && !a.over
}

// messageOf returns the message that a turn event is about.
func messageOf(e wire.Event) firn.EntryID {
	var about wire.Answer
	if json.Unmarshal(e.Data, &about) != nil {
		return ""
	}
	return about.Message
}

// drain yields the events that were published before the ticket was done, and then the
// final event.
func (a *turnFilter) drain(l *listener, yield func(wire.Event, error) bool) {
	for {
		select {
		case e := <-l.events:
			if a.accepts(e) && !yield(e, nil) {
				return
			}
		default:
			t := a.ticket
			if t.err != nil {
				yield(event(wire.TurnFailed, t.answer.Session, ProblemOf(t.err)), nil)
				return
			}
			yield(event(wire.TurnCompleted, t.answer.Session, t.answer), nil)
			return
		}
	}
}

// accept accepts a message. The ticket signals when it is durable and when it is answered.
func (g *lanes) accept(ctx context.Context, id firn.ID, t wire.Turn) (*ticket, error) {
	ticket, _, err := g.acceptFrom(ctx, askerOf(ctx), id, t, messageSource{})
	return ticket, err
}

// messageSource is the origin of a message: the channel, where empty means that of the
// session's key, and the chat type, empty if unknown.
type messageSource struct{ channel, chat string }

// acceptFrom is like accept, for a given asker and source. It also reports whether the
// message had been accepted before.
func (g *lanes) acceptFrom(ctx context.Context, who Asker, id firn.ID, t wire.Turn, from messageSource) (_ *ticket, repeated bool, err error) {
	setup, channel := g.setup.Load(), from.channel
	if channel == "" && len(setup.Queues) > 0 {
		channel = g.channelOf(ctx, id)
	}
	mode := setup.queue(channel).Mode
	if t.Queue != "" {
		if mode, err = route.ParseQueueMode(t.Queue); err != nil {
			return nil, false, err
		}
	}
	if from.chat == "" && t.Sender != "" {
		from.chat = g.chatOf(ctx, id)
	}
	if t.CWD != "" && !firn.ValidDirectory(t.CWD) {
		return nil, false, errDirectory
	}
	if t.ClientTools != nil {
		if err := checkClientTools(t.ClientTools); err != nil {
			return nil, false, err
		}
	}
	name, err := g.access.answerer(ctx, id, t.Agent)
	if err != nil {
		return nil, false, err
	}
	if err := g.checkTerms(ctx, id, name, t.Terms); err != nil {
		return nil, false, err
	}
	approval, err := setup.approvalMode(name, t.Approve, who)
	if err != nil {
		return nil, false, err
	}
	w := waiting{ID: t.ID, Agent: name, Approve: approval, CWD: t.CWD, Text: t.Text, Images: t.Images, Sender: t.Sender, Chat: from.chat, Channel: channel, Mode: mode, Asker: who}
	if w.ID == "" {
		w.ID = firn.NewEntryID()
	}
	ticket := newTicket(w)
	ticket.terms = termsOf(t.Terms)
	ticket.ClientTools = setup.Terminal || t.ClientTools != nil
	if t.ClientTools != nil {
		ticket.tools = newLease(t.ClientTools, id, who)
	}
	ticket.answer.Session, ticket.trace = id, trace.FromContext(ctx)
	resumes := t.Text == "" && len(t.Images) == 0
	if resumes {
		ticket.apply(eventResume)
	}
	if t.ID != "" && !resumes {
		return g.acceptNamed(ctx, id, ticket)
	}
	return ticket, false, g.enter(ctx, id, ticket)
}

// chatOf returns "direct" if the session's key is of a direct conversation.
func (g *lanes) chatOf(ctx context.Context, id firn.ID) string {
	h, err := g.header(ctx, id)
	if k, parsed := route.Parse(h.Key); err != nil || parsed != nil || k.Kind() != route.KindDirect {
		return ""
	}
	return string(route.ChatDirect)
}

// enter adds a ticket to the lane of its session, after recovered messages.
func (g *lanes) enter(ctx context.Context, id firn.ID, t *ticket) error {
	if _, err := g.recoverSession(ctx, id); err != nil {
		return err
	}
	return g.queue(ctx, id, t)
}

// queue adds a ticket to the lane of its session.
func (g *lanes) queue(ctx context.Context, id firn.ID, t *ticket) error {
	for {
		l, err := g.lane(id)
		if err != nil {
			return err
		}
		entered, err := l.enter(ctx, t)
		g.work.Done()
		if entered || err != nil {
			return err
		}
	}
}

// turnInput returns the input of the turn for a batch, including its bounds. A machine
// message is durable when it returns.
func (l *lane) turnInput(ctx context.Context, batch []*ticket) (in agent.Input, err error) {
	bounds, narrow, err := l.turnBounds(ctx, batch)
	first, last := batch[0], batch[len(batch)-1]
	if err == nil && first.Agent != "" {
		err = mayAnswer(bounds, first.Agent)
	}
	if err != nil {
		return in, err
	}
	if first.By != "" {
		if err := l.storeMachineMessage(ctx, first); err != nil {
			l.g.events.publish(event(wire.TurnFailed, l.id, ProblemOf(err)))
			return in, err
		}
	} else if !first.state().resumes() {
		all := make([]waiting, len(batch))
		for i, t := range batch {
			all[i] = t.waiting
		}
		l.pruneDropped(ctx)
		all[len(all)-1].CWD = l.g.changedDirectory(ctx, l.id, last.CWD)
		in = l.messageInput(all)
	}
	in.Bounds, in.Narrow, in.Terms = bounds, narrow, last.terms
	in.Approver = l.approver(batch)
	if l.tenure != nil {
		in.Since = &l.tenure.Since
	}
	in.Turns = l.g.turnsOf(ctx, l.id, last.Channel)
	return in, nil
}

// changedDirectory returns dir if it differs from the directory that the session has
// recorded, else "".
func (g *lanes) changedDirectory(ctx context.Context, id firn.ID, dir string) string {
	if dir == "" {
		return ""
	}
	if info, err := g.Info(ctx, id); err == nil && info.Directory() == dir {
		return ""
	}
	return dir
}

// answerOf adds the outcome of a turn to an answer.
func answerOf(a wire.Answer, o agent.Outcome) wire.Answer {
	a.Entry, a.Text, a.Silent, a.Stop = o.Entry, o.Text, o.Silent, string(o.Stop)
	a.Provider, a.Model, a.Rounds, a.Calls = o.Provider, o.Model, o.Rounds, o.Calls
	a.Pending = pending(o.Pending)
	a.Usage = wire.Counters{
		Input: o.Usage.Input, Output: o.Usage.Output, CacheRead: o.Usage.CacheRead, CacheWrite: o.Usage.CacheWrite,
		Cost: o.Usage.Cost.Total, Answers: o.Rounds,
	}
	return a
}

// translate converts a turn event to the protocol. It returns false for entries: followers
// of the log receive those.
func translate(id firn.ID, e agent.Event) (wire.Event, bool) {
	switch e := e.(type) {
	case agent.Delta:
		if e.Thinking {
			return event(wire.DeltaThinking, id, wire.Delta{Text: e.Text, Entry: e.Entry}), true
		}
		return event(wire.DeltaText, id, wire.Delta{Text: e.Text, Entry: e.Entry}), true
	case agent.ToolStarted:
		return event(wire.ToolStarted, id, wire.Tool{Call: e.Call, Name: e.Name, Arguments: e.Arguments}), true
	case agent.ApprovalRequested:
		return event(wire.ApprovalRequested, id, approvalOf(e.Question)), true
	case agent.ApprovalAnswered:
		return event(wire.ApprovalAnswered, id, approvalAnswerOf(e.Answer)), true
	case agent.ToolProgress:
		return event(wire.ToolProgress, id, wire.Tool{Call: e.Call, Name: e.Name, Text: e.Text}), true
	case agent.ToolDone:
		return event(wire.ToolCompleted, id, wire.Tool{Call: e.Call, Name: e.Name, State: string(e.State), Text: e.Text, Ms: e.Took.Milliseconds(), Diff: diffIn(e.Details)}), true
	case agent.WindowUsage:
		return event(wire.WindowUsage, id, wire.Usage{Tokens: e.Tokens, Window: e.Window, Estimated: e.Estimated, Level: string(agent.LevelOf(e.Tokens, e.Window))}), true
	case agent.CompactionStarted:
		return event(wire.CompactionStarted, id, wire.Compaction{Reason: e.Reason, Before: e.Tokens}), true
	case agent.CompactionDone:
		return event(wire.CompactionCompleted, id, compactionOf(e)), true
	case agent.Retrying:
		return event(wire.Retry, id, wire.Notice{Text: e.Text(time.Now())}), true
	case agent.Notice:
		return event(wire.NoticeEvent, id, wire.Notice{Text: e.Text, Level: string(e.Level)}), true
	case agent.CompactionDue:
		return event(wire.NoticeEvent, id, wire.Notice{Text: "the window is nearly full; compact the session"}), true
	}
	return wire.Event{}, false
}

// diffIn returns the diff in the details of a tool result; empty if there is none.
func diffIn(details json.RawMessage) string {
	var d struct {
		Diff string `json:"diff"`
	}
	if json.Unmarshal(details, &d) != nil {
		return ""
	}
	return d.Diff
}

func compactionOf(e agent.CompactionDone) wire.Compaction {
	c := wire.Compaction{ID: e.Entry, Before: e.Before, After: e.After, Count: e.Count, Strategy: e.Strategy}
	if e.Err != nil {
		c.Error = e.Err.Error()
	}
	if e.Failure != nil {
		c.Failure = e.Failure.Error()
	}
	return c
}
