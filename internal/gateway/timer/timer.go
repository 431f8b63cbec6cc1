// Package timer knows what is due when: it decides, and whoever keeps it does.
//
// A [Timer] is asked which runs of which [Job] are due, is told how they went, and
// says how long to sleep. It looks at clocks on walls, which are put forward and
// back, stand still while a machine sleeps, and are set. What must outlive the
// process is not its business: whoever keeps it says when a job ran last.
package timer

import (
	"maps"
	"sync"
	"time"

	"firn.dev/wire"
)

// Timer knows what is due when: jobs, and rounds that are made again and again.
// It decides and does nothing itself. It rests until somebody starts it. Its
// methods may be called from many goroutines.
type Timer struct {
	mu     sync.Mutex
	states map[string]*jobState
	// round is when the latest round began, rounding that it has not ended.
	round    time.Time
	rounding bool
	// wake wakes whoever keeps the time, end ends it; nil before the start.
	wake, end chan struct{}
}

// jobState is what is known of a job while the gateway runs. What must outlive
// it is in the log.
type jobState struct {
	schedule Schedule
	// after is up to when it was looked whether the job was due, zero if that
	// was not done yet; next is when it is due after that, zero for never.
	after, next time.Time
	// skipped counts when it was due while it ran, missed when nobody was there.
	skipped, missed int
	// err is what went wrong with the last run.
	err string
}

const (
	// Nap is how long the timer sleeps at most. Timers do not hear of clocks that
	// are set and of machines that are put to sleep, so it looks at the clock.
	Nap = time.Minute
	// grace is how late a job may run. What is later was missed.
	grace = 2 * time.Minute
	// setBack is how far the clock must have been set back for times to count
	// that were there before. If it is less, they are the same times.
	setBack = time.Hour
)

// Start makes the timer ready to be woken; false if it was before.
func (t *Timer) Start() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wake != nil {
		return false
	}
	t.wake, t.end = make(chan struct{}, 1), make(chan struct{})
	return true
}

// Keep calls do whenever something may be due, which returns how long to sleep,
// until the timer is stopped. It must have been started.
func (t *Timer) Keep(do func() time.Duration) {
	for {
		alarm := time.NewTimer(do())
		select {
		case <-alarm.C:
		case <-t.wake:
			alarm.Stop()
		case <-t.end:
			alarm.Stop()
			return
		}
	}
}

// Rouse says that the jobs have changed.
func (t *Timer) Rouse() {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default: // it is awake, or was never started
	}
}

// Stop ends the keeping of time. What was begun goes on.
func (t *Timer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end != nil && !isClosed(t.end) {
		close(t.end)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// state is that of a job. The caller holds the lock.
func (t *Timer) state(id string) *jobState {
	if t.states == nil {
		t.states = make(map[string]*jobState)
	}
	s, ok := t.states[id]
	if !ok {
		s = &jobState{}
		t.states[id] = s
	}
	return s
}

// RanLast says when a job ran last: up to then it was looked whether it was due.
func (t *Timer) RanLast(j *Job, zone *time.Location, at time.Time) error {
	s, err := parseSchedule(j.Schedule, j.In(zone))
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	state := t.state(j.ID)
	state.schedule = s
	state.lookedUpTo(at)
	return nil
}

// NeverRan says that a job has not run yet. It is due from now on; if it was known
// before, somebody else kept the time until just now, and it is looked what they
// may have left: as far back as a job may run late.
func (t *Timer) NeverRan(j *Job, zone *time.Location, now time.Time) error {
	s, err := parseSchedule(j.Schedule, j.In(zone))
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	state, since := t.state(j.ID), now
	if state.schedule.text == s.text && state.after.Before(now) && !state.after.IsZero() {
		if since = now.Add(-grace); since.Before(state.after) {
			since = state.after
		}
	}
	state.schedule = s
	state.lookedUpTo(since)
	return nil
}

// Skip counts a run that was left out since the one before it was running.
func (t *Timer) Skip(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state(id).skipped++
}

// Ended notes how a run ended.
func (t *Timer) Ended(id string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state(id)
	s.err = ""
	if err != nil {
		s.err = err.Error()
	}
}

// Describe tells what is known of a job.
func (t *Timer) Describe(id string, out *wire.Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.states[id]; ok {
		out.Skipped, out.Missed, out.Error = s.skipped, s.missed, s.err
	}
}

// Run is a run of a job that is due, or was missed: then it is too late for it.
type Run struct {
	Job    Job
	Due    time.Time
	Missed bool
}

// Due finds the runs that are due of some jobs, those without a zone of their own
// in the one given, and how long to sleep until the next one. Other jobs are
// forgotten.
func (t *Timer) Due(jobs []Job, zone *time.Location, now time.Time) (runs []Run, sleep time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sleep = Nap
	known := make(map[string]bool)
	for _, j := range jobs {
		known[j.ID] = true
		s := t.state(j.ID)
		if !s.follows(j.Schedule, j.In(zone), now) || !j.Enabled {
			s.after = time.Time{} // when it is enabled it begins anew
			continue
		}
		at, do := s.look(now, j.CatchUp)
		switch do {
		case dueRunning:
			runs = append(runs, Run{Job: j, Due: at})
		case dueMissed:
			s.missed++
			runs = append(runs, Run{Job: j, Due: at, Missed: true})
		}
		if !s.next.IsZero() {
			sleep = min(sleep, max(s.next.Sub(now), time.Millisecond))
		}
	}
	maps.DeleteFunc(t.states, func(id string, _ *jobState) bool { return !known[id] })
	return runs, sleep
}

// dueVerdict says what to do with a job at a moment.
type dueVerdict int

const (
	dueNothing dueVerdict = iota
	dueRunning
	dueMissed
)

// look decides whether a job is due now: once, however often it was since it
// was looked. It returns for when it was due first.
func (s *jobState) look(now time.Time, catchUp bool) (time.Time, dueVerdict) {
	if s.after.Sub(now) > setBack {
		s.lookedUpTo(now)
	}
	at := s.next
	if at.IsZero() || now.Before(at) {
		return at, dueNothing
	}
	s.lookedUpTo(now)
	if now.Sub(at) <= grace || catchUp {
		return at, dueRunning
	}
	return at, dueMissed
}

// lookedUpTo notes up to when it was looked.
func (s *jobState) lookedUpTo(t time.Time) {
	s.after = t
	s.next, _ = s.schedule.next(t)
}

// follows sees that the state is that of a schedule, from now on if it was not
// before. It is false if that is none, which setups are checked for.
func (s *jobState) follows(expr string, zone *time.Location, now time.Time) bool {
	if !s.after.IsZero() && s.schedule.text == expr && s.schedule.zone.String() == zone.String() {
		return true
	}
	schedule, err := parseSchedule(expr, zone)
	if err != nil {
		return false
	}
	s.schedule = schedule
	s.lookedUpTo(now)
	return true
}

// BeginRound reports whether it is time for a round, of which there is one every so
// often, and takes it for begun. While one is under way there is no other.
func (t *Timer) BeginRound(every time.Duration, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	since := now.Sub(t.round)
	if every <= 0 || t.rounding || since >= 0 && since < every {
		return false
	}
	t.round, t.rounding = now, true
	return true
}

// EndRound says that the round is over.
func (t *Timer) EndRound() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rounding = false
}
