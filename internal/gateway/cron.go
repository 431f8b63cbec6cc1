package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/timer"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// causeCron is the reset cause of sessions started by jobs.
const causeCron route.Cause = "cron"

// Jobs lists the configured jobs in order.
func (g *inbox) Jobs(ctx context.Context) ([]wire.Job, error) {
	setup := g.setup.Load()
	list := make([]wire.Job, 0, len(setup.Jobs))
	for i := range setup.Jobs {
		one, err := g.describe(ctx, setup, &setup.Jobs[i])
		if err != nil {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
		list = append(list, one)
	}
	return list, nil
}

// describe returns the state of a job.
func (g *inbox) describe(ctx context.Context, setup *Setup, j *timer.Job) (wire.Job, error) {
	k, err := setup.jobKey(j)
	if err != nil {
		return wire.Job{}, err
	}
	zone := j.In(setup.Zone)
	out := wire.Job{
		ID: j.ID, Schedule: j.Schedule, Zone: zone.String(), Agent: k.Agent(), Key: k.String(),
		Message: j.Message, Enabled: j.Enabled, CatchUp: j.CatchUp,
	}
	runs, err := g.runs(ctx, k)
	if err != nil {
		return out, err
	}
	for i := range runs {
		if runs[i].Archived {
			out.Kept++
		} else {
			out.Runs++
		}
	}
	if len(runs) > 0 {
		out.Last, out.Session = runs[0].Created, runs[0].ID
		out.Running = g.lanes.running(runs[0].ID)
	}
	out.Next = j.Next(g.now(), zone)
	g.timer.Describe(j.ID, &out)
	return out, nil
}

// runs returns the sessions of a job, newest first. Sessions in the trash bin are not included.
func (g *inbox) runs(ctx context.Context, k route.Key) ([]store.Info, error) {
	var runs []store.Info
	for info, err := range g.Every(ctx, store.Query{Key: k.String()}) {
		if err != nil {
			return nil, fmt.Errorf("list the sessions of key %s: %w", k, err)
		}
		runs = append(runs, info)
	}
	slices.SortFunc(runs, func(a, b store.Info) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return runs, nil
}

// RunJob starts a job immediately, even if it is disabled. It returns when the run has
// started. A job that is already running is rejected.
func (g *inbox) RunJob(ctx context.Context, id string) (wire.Routed, error) {
	setup := g.setup.Load()
	i := slices.IndexFunc(setup.Jobs, func(j timer.Job) bool { return j.ID == id })
	if i < 0 {
		return wire.Routed{}, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("unknown job %q", view.Clip(id)), Hint: "jobs are set as [[cron]] in the settings"}
	}
	return g.startRun(ctx, setup, setup.Jobs[i])
}

// startRun starts a run of a job and finishes it in the background.
func (g *inbox) startRun(ctx context.Context, setup *Setup, j timer.Job) (wire.Routed, error) {
	k, err := setup.jobKey(&j)
	if err != nil {
		return wire.Routed{}, err
	}
	out := wire.Routed{Key: k.String()}
	if !g.addWork() {
		return out, errClosing()
	}
	unlock := g.locks.lock(out.Key)
	defer unlock()
	id, t, err := g.startJob(ctx, k, &j)
	if err != nil {
		g.work.Done()
		if wire.KindOf(err) != wire.Busy {
			g.timer.Ended(j.ID, err)
			err = fmt.Errorf("run job %s: %w", j.ID, err)
		}
		return out, err
	}
	out.Session, out.Message = id, t.ID
	go func() {
		defer g.work.Done()
		g.finishJob(k, &j, id, t)
	}()
	return out, nil
}

// startJob starts the session of a run and posts the job's message there. It fails if the
// previous run has not ended.
func (g *inbox) startJob(ctx context.Context, k route.Key, j *timer.Job) (firn.ID, *ticket, error) {
	keyed, err := g.keyed()
	if err != nil {
		return "", nil, err
	}
	if last, err := keyed.Lookup(ctx, k.String()); err == nil && g.lanes.running(last) {
		return "", nil, &wire.Problem{Kind: wire.Busy, Message: fmt.Sprintf("job %s is already running, in session %s", j.ID, last), Hint: "wait until it ends, or stop it"}
	}
	title := j.ID + " " + g.now().In(j.In(g.setup.Load().Zone)).Format("2006-01-02 15:04:05")
	id, err := g.startMachineSession(ctx, k, causeCron, title, j.Model)
	if err != nil {
		return "", nil, err
	}
	t, err := g.postMachineText(ctx, id, j.By(), j.Message, "")
	return id, t, err
}

// errClosing returns the problem for requests during shutdown.
func errClosing() error {
	return &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "try again in a moment"}
}

// finishJob waits for the end of a run, stops it on timeout, and archives old runs.
func (g *inbox) finishJob(k route.Key, j *timer.Job, id firn.ID, t *ticket) {
	var late <-chan time.Time
	if j.Timeout > 0 {
		timer := time.NewTimer(j.Timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-t.done:
	case <-late:
		g.Log.Warn("job run timed out; stopping it", "job", j.ID, "session", id, "timeout", j.Timeout)
		if _, err := g.lanes.Stop(g.ctx, id); err != nil {
			g.Log.Warn("stopping a job run failed", "job", j.ID, "session", id, "error", err)
		}
		<-t.done
	}
	g.timer.Ended(j.ID, t.err)
	if t.err != nil {
		g.Log.Warn("job run failed", "job", j.ID, "session", id, "error", t.err)
	} else {
		g.Log.Info("job run finished", "job", j.ID, "session", id)
	}
	if err := g.archiveOldRuns(g.ctx, k, j); err != nil {
		g.Log.Warn("archiving old job runs failed", "job", j.ID, "error", err)
	}
}

// archiveOldRuns archives the runs of a job that have passed their retention.
func (g *inbox) archiveOldRuns(ctx context.Context, k route.Key, j *timer.Job) error {
	if j.Keep <= 0 && j.Retention <= 0 {
		return nil
	}
	remover, ok := store.As[store.Remover](g.Store)
	if !ok {
		return fmt.Errorf("archive runs of job %s: not supported by the store: %w", j.ID, firn.ErrUnsupported)
	}
	runs, err := g.runs(ctx, k)
	if err != nil {
		return err
	}
	for _, info := range j.Outlived(g.now(), runs) {
		if g.lanes.running(info.ID) {
			continue
		}
		if err := remover.Archive(ctx, info.ID); err != nil {
			return fmt.Errorf("archive session %s: %w", info.ID, err)
		}
		g.events.publish(event(wire.SessionUpdated, info.ID, nil))
	}
	return nil
}
