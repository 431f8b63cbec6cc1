package cluster_test

import (
	"sync/atomic"
	"testing"
	"time"

	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/timer"
	"firn.dev/store"
)

// TestJobsMove kills the leading gateway when one job has run and another is about to be
// due. The next gateway runs the pending job once, even if it never ran before, and does
// not repeat the other.
func TestJobsMove(t *testing.T) {
	t.Parallel()
	o := space(t)
	var clock atomic.Int64
	set := func(hour, minute, second int) {
		clock.Store(time.Date(2026, 5, 1, hour, minute, second, 0, time.UTC).UnixNano())
	}
	set(12, 0, 30)
	jobs := func(g *gateway.Options) {
		g.Clock = func() time.Time { return time.Unix(0, clock.Load()) }
		g.Setup.Zone = time.UTC
		g.Setup.Jobs = []timer.Job{
			{ID: "run", Schedule: "1 12 * * *", Message: "run at one", Enabled: true},
			{ID: "due", Schedule: "2 12 * * *", Message: "due at two", Enabled: true},
		}
	}
	a := joinWith(t, o, short, jobs)
	for !a.cluster.Leads() {
		rest(t)
	}
	b := joinWith(t, o, short, jobs)
	for _, m := range []*member{a, b} {
		if err := m.gateway.StartJobs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	set(12, 1, 1)
	a.gateway.LeadershipChanged() // reads the clock
	if text := <-a.asked; text != "run at one" {
		t.Fatalf("received %q", text)
	}
	for runs(t, b, "run")[0].End < 4 { // until it has been answered
		rest(t)
	}
	set(12, 2, 10)                          // missed during the pause
	if err := a.store.Close(); err != nil { // as if it were killed: nothing is released
		t.Fatal(err)
	}
	if text := <-b.asked; text != "due at two" {
		t.Errorf("the next gateway received %q", text)
	}
	b.gateway.LeadershipChanged()
	b.leave()
	last := join(t, o, long)
	for _, job := range []string{"run", "due"} {
		if n := len(runs(t, last, job)); n != 1 {
			t.Errorf("job %s ran %d times", job, n)
		}
	}
	select {
	case text := <-a.asked:
		t.Errorf("the killed gateway received %q", text)
	case text := <-b.asked:
		t.Errorf("the next gateway also received %q", text)
	default:
	}
}

// runs returns the sessions of a job.
func runs(t *testing.T, m *member, job string) []store.Info {
	t.Helper()
	var all []store.Info
	for info, err := range m.store.List(t.Context(), store.Query{Key: "agent:main:cron:" + job}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info)
	}
	return all
}
