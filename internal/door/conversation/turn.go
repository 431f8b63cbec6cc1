package conversation

import (
	"context"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// Listener receives the progress of a turn.
type Listener interface {
	// KeepAlive is called first, and then repeatedly while the turn is quiet.
	KeepAlive()
	// Entry receives the ID that the answer will have in the log, before its parts.
	Entry(id firn.EntryID)
	// Text and Think receive parts of the answer and of the reasoning. round is true if a
	// new answer starts.
	Text(piece string, round bool)
	Think(piece string)
}

// ToolListener is a listener that also receives the calls of the agent's own tools.
type ToolListener interface {
	Listener
	ToolStarted(call wire.Tool)
	ToolCompleted(call wire.Tool)
}

// How long to wait for the first part before the response is started, so that an error gets
// its own status, and how often a quiet stream sends a sign of life.
const (
	held      = 2 * time.Second
	heartbeat = 15 * time.Second
)

// ahead is the number of events buffered for a slow client.
const ahead = 256

// Turn is the state of one turn.
type Turn struct {
	to Listener
	// rounds is the text sent to the client per round; the last round is in progress.
	rounds []string
	// next is true if the next part starts a round; missed is true if parts of the current
	// round were lost.
	next, missed bool
	Answer       wire.Answer
}

// Text returns the text that was sent to the client.
func (t *Turn) Text() string { return joinRounds(t.rounds) }

// clientMessage returns everything that was sent to the client, as a message.
func (t *Turn) clientMessage() firn.Message {
	m := firn.Message{Role: firn.RoleAssistant}
	if text := t.Text(); text != "" {
		m.Parts = append(m.Parts, firn.Text{Text: text})
	}
	for _, call := range t.Answer.Pending {
		m.Parts = append(m.Parts, firn.ToolCall{ID: call.Call, Name: call.Name, Arguments: call.Arguments})
	}
	return m
}

// Run answers the pending messages of a session and reports the progress to a listener. If
// the client disconnects, the turn is stopped.
func (v *Request) Run(p *Placed, terms wire.TurnOptions, to Listener) (*Turn, error) {
	id := p.At.Session
	ctx, cancel := context.WithCancel(v.HTTP.Context())
	events := v.follow(ctx, p, terms)
	defer func() {
		cancel()
		for range events { // drain, so that the sender can finish
		}
	}()
	t := &Turn{to: to, next: true}
	quiet := time.NewTimer(held)
	defer quiet.Stop()
	for {
		select {
		case h, ok := <-events:
			if !ok {
				return t, v.stopAbandoned(id)
			}
			if h.err != nil {
				return t, v.turnError(p, t, h.err)
			}
			p.turnStarted()
			if h.event.Name == wire.ApprovalRequested {
				return t, approvalPending(id, h.event)
			}
			if t.handle(h.event) {
				return t, nil
			}
		case <-quiet.C:
			to.KeepAlive()
			quiet.Reset(heartbeat)
		case <-v.HTTP.Context().Done():
			return t, v.stopAbandoned(id)
		}
	}
}

// turnError handles a turn that could not be completed. If nothing was left to answer,
// another client's turn in a shared session has answered the message, and its answer is
// used.
func (v *Request) turnError(p *Placed, t *Turn, err error) error {
	if v.HTTP.Context().Err() != nil {
		return v.stopAbandoned(p.At.Session)
	}
	if !p.shared || wire.KindOf(err) != wire.Invalid {
		return err
	}
	found, look := v.AnswerTo(p.At.Session, p.Question)
	if look != nil || found.Answer == "" {
		return err
	}
	t.Answer = found.TurnAnswer(p.At.Session)
	t.flushRest()
	return nil
}

// turnEvent is an event of a turn, or the error that ended it.
type turnEvent struct {
	event wire.Event
	err   error
}

// follow runs a turn and returns its events, until ctx ends.
func (v *Request) follow(ctx context.Context, p *Placed, terms wire.TurnOptions) <-chan turnEvent {
	events := make(chan turnEvent, ahead)
	go func() {
		defer close(events)
		for e, err := range v.events(ctx, p, terms) {
			select {
			case events <- turnEvent{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

// stopTimeout limits the time to stop an abandoned turn.
const stopTimeout = 5 * time.Second

// stopAbandoned stops the turn of a client that disconnected.
func (v *Request) stopAbandoned(id firn.ID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.HTTP.Context()), stopTimeout)
	defer cancel()
	_, _ = v.Client.Stop(ctx, id) // the client is gone
	if cause := context.Cause(v.HTTP.Context()); cause != nil {
		return cause
	}
	return &wire.Problem{Kind: wire.Internal, Message: "the turn ended without a result"}
}

// handle processes an event and reports whether the turn is over.
func (t *Turn) handle(e wire.Event) bool {
	switch e.Name {
	case wire.DeltaText:
		delta := wire.DataOf[wire.Delta](e)
		t.to.Entry(delta.Entry)
		t.piece(delta.Text)
	case wire.DeltaThinking:
		delta := wire.DataOf[wire.Delta](e)
		t.to.Entry(delta.Entry)
		t.to.Think(delta.Text)
	case wire.ToolStarted, wire.ToolCompleted:
		t.next = true
		t.tool(e)
	case wire.Retry:
		t.next = true
	case wire.Gap:
		t.missed = true
	case wire.TurnCompleted:
		t.Answer = wire.DataOf[wire.Answer](e)
		t.to.Entry(t.Answer.Entry)
		t.flushRest()
		return true
	}
	return false
}

// tool reports a call to a listener of calls.
func (t *Turn) tool(e wire.Event) {
	to, ok := t.to.(ToolListener)
	switch {
	case !ok:
	case e.Name == wire.ToolStarted:
		to.ToolStarted(wire.DataOf[wire.Tool](e))
	default:
		to.ToolCompleted(wire.DataOf[wire.Tool](e))
	}
}

// piece sends a part of an answer.
func (t *Turn) piece(text string) {
	if text == "" || t.missed {
		return
	}
	if t.next {
		t.rounds = append(t.rounds, "")
	}
	t.to.Text(text, t.next && len(t.rounds) > 1)
	t.next = false
	t.rounds[len(t.rounds)-1] += text
}

// flushRest sends the part of the answer that was not streamed.
func (t *Turn) flushRest() {
	last := ""
	if n := len(t.rounds); n > 0 && !t.next {
		last = t.rounds[n-1]
	}
	missed := t.missed
	t.missed = false
	text := t.Answer.Text
	switch {
	case t.Answer.Silent || strings.TrimSpace(text) == "":
	case last == "":
		t.next = true
		t.piece(text)
	case missed && strings.HasPrefix(text, last):
		t.piece(text[len(last):])
	case missed:
		t.next = true
		t.piece(text)
	}
}

// Nop is the listener for a client that waits for the complete answer.
type Nop struct{}

// KeepAlive does nothing.
func (Nop) KeepAlive() {}

// Entry does nothing.
func (Nop) Entry(firn.EntryID) {}

// Text does nothing.
func (Nop) Text(string, bool) {}

// Think does nothing.
func (Nop) Think(string) {}
