package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/store"
	"firn.dev/wire"
)

// lane runs the turns of one session, one at a time. It exists while there is work: its
// goroutine takes messages from the queue and ends when the queue is empty.
type lane struct {
	g  *lanes
	id firn.ID

	// writing is held while messages are stored, so that the queue has the order of the log
	// and loses no message. It is acquired before mu. mu is never held during I/O.
	writing sync.Mutex
	mu      sync.Mutex
	// queue holds the waiting messages, running those being answered.
	queue, running []*ticket
	// stop cancels the running turn, startedAt is its start time.
	stop      context.CancelCauseFunc
	startedAt time.Time
	// watched are the tokens whose revocation cancels the turn. watching is set while a
	// turn is watched.
	watched  []watchedToken
	watching bool
	// dropped are messages removed from a full queue. If summarize is set, the next turn
	// includes a line for each.
	dropped   []waiting
	summarize bool
	// reported are the dropped messages that the running turn names. If reportLines is set,
	// it includes a line for each.
	reported    []waiting
	reportLines bool
	// named are the dropped messages that turns have named, or are about to.
	named map[firn.EntryID]bool
	// last is the most recent answer.
	last wire.Answer
	// tenure is the ownership of the session if there are other gateways. Only the
	// goroutine uses it.
	tenure *Tenure
	// pause is the delay before the next attempt after a turn that could not start; zero if
	// the last one started.
	pause time.Duration
	// busy is set while the goroutine runs. gone is set when it has ended and the lane no
	// longer belongs to the session.
	busy, gone bool
}

// lane returns the lane of a session, creating it if necessary. It adds to g.work; the
// caller must call Done.
func (g *lanes) lane(id firn.ID) (*lane, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "try again in a moment"}
	}
	l, ok := g.byID[id]
	if !ok {
		l = &lane{g: g, id: id}
		g.byID[id] = l
	}
	g.work.Add(1)
	return l, nil
}

// enter adds a message to the lane. The message is durable when the ticket is accepted, and
// will be answered. It returns false if the lane has ended in the meantime.
func (l *lane) enter(ctx context.Context, t *ticket) (bool, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	stored, decision, gone, err := l.decide(t)
	if gone || err != nil {
		return false, err
	}
	if stored != nil {
		if _, err := l.g.Store.Append(ctx, l.id, store.Any, *stored); err != nil {
			l.dropAgain(t)
			return false, err
		}
		t.apply(eventAccept)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if stored != nil {
		l.join(t, decision)
	}
	l.queue = append(l.queue, t)
	l.start()
	return true, nil
}

// dropAgain puts a message that was sent again and could not be stored back among the
// dropped ones.
func (l *lane) dropAgain(t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.wasDropped {
		l.dropped = append([]waiting{t.waiting}, l.dropped...)
	}
}

// decide determines how to handle a message. For a message that arrives during a turn it
// returns the entry to store first. A dropped message that was sent again is no longer
// named as dropped: no turn that starts while it is being stored may name it.
func (l *lane) decide(t *ticket) (stored *firn.Entry, decision route.Decision, gone bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if stored, decision, gone, err = l.decision(t); !gone && err == nil {
		before := len(l.dropped)
		l.dropped = slices.DeleteFunc(l.dropped, func(w waiting) bool { return w.ID == t.ID })
		t.wasDropped = len(l.dropped) < before
	}
	return stored, decision, gone, err
}

// decision is decide without its effect. The caller holds mu.
func (l *lane) decision(t *ticket) (stored *firn.Entry, decision route.Decision, gone bool, err error) {
	t.duringTurn = l.busy && !l.allAnswered()
	if l.named[t.ID] && t.state().place == placeNone {
		return nil, decision, l.gone, errDropped("try again in a moment") // then the log has it
	}
	if l.gone || !t.duringTurn || t.state().place != placeNone {
		return nil, decision, l.gone, nil
	}
	queue := l.g.setup.Load().queue(t.Channel)
	if t.Mode == route.QueueSteer && (!l.allAskers(t.Asker.sharesTurnWith) || !l.allFor(t.Agent) || !l.allApprove(t.Approve) || !l.allOfClient(t.lease())) {
		t.Mode = route.QueueFollowup // a turn has one agent, one approval mode, one workplace and the bounds of its askers
	}
	queue.Mode = t.Mode
	decision = queue.Decide(true, len(l.queue))
	if decision.Action == route.ActRefuse {
		return nil, decision, false, &wire.Problem{Kind: wire.Busy, Message: fmt.Sprintf("%d messages are already queued in session %s", len(l.queue), l.id), Hint: "wait for an answer, or stop the turn"}
	}
	var entry firn.Entry
	if decision.Action == route.ActSteer {
		entry = firn.NewEntry(&firn.Message{Role: firn.RoleUser, Parts: t.parts(), Time: l.g.now()})
		entry.ID, entry.Extra = t.ID, t.extra(nil)
	} else {
		entry, err = t.entry()
	}
	return &entry, decision, false, err
}

// allAnswered reports whether the lane has given all its answers and is about to end. The
// caller holds mu.
func (l *lane) allAnswered() bool {
	return len(l.queue) == 0 && len(l.running) > 0 && !slices.ContainsFunc(l.running, unanswered)
}

// join adds a message that was stored during a turn. The caller holds mu.
func (l *lane) join(t *ticket, decision route.Decision) {
	stored := eventQueue
	if decision.Action == route.ActSteer {
		// The running turn reads it from the log. If that turn has just ended, the lane
		// resumes with the unanswered message.
		stored = eventDeliver
	}
	t.join(time.Now(), stored)
	l.drop(decision)
	switch decision.Action {
	case route.ActSteer:
		if l.watching {
			l.watchToken(t.Asker, l.stop)
		}
	case route.ActInterrupt:
		if l.stop != nil {
			l.stop(ErrInterrupted)
		}
	}
	if stored == eventQueue {
		l.g.events.publish(event(wire.TurnQueued, l.id, wire.Answer{Session: l.id, Message: t.ID, Queued: true}))
	}
}

// drop removes the oldest messages from the queue. They are in the log, and the next
// message names them, so they are not queued again after a restart.
func (l *lane) drop(d route.Decision) {
	for _, t := range l.queue[:d.Drop] {
		l.dropped = append(l.dropped, t.waiting)
		l.summarize = l.summarize || d.Summarize
		err := errDropped("send it again")
		if d.Action == route.ActInterrupt {
			err = ErrInterrupted
		}
		t.finish(err)
	}
	l.queue = l.queue[d.Drop:]
}

// errDropped returns the problem of a message that was removed from a full queue.
func errDropped(hint string) error {
	return &wire.Problem{Kind: wire.Busy, Message: "the message was dropped: the queue was full", Hint: hint}
}

// start starts the goroutine unless it is running. The caller holds mu.
func (l *lane) start() {
	if l.busy {
		return
	}
	l.busy = true
	l.g.work.Add(1)
	go l.run()
}

// run answers messages until the queue is empty.
func (l *lane) run() {
	defer l.g.work.Done()
	defer l.releaseTenure()
	for {
		batch := l.next()
		if batch == nil {
			return
		}
		if l.answer(batch) {
			l.pause = 0
			continue
		}
		l.pause = min(max(2*l.pause, leastPause), mostPause)
		select {
		case <-time.After(l.pause):
		case <-l.g.ctx.Done():
		}
	}
}

// leastPause and mostPause bound the delay between attempts to start a turn.
const (
	leastPause = 250 * time.Millisecond
	mostPause  = 10 * time.Second
)

// next takes the next batch from the queue: one message, or all messages that are
// collected. It returns nil when the lane ends.
func (l *lane) next() []*ticket {
	l.waitForDebounce()
	l.writing.Lock() // a message that is being stored belongs to this lane
	defer l.writing.Unlock()
	l.mu.Lock() // acquired before the gateway's mu
	defer l.mu.Unlock()
	l.running = nil
	if len(l.queue) == 0 || l.g.ctx.Err() != nil {
		for _, t := range l.queue {
			t.finish(ErrDraining)
		}
		l.queue, l.busy, l.gone = nil, false, true
		l.g.mu.Lock()
		defer l.g.mu.Unlock()
		delete(l.g.byID, l.id)
		return nil
	}
	n := 1
	for n < len(l.queue) && l.queue[0].collectsWith(l.queue[n]) {
		n++
	}
	batch := l.queue[:n:n]
	l.queue, l.running = l.queue[n:], batch
	return batch
}

// waitForDebounce waits until no message to be collected has arrived for the debounce
// interval. Time that passed during the last turn counts. It waits at most ten times, so
// that a sender who never pauses is answered too.
func (l *lane) waitForDebounce() {
	for range 10 {
		rest := l.debounceLeft(l.g.setup.Load())
		if rest <= 0 {
			return
		}
		select {
		case <-time.After(rest):
		case <-l.g.ctx.Done():
			return
		}
	}
}

// debounceLeft returns the rest of the debounce interval. Messages after the first one that
// is not collected are ignored.
func (l *lane) debounceLeft(setup *Setup) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var last time.Time
	var quiet time.Duration
	for _, t := range l.queue {
		if !t.collects() {
			break
		}
		if at := t.joinedAt(); at.After(last) {
			last, quiet = at, *setup.queue(t.Channel).Debounce
		}
	}
	if last.IsZero() {
		return 0
	}
	return quiet - time.Since(last)
}

// answer runs a turn for a batch of messages and finishes their tickets. It returns false
// if some of them were put back into the queue.
func (l *lane) answer(batch []*ticket) bool {
	ctx, cancel := context.WithCancelCause(l.g.ctx)
	defer cancel(nil)
	l.mu.Lock()
	l.stop, l.startedAt = cancel, l.g.now()
	l.reported, l.reportLines = nil, false
	l.mu.Unlock()
	todo, err := l.acquireSession(ctx, batch)
	if err == nil {
		todo, err = l.dropRevoked(ctx, todo)
	}
	if len(todo) == 0 && err == nil {
		return true
	}
	var answer wire.Answer
	if err == nil {
		unwatch := l.watch(todo, cancel)
		answer, err = l.runExclusive(ctx, todo)
		unwatch()
	}
	if err != nil && batch[0].state().resumes() && batch[0].duringTurn && errors.Is(err, firn.ErrInvalid) && l.last.Entry != "" {
		answer, err = l.last, nil // nothing was left to answer: the previous turn read the message
	}
	if errors.Is(err, agent.ErrFenced) {
		l.voidTenure()
		todo, err = l.requeueStored(todo), errTaken()
	}
	todo = l.requeueRevoked(todo, err)
	all := len(todo)
	if unsaved(err) && !slices.ContainsFunc(todo, turnStarted) {
		todo = l.requeueUnsaved(todo, err)
	}
	l.last = answer
	for _, t := range todo {
		l.conclude(t, answer, err)
	}
	return len(todo) == all
}

// unsaved reports whether a turn failed because the store cannot write at the moment.
func unsaved(err error) bool {
	kind := wire.KindOf(err)
	return err != nil && (kind == wire.NotSaved || kind == wire.Unknown || kind == wire.Unavailable)
}

// requeueUnsaved puts accepted messages whose turn could not be stored back into the queue,
// so that they are neither lost nor reordered. It returns the rest.
func (l *lane) requeueUnsaved(batch []*ticket, err error) []*ticket {
	rest := l.requeueStored(batch)
	if len(rest) < len(batch) {
		l.g.Log.Warn("an accepted message cannot be processed yet", "session", l.id, "messages", len(batch)-len(rest), "error", err)
		l.restoreDropped()
	}
	return rest
}

// restoreDropped takes back the dropped messages that a turn was to report.
func (l *lane) restoreDropped() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped, l.summarize = slices.Concat(l.reported, l.dropped), l.summarize || l.reportLines
	for _, w := range l.reported {
		delete(l.named, w.ID)
	}
}

// conclude finishes the ticket of a message. If the log already has an answer, it returns
// that one.
func (l *lane) conclude(t *ticket, answer wire.Answer, err error) {
	if a, ok := l.g.existingAnswer(l.id, t, err); ok {
		answer, err = a, nil
		t.setRepeated()
	}
	t.answer = answer
	t.answer.Message = t.ID
	t.finish(err)
}

// runExclusive runs a turn while no other process runs one in the session.
func (l *lane) runExclusive(ctx context.Context, batch []*ticket) (wire.Answer, error) {
	if l.g.Peers != nil {
		return l.runOwned(ctx, batch)
	}
	if l.g.Enter == nil {
		return l.turn(ctx, batch)
	}
	last := batch[len(batch)-1]
	answer := wire.Answer{Session: l.id, Message: last.ID}
	leave, err := l.g.Enter(ctx, l.id, func() {
		waits := answer
		waits.Queued = true
		l.g.events.publish(event(wire.TurnQueued, l.id, waits))
	})
	if err != nil {
		return answer, err
	}
	defer leave()
	return l.turn(ctx, batch)
}

// turn runs one turn and publishes its events.
func (l *lane) turn(ctx context.Context, batch []*ticket) (answer wire.Answer, err error) {
	answer = wire.Answer{Session: l.id, Message: batch[len(batch)-1].ID}
	a, owner, err := l.agent(ctx, batch)
	if err != nil {
		return answer, err
	}
	answer.Agent = nameOf(a)
	ctx, end := l.span(ctx, a, batch)
	defer func() { end(answer, err) }()
	defer l.g.events.endTurn(l.id)
	in, err := l.turnInput(ctx, batch)
	if err != nil {
		return answer, err
	}
	in.Owner, in.Workplace = owner, l.workplaceOf(a, batch)
	for e, err := range a.Run(l.withTurn(ctx, a.Name, batch, in.Approver), l.id, in) {
		if err != nil {
			if given, ok := l.earlierAnswer(ctx, batch, err); ok {
				return given, nil
			}
			if !errors.Is(err, agent.ErrFenced) { // otherwise another gateway continues the turn
				l.g.events.publish(event(wire.TurnFailed, l.id, ProblemOf(err)))
			}
			return answer, err
		}
		switch e := e.(type) {
		case agent.Started:
			for _, t := range batch {
				t.start(answer.Message, e.Repeated)
			}
			seq := l.g.events.publish(event(wire.TurnStarted, l.id, answer))
			for _, t := range batch {
				t.setStartedSeq(seq)
			}
		case agent.Finished:
			answer = answerOf(answer, e.Outcome)
			l.g.events.publish(event(wire.TurnCompleted, l.id, answer))
		case agent.CompactionStarted:
			l.storeQueueAgain(ctx)
			l.g.events.publishTurn(l.id, e)
		default:
			l.g.events.publishTurn(l.id, e)
		}
	}
	return answer, nil
}

// earlierAnswer returns the existing answer of a message whose turn failed because the
// message is already in the log.
func (l *lane) earlierAnswer(ctx context.Context, batch []*ticket, err error) (wire.Answer, bool) {
	if !errors.Is(err, firn.ErrConflict) || len(batch) != 1 || batch[0].state().resumes() {
		return wire.Answer{}, false
	}
	answer, ok, err := l.g.answerTo(ctx, l.id, batch[0].ID, batch[0].ID)
	if ok = ok && err == nil; ok {
		batch[0].setRepeated()
	}
	return answer, ok
}

// pruneDropped removes dropped messages that another gateway has added to the log in the
// meantime.
func (l *lane) pruneDropped(ctx context.Context) {
	if l.g.Peers == nil {
		return
	}
	l.mu.Lock()
	dropped := slices.Clone(l.dropped)
	l.mu.Unlock()
	var inLog []firn.EntryID
	for _, w := range dropped {
		if _, _, logged, _, err := l.g.findAnswer(ctx, l.id, w.ID); err == nil && logged {
			inLog = append(inLog, w.ID)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped = slices.DeleteFunc(l.dropped, func(w waiting) bool { return slices.Contains(inLog, w.ID) })
}

// messageInput returns the input of a turn for messages, including lines about dropped
// ones.
func (l *lane) messageInput(all []waiting) agent.Input {
	l.mu.Lock()
	dropped, summarized := l.dropped, slices.Clone(l.dropped)
	summarized = slices.DeleteFunc(summarized, func(w waiting) bool { return !l.summarize || !w.Asker.sharesTurnWith(all[0].Asker) })
	l.reported, l.reportLines = dropped, l.summarize
	l.dropped, l.summarize = nil, false
	for _, w := range dropped {
		if l.named == nil {
			l.named = make(map[firn.EntryID]bool)
		}
		l.named[w.ID] = true
	}
	l.mu.Unlock()
	last := all[len(all)-1]
	return agent.Input{Parts: joinParts(all, summarized), ID: last.ID, Extra: last.extra(slices.Concat(dropped, all))}
}

// laneOf returns the lane of a session, or nil.
func (g *lanes) laneOf(id firn.ID) *lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.byID[id]
}

// allLanes returns the lanes of all sessions.
func (g *lanes) allLanes() []*lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.byID))
}

// running reports whether a turn of the session is running.
func (g *lanes) running(id firn.ID) bool { return g.laneOf(id) != nil }
