package gateway

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"firn"
	"firn/wire"
)

// timer knows what is due when: the jobs, and maintenance. It rests until
// somebody starts it.
type timer struct {
	mu     sync.Mutex
	states map[string]*jobState
	// maintained is when it was last looked what is to be cleared away,
	// maintaining that it is being looked.
	maintained  time.Time
	maintaining bool
	// led: this gateway does what is due, of several. Only who keeps the time
	// looks at it.
	led bool
	// wake wakes whoever keeps the time, end ends it; nil before the start.
	wake, end chan struct{}
}

// jobState is what is known of a job while the gateway runs. What must outlive
// it is in the log.
type jobState struct {
	schedule schedule
	// after is up to when it was looked whether the job was due, zero if that
	// was not done yet; next is when it is due after that, zero for never.
	after, next time.Time
	// skipped counts when it was due while it ran, missed when nobody was there.
	skipped, missed int
	// err is what went wrong with the last run.
	err string
}

const (
	// nap is how long the timer sleeps at most. Timers do not hear of clocks that
	// are set and of machines that are put to sleep, so it looks at the clock.
	nap = time.Minute
	// grace is how late a job may run. What is later was missed.
	grace = 2 * time.Minute
	// setBack is how far the clock must have been set back for times to count
	// that were there before. If it is less, they are the same times.
	setBack = time.Hour
)

// StartJobs begins to run jobs when they are due, and maintenance, until the
// gateway is closed. What was due since a job ran last, while no gateway was
// there, is made up for once if the job wants it, and else said in the log to
// be missed. A gateway that is there for one command only does not start them.
func (g *Gateway) StartJobs(ctx context.Context) error {
	if !g.attend() {
		return closing()
	}
	err := g.takeStock(ctx)
	if err == nil && !g.timer.start() {
		err = fmt.Errorf("start jobs: they were started already: %w", firn.ErrInvalid)
	}
	if err != nil {
		g.work.Done()
		return err
	}
	go func() {
		defer g.work.Done()
		g.keepTime()
	}()
	return nil
}

// takeStock finds out from the log when the jobs ran last.
func (g *Gateway) takeStock(ctx context.Context) error {
	setup, now := g.setup.Load(), g.now()
	for i := range setup.Jobs {
		j := &setup.Jobs[i]
		k, err := setup.jobKey(j)
		if err != nil {
			return err
		}
		runs, err := g.runs(ctx, k)
		if err != nil {
			return fmt.Errorf("start jobs: %w", err)
		}
		s, err := parseSchedule(j.Schedule, setup.zoneOf(j))
		if err != nil {
			return fmt.Errorf("start job %s: %w", j.ID, err)
		}
		last := now
		if len(runs) > 0 {
			last = runs[0].Created
		}
		g.timer.set(j.ID, s, last)
	}
	return nil
}

// keepTime does what is due until it is ended.
func (g *Gateway) keepTime() {
	for {
		alarm := time.NewTimer(g.doDue(g.now()))
		select {
		case <-alarm.C:
		case <-g.timer.wake:
			alarm.Stop()
		case <-g.timer.end:
			alarm.Stop()
			return
		}
	}
}

// doDue starts what is due, and returns how long to sleep.
func (g *Gateway) doDue(now time.Time) time.Duration {
	if !g.keepsTime() {
		return nap
	}
	setup := g.setup.Load()
	runs, sleep := g.timer.due(setup, now)
	for _, r := range runs {
		if r.missed {
			g.Log.Warn("a job was due while nobody was there, and is left out", "job", r.job.ID, "due", r.due)
			continue
		}
		g.work.Go(func() { g.runDue(setup, r) })
	}
	if g.timer.maintenanceDue(setup.Maintenance, now) {
		g.work.Go(func() { g.maintainDue(setup.Maintenance) })
	}
	return sleep
}

// keepsTime reports whether this gateway does what is due: of several one does.
// Who takes that over from another finds out from the log what it did last.
func (g *Gateway) keepsTime() bool {
	if g.Peers == nil {
		return true
	}
	if !g.Peers.Leads() {
		g.timer.led = false
		return false
	}
	if !g.timer.led {
		if err := g.takeStock(g.ctx); err != nil {
			g.Log.Warn("what is due cannot be found out", "error", err)
			return false
		}
		g.timer.led = true
	}
	return true
}

// runDue begins a run of a job that is due.
func (g *Gateway) runDue(setup *Setup, r dueRun) {
	_, err := g.startRun(g.ctx, setup, r.job)
	switch {
	case err == nil:
	case wire.KindOf(err) == wire.Busy:
		g.timer.skip(r.job.ID)
		g.Log.Warn("a job is due while it is running, and is left out", "job", r.job.ID, "due", r.due)
	default:
		g.Log.Error("a job could not be run", "job", r.job.ID, "due", r.due, "error", err)
	}
}

// start makes the timer ready to be woken; false if it was before.
func (t *timer) start() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wake != nil {
		return false
	}
	t.wake, t.end = make(chan struct{}, 1), make(chan struct{})
	return true
}

// rouse says that the setup has changed.
func (t *timer) rouse() {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default: // it is awake, or was never started
	}
}

// stop ends the keeping of time. What was begun goes on.
func (t *timer) stop() {
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
func (t *timer) state(id string) *jobState {
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

// set says up to when it was looked whether a job was due.
func (t *timer) set(id string, s schedule, after time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	state := t.state(id)
	state.schedule = s
	state.lookedUpTo(after)
}

// skip counts a run that was left out since the one before it was running.
func (t *timer) skip(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state(id).skipped++
}

// ended notes how a run ended.
func (t *timer) ended(id string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state(id)
	s.err = ""
	if err != nil {
		s.err = err.Error()
	}
}

// describe tells what is known of a job.
func (t *timer) describe(id string, out *wire.Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.states[id]; ok {
		out.Skipped, out.Missed, out.Error = s.skipped, s.missed, s.err
	}
}

// dueRun is a job that is due, or was and is too late for it.
type dueRun struct {
	job    Job
	due    time.Time
	missed bool
}

// due finds the jobs that are due, and how long to sleep until the next one.
func (t *timer) due(setup *Setup, now time.Time) (runs []dueRun, sleep time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sleep = nap
	known := make(map[string]bool)
	for _, j := range setup.Jobs {
		known[j.ID] = true
		s := t.state(j.ID)
		if !s.follows(j.Schedule, setup.zoneOf(&j), now) || !j.Enabled {
			s.after = time.Time{} // when it is enabled it begins anew
			continue
		}
		at, do := s.look(now, j.CatchUp)
		switch do {
		case dueRunning:
			runs = append(runs, dueRun{job: j, due: at})
		case dueMissed:
			s.missed++
			runs = append(runs, dueRun{job: j, due: at, missed: true})
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

// maintenanceDue reports whether it is time to look what is to be cleared
// away, and takes it for done.
func (t *timer) maintenanceDue(m MaintenanceSettings, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	since := now.Sub(t.maintained)
	if !m.wanted() || m.Every <= 0 || t.maintaining || since >= 0 && since < m.Every {
		return false
	}
	t.maintained, t.maintaining = now, true
	return true
}

// maintainDue looks what is to be cleared away, and says it in the log.
func (g *Gateway) maintainDue(m MaintenanceSettings) {
	defer func() {
		g.timer.mu.Lock()
		defer g.timer.mu.Unlock()
		g.timer.maintaining = false
	}()
	report, err := g.Maintain(g.ctx, m, false)
	switch {
	case err != nil:
		g.Log.Error("maintenance failed", "error", err)
	case len(report.Actions) == 0:
	case !report.Done:
		g.Log.Warn("there are sessions that would be cleared away if maintenance were enforced", "remove", report.Removed, "archive", report.Archived, "bytes", report.BytesBinned)
	default:
		g.Log.Info("sessions were put away", "removed", report.Removed, "archived", report.Archived, "bytes", report.BytesBinned, "failed", report.Failed, "spared", report.Spared)
	}
	if i := slices.IndexFunc(report.Actions, func(a wire.Action) bool { return a.Error != "" }); i >= 0 {
		g.Log.Warn("a session could not be put away", "session", report.Actions[i].Session, "error", report.Actions[i].Error)
	}
}
