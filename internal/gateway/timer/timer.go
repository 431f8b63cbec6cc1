// Package timer decides which jobs are due. The caller runs them.
//
// A [Timer] returns the due runs of each [Job] and the time to sleep, and records how runs
// ended. It handles clocks that are set, that change for daylight saving time and that stop
// while the machine is suspended. It stores nothing: the caller supplies the time of a
// job's last run.
package timer

import (
	"maps"
	"sync"
	"time"

	"firn.dev/wire"
)

// Timer decides when jobs and periodic rounds are due. It runs nothing itself and is idle
// until it is started. Its methods are safe for concurrent use.
type Timer struct {
	mu     sync.Mutex
	states map[string]*jobState
	// round is the start of the latest round; rounding reports whether it is still running.
	round    time.Time
	rounding bool
	// wake wakes Keep and end stops it; nil before the start.
	wake, end chan struct{}
}

// jobState is the state of a job in this process. Persistent state is in the log.
type jobState struct {
	schedule Schedule
	// after is the time up to which the schedule was checked, zero if it was not yet; next
	// is the next time the job is due after that, zero for never.
	after, next time.Time
	// skipped counts the times it was due while still running, missed those when no gateway
	// was running.
	skipped, missed int
	// err is the error of the last run.
	err string
}

const (
	// MaxSleep is the maximum sleep of the timer. Go timers do not notice clock changes and
	// suspended machines, so the clock is checked regularly.
	MaxSleep = time.Minute
	// grace is how late a job may run. A later run is missed.
	grace = 2 * time.Minute
	// setBack is how far the clock must have been set back before already passed times
	// count again.
	setBack = time.Hour
)

// Start makes the timer ready to be woken. It returns false if it was already started.
func (t *Timer) Start() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wake != nil {
		return false
	}
	t.wake, t.end = make(chan struct{}, 1), make(chan struct{})
	return true
}

// Run calls do whenever a job may be due, until the timer is stopped. do returns how long
// to sleep. The timer must have been started.
func (t *Timer) Run(do func() time.Duration) {
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

// Wake wakes the timer because jobs have changed.
func (t *Timer) Wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default: // it is awake already, or was never started
	}
}

// Stop stops the timer. Running jobs continue.
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

// state returns the state of a job. The caller must hold the lock.
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

// RanLast sets the time of a job's last run. The schedule counts as checked up to then.
func (t *Timer) RanLast(j *Job, zone *time.Location, at time.Time) error {
	s, err := parseSchedule(j.Schedule, j.In(zone))
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	state := t.state(j.ID)
	state.schedule = s
	state.setChecked(at)
	return nil
}

// NeverRan records that a job has not run yet, so it is due from now on. If the job was
// known before, another gateway kept the time until now; the schedule is then checked from
// the grace period on, for runs it may have missed.
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
	state.setChecked(since)
	return nil
}

// Skip counts a run that was skipped because the previous one was still running.
func (t *Timer) Skip(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state(id).skipped++
}

// Ended records how a run ended.
func (t *Timer) Ended(id string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state(id)
	s.err = ""
	if err != nil {
		s.err = err.Error()
	}
}

// Describe fills out with the state of a job.
func (t *Timer) Describe(id string, out *wire.Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.states[id]; ok {
		out.Skipped, out.Missed, out.Error = s.skipped, s.missed, s.err
	}
}

// Run is a run of a job that is due or was missed.
type Run struct {
	Job    Job
	Due    time.Time
	Missed bool
}

// Due returns the due runs of the given jobs and how long to sleep until the next one. zone
// applies to jobs without a time zone. Other jobs are forgotten.
func (t *Timer) Due(jobs []Job, zone *time.Location, now time.Time) (runs []Run, sleep time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sleep = MaxSleep
	known := make(map[string]bool)
	for _, j := range jobs {
		known[j.ID] = true
		s := t.state(j.ID)
		if !s.follows(j.Schedule, j.In(zone), now) || !j.Enabled {
			s.after = time.Time{} // it starts again when it is enabled
			continue
		}
		at, do := s.checkDue(now, j.CatchUp)
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

// dueVerdict is the action for a job.
type dueVerdict int

const (
	dueNothing dueVerdict = iota
	dueRunning
	dueMissed
)

// checkDue reports whether a job is due now: once, no matter how often it was due since the
// last check. It returns the first time it was due.
func (s *jobState) checkDue(now time.Time, catchUp bool) (time.Time, dueVerdict) {
	if s.after.Sub(now) > setBack {
		s.setChecked(now)
	}
	at := s.next
	if at.IsZero() || now.Before(at) {
		return at, dueNothing
	}
	s.setChecked(now)
	if now.Sub(at) <= grace || catchUp {
		return at, dueRunning
	}
	return at, dueMissed
}

// setChecked records the time up to which the schedule was checked.
func (s *jobState) setChecked(t time.Time) {
	s.after = t
	s.next, _ = s.schedule.next(t)
}

// follows makes sure that the state belongs to a schedule, starting from now if it did not
// before. It returns false if the schedule is invalid; configurations are checked for that.
func (s *jobState) follows(expr string, zone *time.Location, now time.Time) bool {
	if !s.after.IsZero() && s.schedule.text == expr && s.schedule.zone.String() == zone.String() {
		return true
	}
	schedule, err := parseSchedule(expr, zone)
	if err != nil {
		return false
	}
	s.schedule = schedule
	s.setChecked(now)
	return true
}

// StartRound reports whether the next periodic round is due, and starts it. Only one round
// runs at a time.
func (t *Timer) StartRound(every time.Duration, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	since := now.Sub(t.round)
	if every <= 0 || t.rounding || since >= 0 && since < every {
		return false
	}
	t.round, t.rounding = now, true
	return true
}

// EndRound records the end of the round.
func (t *Timer) EndRound() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rounding = false
}
