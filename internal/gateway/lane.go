package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/trace"
	"firn.dev/store"
	"firn.dev/wire"
)

// lane is where the turns of one session run, one at a time. It lives while
// there is something to do: a goroutine takes what waits, and ends when
// nothing is left.
type lane struct {
	g  *Gateway
	id firn.ID

	// writing is held while messages are stored, so that they wait in the order of
	// the log and none is forgotten; it is taken before mu, and mu is never held
	// while something is read or written.
	writing sync.Mutex
	mu      sync.Mutex
	// queue are those that wait, running are those that are being answered.
	queue, running []*ticket
	// stop stops the turn that is running, since is when it began.
	stop  context.CancelCauseFunc
	since time.Time
	// watched are the tokens whose revocation stops the turn, while watching.
	watched  []watchedToken
	watching bool
	// dropped are those that were too many; summarize says that a line of each
	// is told.
	dropped   []waiting
	summarize bool
	// named are those of them that the turn which runs names, and lines says that
	// a line of each is told there.
	named []waiting
	lines bool
	// last is the answer that was given last.
	last wire.Answer
	// tenure is that the session is ours, if there are other gateways. Only the
	// goroutine uses it.
	tenure *Tenure
	// pause is how long the goroutine waits before it tries again, after a turn
	// that could not begin; zero if the last one could.
	pause time.Duration
	// busy: the goroutine runs. gone: it has ended, and the lane is no longer
	// the session's.
	busy, gone bool
}

// ticket is a message that was accepted, and what comes of it.
type ticket struct {
	waiting
	// terms is how the turn is to be run; not in the log.
	terms agent.Terms
	// trace is the span of the request that brought it.
	trace trace.Context
	// repeated: the message was in the log before.
	repeated atomic.Bool
	// onward answers what was not answered, instead of saying something. amid: it
	// came while something else was to be answered. waited: it was put into the
	// log as one that waits, at the time came.
	onward, amid, waited bool
	// owed: it is in the log since before the lane began.
	owed bool
	came time.Time
	// durable: the message is in the log. It is for those who waited for accepted.
	durable bool
	// accepted is closed when the message is durable, done when it is answered.
	accepted, done chan struct{}
	// turn is the message that its turn goes by, which may be another if several
	// are answered together; nil before it begins. begun is when that was told,
	// as the hub counts; zero before.
	turn   atomic.Pointer[firn.EntryID]
	begun  atomic.Uint64
	once   sync.Once
	answer wire.Answer
	err    error
}

func newTicket(w waiting) *ticket {
	return &ticket{waiting: w, accepted: make(chan struct{}), done: make(chan struct{})}
}

// begins says that the turn that answers the message begins.
func (t *ticket) begins(turn firn.EntryID) {
	t.turn.Store(&turn)
	t.accept()
}

// accept says that the message is durable.
func (t *ticket) accept() { t.once.Do(func() { close(t.accepted) }) }

// end says what came of the message. That is told first: who waits for it to be
// durable only must not be told that it is when it is not.
func (t *ticket) end(err error) {
	t.err = err
	close(t.done)
	t.accept()
}

// failed reports whether it is known that nothing comes of the message.
func (t *ticket) failed() bool {
	select {
	case <-t.done:
		return t.err != nil
	default:
		return false
	}
}

// lane returns the lane of a session. The gateway is not let go before the
// caller says that its work is done.
func (g *Gateway) lane(id firn.ID) (*lane, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "try again in a moment"}
	}
	l, ok := g.lanes[id]
	if !ok {
		l = &lane{g: g, id: id}
		g.lanes[id] = l
	}
	g.work.Add(1)
	return l, nil
}

// enter takes a message in: it is durable when the ticket is accepted, and will
// be answered. It is false if the lane has ended meanwhile.
func (l *lane) enter(ctx context.Context, t *ticket) (bool, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	stored, decision, gone, err := l.decide(t)
	if gone || err != nil {
		return false, err
	}
	if stored != nil {
		if _, err := l.g.Store.Append(ctx, l.id, store.Any, *stored); err != nil {
			return false, err
		}
		t.accept()
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

// decide tells what is to be done with a message. One that comes while a turn is running
// is stored first: then it returns the entry.
func (l *lane) decide(t *ticket) (stored *firn.Entry, decision route.Decision, gone bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.amid = l.busy && !l.spent()
	if l.gone || !t.amid || t.onward || t.owed {
		return nil, decision, l.gone, nil
	}
	queue := l.g.setup.Load().queue(t.Channel)
	if t.Mode == route.QueueSteer && (!l.all(t.Asker.likes) || !l.allFor(t.Agent)) {
		t.Mode = route.QueueFollowup // a turn has the bounds of those whom it answers, and one agent
	}
	queue.Mode = t.Mode
	decision = queue.Decide(true, len(l.queue))
	if decision.Action == route.ActRefuse {
		return nil, decision, false, &wire.Problem{Kind: wire.Busy, Message: fmt.Sprintf("%d messages wait in session %s already", len(l.queue), l.id), Hint: "wait for an answer, or stop the turn"}
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

// spent reports whether the lane has given all its answers: it is about to end,
// and who has the answer need not wait for that. The caller holds its lock.
func (l *lane) spent() bool {
	return len(l.queue) == 0 && len(l.running) > 0 && !slices.ContainsFunc(l.running, unanswered)
}

// join takes a message in that was stored while a turn is running. The caller holds the
// lane's lock.
func (l *lane) join(t *ticket, decision route.Decision) {
	t.waited, t.came = true, time.Now()
	l.drop(decision)
	switch decision.Action {
	case route.ActSteer:
		// The turn that is running hears it. If it has just ended, the lane goes
		// on with what was not answered.
		t.onward = true
		if l.watching {
			l.heed(t.Asker, l.stop)
		}
	case route.ActInterrupt:
		if l.stop != nil {
			l.stop(ErrInterrupted)
		}
	}
	if !t.onward {
		l.g.events.tell(event(wire.TurnQueued, l.id, wire.Answer{Session: l.id, Message: t.ID, Queued: true}))
	}
}

// drop takes the oldest that wait out of the queue. They are in the log, and
// named by the next message that is said, so nobody waits for them again; of
// some a line is told with it.
func (l *lane) drop(d route.Decision) {
	for _, t := range l.queue[:d.Drop] {
		l.dropped = append(l.dropped, t.waiting)
		l.summarize = l.summarize || d.Summarize
		var err error = &wire.Problem{Kind: wire.Busy, Message: "the message was left out: too many waited", Hint: "say it again"}
		if d.Action == route.ActInterrupt {
			err = ErrInterrupted
		}
		t.end(err)
	}
	l.queue = l.queue[d.Drop:]
}

// start sees that the lane runs. The caller holds its lock.
func (l *lane) start() {
	if l.busy {
		return
	}
	l.busy = true
	l.g.work.Add(1)
	go l.run()
}

// run answers what waits until nothing is left.
func (l *lane) run() {
	defer l.g.work.Done()
	defer l.disown()
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

// leastPause and mostPause bound how long a lane waits before it tries again to say
// what was accepted.
const (
	leastPause = 250 * time.Millisecond
	mostPause  = 10 * time.Second
)

// next takes what is to be answered next: one message, or all that are to be
// collected. Nil ends the lane.
func (l *lane) next() []*ticket {
	l.settle()
	l.writing.Lock() // what is being stored belongs to this lane
	defer l.writing.Unlock()
	l.mu.Lock() // before that of the gateway
	defer l.mu.Unlock()
	l.running = nil
	if len(l.queue) == 0 || l.g.ctx.Err() != nil {
		for _, t := range l.queue {
			t.end(ErrDraining)
		}
		l.queue, l.busy, l.gone = nil, false, true
		l.g.mu.Lock()
		defer l.g.mu.Unlock()
		delete(l.g.lanes, l.id)
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

// settle waits until nobody has added for a while to what is to be collected.
// What has a turn of its own is not waited for, nor what has waited long enough
// while the last turn ran; and who never stops talking is answered all the
// same.
func (l *lane) settle() {
	for range 10 {
		rest := l.unsettled(l.g.setup.Load())
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

// unsettled is how long it must still be quiet before what waits is answered.
// Those behind the first that is not collected do not count.
func (l *lane) unsettled(setup *Setup) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var last time.Time
	var quiet time.Duration
	for _, t := range l.queue {
		if !t.collects() {
			break
		}
		if t.came.After(last) {
			last, quiet = t.came, *setup.queue(t.Channel).Debounce
		}
	}
	if last.IsZero() {
		return 0
	}
	return quiet - time.Since(last)
}

// answer runs a turn for a batch of messages, and settles their tickets. It is false
// if some of them are in the queue again.
func (l *lane) answer(batch []*ticket) bool {
	ctx, cancel := context.WithCancelCause(l.g.ctx)
	defer cancel(nil)
	l.mu.Lock()
	l.stop, l.since = cancel, l.g.now()
	l.named, l.lines = nil, false
	l.mu.Unlock()
	todo, err := l.sift(ctx, batch)
	if err == nil {
		todo, err = l.admit(ctx, todo)
	}
	if len(todo) == 0 && err == nil {
		return true
	}
	var answer wire.Answer
	if err == nil {
		unwatch := l.watch(todo, cancel)
		answer, err = l.alone(ctx, todo)
		unwatch()
	}
	if err != nil && batch[0].onward && batch[0].amid && errors.Is(err, firn.ErrInvalid) && l.last.Entry != "" {
		answer, err = l.last, nil // nothing was left to answer: the turn before heard it
	}
	if errors.Is(err, agent.ErrFenced) {
		l.lose()
		todo, err = l.putBack(todo), errTaken()
	}
	todo = l.putAside(todo, err)
	all := len(todo)
	if unsaved(err) && !slices.ContainsFunc(todo, begun) {
		todo = l.putOff(todo, err)
	}
	l.last = answer
	for _, t := range todo {
		l.conclude(t, answer, err)
	}
	return len(todo) == all
}

// unsaved reports whether a turn failed because nothing can be kept at the moment.
func unsaved(err error) bool {
	kind := wire.KindOf(err)
	return err != nil && (kind == wire.NotSaved || kind == wire.Unknown || kind == wire.Unavailable)
}

// begun reports whether the turn of a message has begun: then it was said.
func begun(t *ticket) bool { return t.turn.Load() != nil }

// putOff puts what was accepted before, and could not be said now, back into the
// queue: who was told that it is kept must not find that it was forgotten, nor
// that it was said after what came later. It returns the rest.
func (l *lane) putOff(batch []*ticket, err error) []*ticket {
	rest := l.putBack(batch)
	if len(rest) < len(batch) {
		l.g.Log.Warn("what was accepted cannot be said yet", "session", l.id, "messages", len(batch)-len(rest), "error", err)
		l.restoreDropped()
	}
	return rest
}

// restoreDropped takes back what a turn was to tell of those that were too many.
func (l *lane) restoreDropped() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped, l.summarize = slices.Concat(l.named, l.dropped), l.summarize || l.lines
}

// conclude tells who waits what came of a message.
func (l *lane) conclude(t *ticket, answer wire.Answer, err error) {
	t.answer, t.err = answer, err
	if a, ok := l.g.settled(l.id, t, err); ok {
		t.answer, t.err = a, nil
		t.repeated.Store(true)
	}
	t.answer.Message = t.ID
	t.end(t.err)
}

// alone runs one turn when nobody else does, here or in another process.
func (l *lane) alone(ctx context.Context, batch []*ticket) (wire.Answer, error) {
	if l.g.Peers != nil {
		return l.owning(ctx, batch)
	}
	if l.g.Enter == nil {
		return l.turn(ctx, batch)
	}
	last := batch[len(batch)-1]
	answer := wire.Answer{Session: l.id, Message: last.ID}
	leave, err := l.g.Enter(ctx, l.id, func() {
		waits := answer
		waits.Queued = true
		l.g.events.tell(event(wire.TurnQueued, l.id, waits))
	})
	if err != nil {
		return answer, err
	}
	defer leave()
	return l.turn(ctx, batch)
}

// turn runs one turn and tells what happens.
func (l *lane) turn(ctx context.Context, batch []*ticket) (answer wire.Answer, err error) {
	answer = wire.Answer{Session: l.id, Message: batch[len(batch)-1].ID}
	a, owner, err := l.agent(ctx, batch)
	if err != nil {
		return answer, err
	}
	answer.Agent = nameOf(a)
	ctx, end := l.span(ctx, a, batch)
	defer func() { end(answer, err) }()
	defer l.g.events.over(l.id)
	in, err := l.begin(ctx, batch)
	if err != nil {
		return answer, err
	}
	in.Owner = owner
	for e, err := range a.Run(l.withTurn(ctx, a.Name, batch), l.id, in) {
		if err != nil {
			if given, ok := l.given(ctx, batch, err); ok {
				return given, nil
			}
			if !errors.Is(err, agent.ErrFenced) { // else somebody goes on with it
				l.g.events.tell(event(wire.TurnFailed, l.id, ProblemOf(err)))
			}
			return answer, err
		}
		switch e := e.(type) {
		case agent.Started:
			for _, t := range batch {
				t.repeated.Store(e.Repeated)
				t.begins(answer.Message)
			}
			told := l.g.events.tell(event(wire.TurnStarted, l.id, answer))
			for _, t := range batch {
				t.begun.Store(told)
			}
		case agent.Finished:
			answer = answerOf(answer, e.Outcome)
			l.g.events.tell(event(wire.TurnCompleted, l.id, answer))
		case agent.CompactionStarted:
			l.restate(ctx)
			l.g.events.happens(l.id, e)
		default:
			l.g.events.happens(l.id, e)
		}
	}
	return answer, nil
}

// given is the answer that a message has already, if that is why its turn failed:
// it was sent before, and its name tells nothing of when.
func (l *lane) given(ctx context.Context, batch []*ticket, err error) (wire.Answer, bool) {
	if !errors.Is(err, firn.ErrConflict) || len(batch) != 1 || batch[0].onward {
		return wire.Answer{}, false
	}
	answer, ok, err := l.g.answerTo(ctx, l.id, batch[0].ID, batch[0].ID)
	if ok = ok && err == nil; ok {
		batch[0].repeated.Store(true)
	}
	return answer, ok
}

// forgetSaid takes those out of what was dropped here that another gateway has said
// meanwhile: they were not left out.
func (l *lane) forgetSaid(ctx context.Context) {
	if l.g.Peers == nil {
		return
	}
	l.mu.Lock()
	dropped := l.dropped
	l.mu.Unlock()
	var said []firn.EntryID
	for _, w := range dropped {
		if _, _, logged, _, err := l.g.given(ctx, l.id, w.ID); err == nil && logged {
			said = append(said, w.ID)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped = slices.DeleteFunc(l.dropped, func(w waiting) bool { return slices.Contains(said, w.ID) })
}

// input is what a turn begins with: messages, and what there is to tell of
// those that were too many.
func (l *lane) input(all []waiting) agent.Input {
	l.mu.Lock()
	dropped, told := l.dropped, slices.Clone(l.dropped)
	told = slices.DeleteFunc(told, func(w waiting) bool { return !l.summarize || !w.Asker.likes(all[0].Asker) })
	l.named, l.lines = dropped, l.summarize
	l.dropped, l.summarize = nil, false
	l.mu.Unlock()
	last := all[len(all)-1]
	return agent.Input{Parts: together(all, told), ID: last.ID, Extra: last.extra(slices.Concat(dropped, all))}
}

// laneOf is the lane of a session; nil if it has none.
func (g *Gateway) laneOf(id firn.ID) *lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lanes[id]
}

// running reports whether a turn of the session is running.
func (g *Gateway) running(id firn.ID) bool { return g.laneOf(id) != nil }
