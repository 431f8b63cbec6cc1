package gateway

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/timer"
	"firn.dev/internal/gateway/timer/timertest"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

func nightly(change func(*timer.Job)) func(*Setup) {
	return func(s *Setup) {
		j := timer.Job{ID: "nightly", Schedule: "30 2 * * *", Message: "look around", Enabled: true}
		if change != nil {
			change(&j)
		}
		s.Jobs = []timer.Job{j}
	}
}

const nightlyKey = "agent:main:cron:nightly"

// TestJobOverClockChanges runs a daily job across daylight saving changes.
func TestJobOverClockChanges(t *testing.T) {
	for _, c := range timertest.Changes {
		t.Run(c.Zone+" "+c.Day, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				zone := timertest.InZone(t, c.Zone)
				day, err := time.ParseInLocation(time.DateOnly, c.Day, zone)
				if err != nil {
					t.Fatal(err)
				}
				y, m, d := day.Date()
				begin := time.Date(y, m, d-1, 12, 0, 0, 0, zone)
				schedules := []string{"30 2 * * *", "15 0 * * *", "0 3 * * *", "30 1 * * *", "45 23 * * *"}
				o := newJobGateway(t, inMemory(), begin, func(s *Setup) {
					for i, expr := range schedules {
						s.Jobs = append(s.Jobs, timer.Job{ID: string(rune('a' + i)), Schedule: expr, Zone: zone, Message: "x", Enabled: true})
					}
				}).start()
				o.pass(time.Date(y, m, d+2, 12, 0, 0, 0, zone).Sub(begin))
				for i, expr := range schedules {
					seen := make(map[string]int)
					for _, run := range o.of("agent:main:cron:" + string(rune('a'+i))) {
						seen[run.Created.In(zone).Format(time.DateOnly)]++
					}
					for _, day := range []int{d, d + 1} {
						if n := seen[time.Date(y, m, day, 12, 0, 0, 0, zone).Format(time.DateOnly)]; n != 1 {
							t.Errorf("%s ran %d times on day %d: %v", expr, n, day, seen)
						}
					}
				}
				o.close()
			})
		})
	}
}

// TestJobMessageIsAMachineMessage checks that the message of a job is recorded as a machine
// message, does not count as user activity, and reaches the model.
func TestJobMessageIsAMachineMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC), nightly(func(j *timer.Job) { j.Model = "scripted/other" })).start()
		before := o.job("nightly")
		if want := time.Date(2026, 5, 1, 2, 30, 0, 0, time.UTC); !before.Next.Equal(want) || !before.Last.IsZero() || before.Key != nightlyKey {
			t.Errorf("before it ran it is %+v", before)
		}
		o.pass(time.Hour)
		after := o.job("nightly")
		if after.Last.Format("15:04") != "02:30" || after.Runs != 1 || after.Running || after.Session == "" || after.Next.Day() != 2 {
			t.Errorf("after it ran it is %+v", after)
		}
		id := after.Session
		if got := spoken(t, o.st, id); got != "cron:nightly: look around\nassistant: done: look around" {
			t.Errorf("the log is:\n%s", got)
		}
		times, err := o.lifetimes(t.Context(), id)
		if err != nil || !times.Interaction.IsZero() {
			t.Errorf("the last user message was at %s, %v", times.Interaction, err)
		}
		path, err := o.Path(t.Context(), id)
		if err != nil || path.Chosen.Model != "other" || path.State.Model == "" {
			t.Errorf("the model is %q, %v", path.Chosen.Model, err)
		}
		if title := o.of(nightlyKey)[0].Title; title != "nightly 2026-05-01 02:30:00" {
			t.Errorf("the run is called %q", title)
		}
		o.close()
	})
}

// TestJobRunsAreIndependent checks that runs are independent of each other.
func TestJobRunsAreIndependent(t *testing.T) {
	for name, make := range map[string]func(t *testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return inMemory() },
		"files": func(t *testing.T) store.Store {
			st, err := filestore.Open(t.TempDir(), filestore.Options{Sync: filestore.SyncNever})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			return st
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := make(t)
			o := newJobGateway(t, st, time.Now(), nightly(func(j *timer.Job) { j.Keep = 2 }))
			var ends []firn.Pos
			for range 3 {
				out, err := o.RunJob(t.Context(), "nightly")
				if err != nil {
					t.Fatal(err)
				}
				for o.running(out.Session) {
					runtime.Gosched()
				}
				o.ahead.Add(int64(time.Second))
				all := o.of(nightlyKey)
				ends = append(ends, all[len(all)-1].End)
			}
			o.close()
			all := o.of(nightlyKey)
			for i, info := range all {
				if info.End != ends[i] {
					t.Errorf("run %d was changed later", i)
				}
				if got := spoken(t, st, info.ID); got != "cron:nightly: look around\nassistant: done: look around" {
					t.Errorf("run %d has:\n%s", i, got)
				}
				if want := i == 0; info.Archived != want {
					t.Errorf("run %d is archived: %v", i, info.Archived)
				}
			}
			if len(all) != 3 {
				t.Errorf("there are %d runs", len(all))
			}
		})
	}
}

// TestMissedRuns stops the gateway repeatedly while a job is due.
func TestMissedRuns(t *testing.T) {
	for name, c := range map[string]struct {
		catchUp bool
		runs    int
		missed  int
	}{
		"made up for once": {true, 2, 0},
		"left out":         {false, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := inMemory()
				set := nightly(func(j *timer.Job) { j.CatchUp = c.catchUp })
				begin := time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC)
				o := newJobGateway(t, st, begin, set).start()
				o.pass(time.Hour)
				o.close()
				o = newJobGateway(t, st, begin.AddDate(0, 0, 5), set).start()
				o.pass(10 * time.Minute)
				if n := len(o.of(nightlyKey)); n != c.runs {
					t.Errorf("it ran %d times, want %d", n, c.runs)
				}
				if n := o.job("nightly").Missed; n != c.missed {
					t.Errorf("it was missed %d times, want %d", n, c.missed)
				}
				if reported := strings.Contains(o.logged(), "skipping a job"); reported != (c.missed > 0) {
					t.Errorf("the log is:\n%s", o.logged())
				}
				o.pass(time.Hour) // the next run is regular
				if n := len(o.of(nightlyKey)); n != c.runs+1 {
					t.Errorf("later it ran %d times, want %d", n, c.runs+1)
				}
				o.close()
			})
		})
	}
}

// TestNewJobHasNoMissedRuns checks that a job that never ran has no missed runs.
func TestNewJobHasNoMissedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), nightly(func(j *timer.Job) { j.CatchUp = true })).start()
		o.pass(time.Hour)
		if n := len(o.of(nightlyKey)); n != 0 {
			t.Errorf("it ran %d times", n)
		}
		o.close()
	})
}

// TestNoOverlap checks that runs that are due during a blocked run are skipped and counted.
func TestNoOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Date(2026, 5, 1, 2, 59, 0, 0, time.UTC), nightly(func(j *timer.Job) { j.Schedule = "@hourly" })).start()
		release := o.block()
		o.pass(3 * time.Hour)
		if j := o.job("nightly"); j.Runs != 1 || !j.Running || j.Skipped != 2 {
			t.Errorf("while it runs it is %+v", j)
		}
		if _, err := o.RunJob(t.Context(), "nightly"); wire.KindOf(err) != wire.Busy {
			t.Errorf("running it meanwhile: %v", err)
		}
		release()
		o.pass(time.Hour)
		if j := o.job("nightly"); j.Runs != 2 || j.Running || j.Skipped != 2 || j.Error != "" {
			t.Errorf("afterwards it is %+v", j)
		}
		o.close()
	})
}

// TestJobTimeout stops a run that takes too long.
func TestJobTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Date(2026, 5, 1, 2, 29, 0, 0, time.UTC), nightly(func(j *timer.Job) { j.Timeout = 10 * time.Minute })).start()
		o.block()
		o.pass(9 * time.Minute)
		if j := o.job("nightly"); !j.Running {
			t.Errorf("too early it is %+v", j)
		}
		o.pass(3 * time.Minute)
		if j := o.job("nightly"); j.Running || !strings.Contains(j.Error, "stopped") {
			t.Errorf("too late it is %+v", j)
		}
		o.close()
	})
}

// TestRetention keeps some runs in the list and archives the others.
func TestRetention(t *testing.T) {
	for name, change := range map[string]func(*timer.Job){
		"by number": func(j *timer.Job) { j.Keep = 3 },
		"by age":    func(j *timer.Job) { j.Retention = 60 * time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newJobGateway(t, inMemory(), time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC), nightly(change)).start()
				o.pass(7 * 24 * time.Hour)
				if j := o.job("nightly"); j.Runs != 3 || j.Kept != 4 {
					t.Errorf("%d are listed, %d archived", j.Runs, j.Kept)
				}
				for i, info := range o.of(nightlyKey) {
					if info.Archived != (i < 4) {
						t.Errorf("run %d is archived: %v", i, info.Archived)
					}
				}
				o.close()
			})
		})
	}
}

// TestReloadJobs changes the jobs while the scheduler is running.
func TestReloadJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC), nil).start()
		change := func(jobs ...timer.Job) {
			setup := *o.setup.Load()
			setup.Jobs = jobs
			if err := o.Reload(setup); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		runs := func(want int) {
			t.Helper()
			if n := len(o.of(nightlyKey)); n != want {
				t.Errorf("it ran %d times, want %d", n, want)
			}
		}
		j := timer.Job{ID: "nightly", Schedule: "30 2 * * *", Message: "x", Enabled: true}
		o.pass(time.Minute)
		change(j)
		o.pass(time.Hour)
		runs(1)
		j.Schedule = "0 12 * * *" // already past
		change(j)
		o.pass(time.Hour)
		runs(1)
		o.pass(12 * time.Hour)
		runs(2)
		j.Enabled = false
		change(j)
		o.pass(48 * time.Hour)
		runs(2)
		j.Enabled, j.CatchUp = true, true // runs that were due while it was disabled were not missed
		change(j)
		o.pass(time.Hour)
		runs(2)
		change()
		o.pass(48 * time.Hour)
		runs(2)
		if all, err := o.Jobs(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("there are still %+v, %v", all, err)
		}
		o.close()
	})
}

// TestJobsRefused checks that invalid jobs are rejected.
func TestJobsRefused(t *testing.T) {
	good := timer.Job{ID: "a", Schedule: "@daily", Message: "x"}
	for name, jobs := range map[string][]timer.Job{
		"no schedule":   {{ID: "a", Message: "x"}},
		"no id":         {{Schedule: "@daily", Message: "x"}},
		"a bad id":      {{ID: "a\nb", Schedule: "@daily", Message: "x"}},
		"unknown agent": {{ID: "a", Schedule: "@daily", Message: "x", Agent: "nobody"}},
		"no message":    {{ID: "a", Schedule: "@daily", Message: " "}},
		"the same":      {good, good},
		"the same keys": {good, {ID: "A", Schedule: "@daily", Message: "x"}},
	} {
		o := newJobGateway(t, inMemory(), time.Now(), nil)
		setup := *o.setup.Load()
		setup.Jobs = jobs
		if err := o.Reload(setup); !errors.Is(err, firn.ErrInvalid) && !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		o.close()
	}
}

func TestRunJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Now(), nightly(func(j *timer.Job) { j.Enabled = false }))
		if _, err := o.RunJob(t.Context(), "daily"); wire.KindOf(err) != wire.NotFound {
			t.Errorf("a missing job: %v", err)
		}
		out, err := o.RunJob(t.Context(), "nightly")
		if err != nil || out.Key != nightlyKey || out.Message == "" {
			t.Errorf("the result is %+v, %v", out, err)
		}
		o.close() // waits for the run
		if got := spoken(t, o.st, out.Session); !strings.HasSuffix(got, "assistant: done: look around") {
			t.Errorf("the log is:\n%s", got)
		}
		if _, err := o.RunJob(t.Context(), "nightly"); wire.KindOf(err) != wire.Closing {
			t.Errorf("after the end: %v", err)
		}
		if err := o.StartJobs(t.Context()); wire.KindOf(err) != wire.Closing {
			t.Errorf("to start after the end: %v", err)
		}
	})
}

// TestJobFails checks that a run that cannot start is reported and not retried forever.
func TestJobFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC), nightly(func(j *timer.Job) { j.Model = "scripted/none" })).start()
		o.pass(time.Hour)
		if j := o.job("nightly"); j.Error == "" || j.Runs != 0 {
			t.Errorf("it is %+v", j)
		}
		if n := strings.Count(o.logged(), "running a job failed"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, o.logged())
		}
		o.close()
	})
}

// TestStartJobsOnce checks that no job runs before StartJobs, and that it can be called
// only once.
func TestStartJobsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newJobGateway(t, inMemory(), time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC), nightly(nil))
		o.pass(48 * time.Hour)
		if n := len(o.of(nightlyKey)); n != 0 {
			t.Errorf("it ran %d times before it was started", n)
		}
		o.start()
		if err := o.StartJobs(t.Context()); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("to start again: %v", err)
		}
		o.close()
	})
}

// TestRecoverMachine kills a gateway before it answers or stores a machine message.
func TestRecoverMachine(t *testing.T) {
	for name, entry := range map[string]func(waiting) firn.Entry{
		"said":    waiting.machineEntry,
		"waiting": func(w waiting) firn.Entry { e, _ := w.entry(); return e },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newJobGateway(t, inMemory(), time.Now(), nil)
				w := waiting{ID: firn.NewEntryID(), Text: "look", By: "cron:x", Mode: route.QueueFollowup}
				failed := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError, Error: "broke"})
				header := firn.Entry{Body: &firn.Header{Session: "s", Agent: "main"}}
				if _, err := o.st.Append(t.Context(), "s", store.Start, header, firn.UserText("hello"), failed, entry(w)); err != nil {
					t.Fatal(err)
				}
				if n, err := o.Recover(t.Context()); n != 1 || err != nil {
					t.Errorf("it continues with %d sessions, %v", n, err)
				}
				o.close()
				if got := spoken(t, o.st, "s"); !strings.Contains(got, "\ncron:x: look\nassistant: done:") || strings.Count(got, "cron:x") != 1 {
					t.Errorf("the log is:\n%s", got)
				}
				if n, err := o.pendingTickets(t.Context(), "s"); len(n) != 0 || err != nil {
					t.Errorf("%d are still owed, %v", len(n), err)
				}
			})
		})
	}
}
