package gateway

import (
	"context"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/gateway/maintenance"
	"firn.dev/internal/gateway/timer"
	"firn.dev/wire"
)

// StartJobs starts the scheduler for jobs and maintenance, which runs until the gateway is
// closed. If a job was due while no gateway was running, it runs once if the job has
// CatchUp; otherwise the missed run is logged. A gateway started for a single command does
// not call it.
func (g *inbox) StartJobs(ctx context.Context) error {
	if !g.addWork() {
		return errClosing()
	}
	err := g.loadLastRuns(ctx)
	if err == nil && !g.timer.Start() {
		err = fmt.Errorf("start jobs: already started: %w", firn.ErrInvalid)
	}
	if err != nil {
		g.work.Done()
		return err
	}
	go func() {
		defer g.work.Done()
		g.timer.Run(func() time.Duration { return g.startDue(g.now()) })
	}()
	return nil
}

// loadLastRuns reads from the log when each job ran last.
func (g *inbox) loadLastRuns(ctx context.Context) error {
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
		if len(runs) > 0 {
			err = g.timer.RanLast(j, setup.Zone, runs[0].Created)
		} else {
			err = g.timer.NeverRan(j, setup.Zone, now)
		}
		if err != nil {
			return fmt.Errorf("start job %s: %w", j.ID, err)
		}
	}
	return nil
}

// startDue starts everything that is due and returns the time to sleep.
func (g *inbox) startDue(now time.Time) time.Duration {
	if !g.leadsSchedule() {
		return timer.MaxSleep
	}
	setup := g.setup.Load()
	runs, sleep := g.timer.Due(setup.Jobs, setup.Zone, now)
	for _, r := range runs {
		if r.Missed {
			g.Log.Warn("skipping a job that was due while the gateway was down", "job", r.Job.ID, "due", r.Due)
			continue
		}
		g.work.Go(func() { g.runDue(setup, r) })
	}
	if m := setup.Maintenance; m.Enabled() && g.timer.StartRound(m.Every, now) {
		g.work.Go(func() { g.maintainDue(setup.Maintenance) })
	}
	return sleep
}

// leadsSchedule reports whether this gateway runs the schedule; of several gateways one
// does. When it takes over, it first reads the last runs from the log.
func (g *inbox) leadsSchedule() bool {
	if g.Peers == nil {
		return true
	}
	if !g.Peers.Leads() {
		g.led = false
		return false
	}
	if !g.led {
		if err := g.loadLastRuns(g.ctx); err != nil {
			g.Log.Warn("finding due jobs failed", "error", err)
			return false
		}
		g.led = true
	}
	return true
}

// runDue starts a run of a job that is due.
func (g *inbox) runDue(setup *Setup, r timer.Run) {
	_, err := g.startRun(asOwner(g.ctx), setup, r.Job)
	switch {
	case err == nil:
	case wire.KindOf(err) == wire.Busy:
		g.timer.Skip(r.Job.ID)
		g.Log.Warn("skipping a job that is still running", "job", r.Job.ID, "due", r.Due)
	default:
		g.Log.Error("running a job failed", "job", r.Job.ID, "due", r.Due, "error", err)
	}
}

// maintainDue runs maintenance and logs the result.
func (g *inbox) maintainDue(m maintenance.Settings) {
	defer g.timer.EndRound()
	report, err := g.maintainer.Maintain(g.ctx, m, false)
	switch {
	case err != nil:
		g.Log.Error("maintenance failed", "error", err)
	case len(report.Actions) == 0:
	case !report.Done && report.Removed+report.Erased > 0:
		g.Log.Warn("maintenance would remove sessions if it were enforced", "remove", report.Removed, "bytes", report.BytesBinned, "erase", report.Erased, "bytes_erased", report.BytesErased)
	default:
		g.Log.Info("sessions removed by maintenance", "removed", report.Removed, "archived", report.Archived, "bytes", report.BytesBinned, "erased", report.Erased, "bytes_erased", report.BytesErased, "failed", report.Failed, "spared", report.Spared)
	}
	for _, e := range report.Exceeded {
		g.Log.Warn("a maintenance limit is still exceeded", "setting", e.Setting, "agent", e.Agent, "limit", e.Limit, "is", e.Is, "bin", e.Bin, "kept", report.Kept)
	}
	if i := slices.IndexFunc(report.Actions, func(a wire.Action) bool { return a.Error != "" }); i >= 0 {
		g.Log.Warn("removing a session failed", "session", report.Actions[i].Session, "error", report.Actions[i].Error)
	}
}
