package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/trace"
	"firn.dev/wire"
)

// ticketPlace is the form in which the log has a message.
type ticketPlace uint8

const (
	// placeNone: the log does not have the message.
	placeNone ticketPlace = iota
	// placeResume: the request has no message. It continues an unanswered turn.
	placeResume
	// placeQueued: the lane has stored it as a queued entry.
	placeQueued
	// placeRecovered: it is a queued entry, and another gateway may have delivered it since.
	placeRecovered
	// placeDelivered: it is a message without an answer. The turn continues with it.
	placeDelivered
)

// ticketStage is how far a message is.
type ticketStage uint8

const (
	// stageWaiting: the message is not durable yet.
	stageWaiting ticketStage = iota
	// stageAccepted: the message is durable and will be answered.
	stageAccepted
	// stageStarted: its turn has started.
	stageStarted
	// stageAnswered and stageFailed are final.
	stageAnswered
	stageFailed
)

// ticketState is the state of a message. docs/life-of-a-message.md has a diagram.
type ticketState struct {
	place ticketPlace
	stage ticketStage
}

// ticketEvent is a change of the state.
type ticketEvent uint8

const (
	// eventResume: the request has no message of its own.
	eventResume ticketEvent = iota
	// eventQueue: the message was stored as a queued entry.
	eventQueue
	// eventRecover: the queued entry was read from the log, or may have been delivered by
	// another gateway that owned the session in the meantime.
	eventRecover
	// eventDeliver: the log has the message itself, without an answer.
	eventDeliver
	// eventAccept: the message is durable.
	eventAccept
	// eventStart: its turn has started.
	eventStart
	// eventAnswer and eventFail: the message has its outcome.
	eventAnswer
	eventFail
)

// after returns the state after an event. Events that are impossible in a state do not
// change it.
func (s ticketState) after(e ticketEvent) ticketState {
	if s.finished() {
		return s
	}
	switch e {
	case eventResume:
		if s.place == placeNone {
			s.place = placeResume
		}
	case eventQueue:
		if s.place == placeNone {
			s.place = placeQueued
		}
	case eventRecover:
		if s.place == placeNone || s.place == placeQueued {
			s.place = placeRecovered
		}
	case eventDeliver:
		s.place = placeDelivered
	case eventAccept:
		s.stage = max(s.stage, stageAccepted)
	case eventStart:
		s.stage = stageStarted
	case eventAnswer:
		s.stage = stageAnswered
	case eventFail:
		s.stage = stageFailed
	}
	return s
}

// finished reports whether the message has its outcome.
func (s ticketState) finished() bool { return s.stage >= stageAnswered }

// resumes reports whether the turn continues with what the log has, and adds no message.
func (s ticketState) resumes() bool { return s.place == placeResume || s.place == placeDelivered }

// inQueue reports whether the log has the message as a queued entry.
func (s ticketState) inQueue() bool { return s.place == placeQueued || s.place == placeRecovered }

// inLog reports whether the message is in the log, delivered or queued.
func (s ticketState) inLog() bool {
	return s.inQueue() || s.place == placeDelivered || s.stage == stageStarted
}

// ticket is an accepted message and its outcome.
type ticket struct {
	waiting
	// terms are the options of the turn. They are not in the log.
	terms agent.TurnOptions
	// tools connects the turn with the client that offered its tools; nil if none did. It
	// is guarded by mu.
	tools *toolLease
	// trace is the span of the request that carried the message.
	trace trace.Context
	// duringTurn is set if the message arrived while others were unanswered. saved is set
	// if it is a machine message that was stored at the start of its turn. The lane uses
	// them.
	duringTurn, saved bool
	// wasDropped is set if the message had been dropped from a full queue and was sent again.
	wasDropped bool
	// accepted is closed when the message is durable, done when it is answered.
	accepted, done chan struct{}
	// answer and err are the outcome. They may be read after done is closed.
	answer wire.Answer
	err    error

	// mu guards the following fields.
	mu      sync.Mutex
	current ticketState
	// queuedAt is the time at which the message was stored during a turn; else zero.
	queuedAt time.Time
	// repeated is set if the message was in the log before.
	repeated bool
	// turn is the message that identifies the turn, which may be another one if several are
	// answered together; empty before the turn starts. startedSeq is the hub's sequence
	// number of the start event; zero before.
	turn       firn.EntryID
	startedSeq uint64
}

func newTicket(w waiting) *ticket {
	return &ticket{waiting: w, accepted: make(chan struct{}), done: make(chan struct{})}
}

// apply changes the state. It closes done before accepted: a caller that waits only for
// durability must not take a failed message for a durable one.
func (t *ticket) apply(events ...ticketEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range events {
		was := t.current
		t.current = was.after(e)
		if !was.finished() && t.current.finished() {
			close(t.done)
		}
		if was.stage == stageWaiting && t.current.stage > stageWaiting {
			close(t.accepted)
		}
	}
}

// state returns the state.
func (t *ticket) state() ticketState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current
}

// join records that the message was stored during a turn.
func (t *ticket) join(now time.Time, e ticketEvent) {
	t.mu.Lock()
	t.queuedAt = now
	t.mu.Unlock()
	t.apply(e)
}

// joinedAt returns the time at which the message was stored during a turn; zero if it was
// not.
func (t *ticket) joinedAt() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queuedAt
}

// start records that the turn of the message has started.
func (t *ticket) start(turn firn.EntryID, repeated bool) {
	t.mu.Lock()
	t.turn, t.repeated = turn, repeated
	t.mu.Unlock()
	t.apply(eventStart)
}

// setStartedSeq records the sequence number of the start event.
func (t *ticket) setStartedSeq(seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.startedSeq = seq
}

// startedAs returns the message that identifies the turn and the sequence number of its
// start event; zero values before.
func (t *ticket) startedAs() (turn firn.EntryID, seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.turn, t.startedSeq
}

// setRepeated records that the message was in the log before, and wasRepeated reports it.
func (t *ticket) setRepeated() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.repeated = true
}

func (t *ticket) wasRepeated() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.repeated
}

// finish sets the outcome of the message, once.
func (t *ticket) finish(err error) {
	if answered(t) {
		return
	}
	t.err = err
	if err != nil {
		t.apply(eventFail)
	} else {
		t.apply(eventAnswer)
	}
}

// await waits until a message is answered, or only until it is durable.
func (t *ticket) await(ctx context.Context, id firn.ID, answered bool) (wire.Answer, error) {
	if !answered {
		select {
		case <-t.accepted:
		case <-ctx.Done():
			return wire.Answer{}, context.Cause(ctx)
		}
		select {
		case <-t.done:
			return t.answer, t.err
		default:
			return wire.Answer{Session: id, Message: t.ID, Queued: true}, nil
		}
	}
	select {
	case <-t.done:
		return t.answer, t.err
	case <-ctx.Done():
		return wire.Answer{}, context.Cause(ctx)
	}
}

// lease returns the lease of the client's tools; nil if there is none.
func (t *ticket) lease() *toolLease {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tools
}

// adoptLease gives a message that has not started yet, for example after a restart, the
// lease of the client that sent it again.
func (t *ticket) adoptLease(l *toolLease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tools == nil && t.ClientTools && l != nil && t.turn == "" && t.Asker == l.asker {
		t.tools = l
	}
}

// steered reports whether a message was steered into a running turn.
func (t *ticket) steered() bool { return t.state().resumes() && !t.joinedAt().IsZero() }

// collects reports whether a message may be answered together with others.
func (t *ticket) collects() bool { return t.Mode == route.QueueCollect && !t.state().resumes() }

// collectsWith reports whether two messages may be answered together. They must have the
// same bounds and the same agent.
func (t *ticket) collectsWith(other *ticket) bool {
	return t.collects() && other.collects() && t.Asker.sharesTurnWith(other.Asker) && t.Agent == other.Agent && t.Approve == other.Approve && t.lease().sameClient(other.lease())
}

// turnStarted reports whether the turn of a message has started.
func turnStarted(t *ticket) bool {
	turn, _ := t.startedAs()
	return turn != ""
}

// answered reports whether a message has its outcome, and unanswered that it has not.
func answered(t *ticket) bool { return t.state().finished() }

func unanswered(t *ticket) bool { return !answered(t) }

// anyTicket reports whether the state of any ticket meets a condition.
func anyTicket(all []*ticket, is func(ticketState) bool) bool {
	return slices.ContainsFunc(all, func(t *ticket) bool { return is(t.state()) })
}
