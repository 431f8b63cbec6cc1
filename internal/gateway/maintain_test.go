package gateway

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/gateway/maintenance"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

var today = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

const oneDay = 24 * time.Hour

func TestMaintenanceRefused(t *testing.T) {
	o := newJobGateway(t, inMemory(), time.Now(), nil)
	defer o.close()
	for _, m := range []maintenance.Settings{{PruneAfter: -1}, {MaxEntries: -1}, {MaxDiskBytes: -1}, {HighWater: 1.1}, {HighWater: -0.1}, {SubagentIdle: -1}, {ResetArchiveRetention: -1}} {
		if _, err := o.Maintain(t.Context(), m, true); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%+v: %v", m, err)
		}
		setup := *o.setup.Load()
		setup.Maintenance = m
		if err := o.Reload(setup); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

// shelf returns a gateway with sessions for maintenance.
func shelf(t *testing.T, st store.Store, at time.Time) *jobGateway {
	t.Helper()
	o := newJobGateway(t, st, at, func(s *Setup) {
		s.Agents["ops"] = &agent.Agent{Name: "ops", Store: st, Model: s.Agents["main"].Model, NoTitles: true}
	})
	put := func(id firn.ID, age time.Duration, header firn.Header, more ...firn.Entry) {
		t.Helper()
		header.Session = id
		if header.Agent == "" {
			header.Agent = "main"
		}
		entries := append([]firn.Entry{{Body: &header}, firn.NewEntry(firn.UserText("I am " + string(id)).Body)}, more...)
		for i := range entries {
			entries[i].Time = at.Add(-age)
		}
		if _, err := st.Append(t.Context(), id, store.Start, entries...); err != nil {
			t.Fatal(err)
		}
	}
	bind := func(key string, id firn.ID) {
		t.Helper()
		if err := st.(store.Keyed).Bind(t.Context(), key, id); err != nil {
			t.Fatal(err)
		}
	}
	text := firn.NewEntry(firn.UserText("keep me").Body)
	label := func(name string) firn.Entry { return firn.NewEntry(&firn.Label{Target: text.ID, Name: name}) }
	put("young", 2*time.Hour, firn.Header{})
	put("old", 100*oneDay, firn.Header{})
	put("pinned", 100*oneDay, firn.Header{}, text, label("pin"))
	put("unpinned", 90*oneDay, firn.Header{}, text, label("pin"), label(""))
	put("main-then", 200*oneDay, firn.Header{Key: "agent:main:main"})
	put("main-now", 100*oneDay, firn.Header{Key: "agent:main:main"})
	put("ada-then", 95*oneDay, firn.Header{Key: "agent:main:mail:direct:ada"})
	put("ada-now", 85*oneDay, firn.Header{Key: "agent:main:mail:direct:ada"})
	put("group", 300*oneDay, firn.Header{Key: "agent:main:mail:group:1"})
	put("fork", 3*time.Hour, firn.Header{ParentSession: "young"})
	put("child", 3*time.Hour, firn.Header{ParentSession: "young"})
	put("parent", 2*time.Hour, firn.Header{})
	put("kid", 3*time.Hour, firn.Header{ParentSession: "parent", Key: "agent:main:subagent:kid"})
	bind("agent:main:main", "main-now")
	bind("agent:main:mail:direct:ada", "ada-now")
	bind("agent:main:mail:group:1", "group")
	return o
}

func chosen(m wire.Maintenance) string {
	var names []string
	for _, a := range m.Actions {
		names = append(names, a.Do+" "+string(a.Session))
	}
	return strings.Join(names, ", ")
}

// all lists the sessions that are not in the trash bin.
func (o *jobGateway) all() []firn.ID {
	o.t.Helper()
	var ids []firn.ID
	for info, err := range o.Every(o.t.Context(), store.Query{}) {
		if err != nil {
			o.t.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	slices.Sort(ids)
	return ids
}

// overStores runs a test with each kind of store.
func overStores(t *testing.T, test func(t *testing.T, st store.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, inMemory()) })
	inFiles(t, test)
}

// inFiles runs a test with a file store, whose sessions have a size.
func inFiles(t *testing.T, test func(t *testing.T, st store.Store)) {
	t.Run("files", func(t *testing.T) {
		st, err := filestore.Open(t.TempDir(), filestore.Options{Sync: filestore.SyncNever})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(t, st)
	})
}

// TestMaintain plans, applies the plan, and reverts it.
func TestMaintain(t *testing.T) {
	overStores(t, func(t *testing.T, st store.Store) {
		o := shelf(t, st, time.Now())
		defer o.close()
		m := maintenance.Settings{PruneAfter: 50 * oneDay, SubagentIdle: time.Hour}
		before := o.all()
		const want = "remove ada-then, remove old, remove unpinned, archive kid"
		warned, err := o.Maintain(t.Context(), m, false)
		if err != nil || chosen(warned) != want || warned.Done || warned.Mode != "warn" {
			t.Errorf("warned of %s, %+v, %v", chosen(warned), warned, err)
		}
		if info, err := o.Info(t.Context(), "kid"); err != nil || !info.Archived {
			t.Errorf("the sub-agent at rest is %+v, %v", info, err)
		}
		if after := o.all(); !slices.Equal(before, after) {
			t.Errorf("nothing was to be removed, and there are %v", after)
		}
		if err := o.archive(t.Context(), "kid", false); err != nil {
			t.Fatal(err)
		}
		m.Enforce = true
		dry, err := o.Maintain(t.Context(), m, true)
		if err != nil || chosen(dry) != want || dry.Done || dry.Removed != 3 || dry.Archived != 1 || dry.Sessions != 13 || (dry.BytesBinned > 0) != (dry.Bytes > 0) {
			t.Errorf("without doing it: %s, %+v, %v", chosen(dry), dry, err)
		}
		if after := o.all(); !slices.Equal(before, after) {
			t.Errorf("nothing was to be done, and there are %v", after)
		}
		if p := dry.Protected; p["main"] != 2 || p["group"] != 1 || p["current"] != 1 || p["pinned"] != 1 {
			t.Errorf("out of reach: %v", p)
		}
		done, err := o.Maintain(t.Context(), m, false)
		if err != nil || chosen(done) != want || !done.Done || done.Removed != 3 || done.Archived != 1 || done.Failed+done.Spared != 0 {
			t.Errorf("done was %s, %+v, %v", chosen(done), done, err)
		}
		after := o.all()
		for _, id := range before {
			gone := strings.Contains(want, "remove "+string(id)+",")
			if slices.Contains(after, id) == gone {
				t.Errorf("%s exists: %v", id, !gone)
			}
		}
		if info, err := o.Info(t.Context(), "kid"); err != nil || !info.Archived {
			t.Errorf("the child is %+v, %v", info, err)
		}
		if again, err := o.Maintain(t.Context(), m, false); err != nil || len(again.Actions) != 0 {
			t.Errorf("once more: %s, %v", chosen(again), err)
		}
		for _, id := range []firn.ID{"ada-then", "old", "unpinned"} { // nothing was lost
			if _, err := o.Restore(t.Context(), id); err != nil {
				t.Errorf("take %s back: %v", id, err)
			}
			if got := spoken(t, st, id); !strings.HasPrefix(got, "user: I am "+string(id)) {
				t.Errorf("%s contains %q", id, got)
			}
		}
		if after := o.all(); !slices.Equal(before, after) {
			t.Errorf("after undoing it there are %v", after)
		}
	})
}

// TestMaintainSize checks the size budget.
func TestMaintainSize(t *testing.T) {
	inFiles(t, func(t *testing.T, st store.Store) {
		o := shelf(t, st, time.Now())
		defer o.close()
		look, err := o.Maintain(t.Context(), maintenance.Settings{}, true)
		if err != nil {
			t.Fatal(err)
		}
		m := maintenance.Settings{Enforce: true, MaxDiskBytes: look.Bytes - 1, HighWater: 0.85}
		done, err := o.Maintain(t.Context(), m, false)
		if err != nil || done.Removed == 0 {
			t.Fatalf("done was %+v, %v", done, err)
		}
		again, err := o.Maintain(t.Context(), m, false)
		if err != nil || len(again.Actions) != 0 || again.Bytes != look.Bytes-done.BytesBinned || again.Bytes > m.LowWater() {
			t.Errorf("of %d bytes are left %d, low water is %d: %s, %v", look.Bytes, again.Bytes, m.LowWater(), chosen(again), err)
		}
		if !strings.HasPrefix(chosen(done), "remove ada-then") {
			t.Errorf("the first removed was not a finished one: %s", chosen(done))
		}
	})
}

// TestMaintainAfter400Days sets the clock 400 days ahead: warn mode changes nothing, and open
// sessions are never touched.
func TestMaintainAfter400Days(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := shelf(t, inMemory(), time.Now())
		release := o.block()
		ticket, err := o.accept(t.Context(), "old", wire.Turn{Text: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		listener := o.events.listen("young")
		o.ahead.Store(int64(400 * oneDay))
		m := maintenance.Settings{PruneAfter: oneDay, MaxEntries: 1, MaxDiskBytes: 1, ResetArchiveRetention: oneDay, SubagentIdle: time.Hour}
		before := o.all()
		warned, err := o.Maintain(t.Context(), m, false)
		if err != nil || len(warned.Actions) == 0 {
			t.Errorf("warned of %+v, %v", warned, err)
		}
		if after := o.all(); !slices.Equal(before, after) {
			t.Errorf("a warning left %v", after)
		}
		m.Enforce = true
		if done, err := o.Maintain(t.Context(), m, false); err != nil || chosen(done) != chosen(warned) || done.Failed+done.Spared > 0 {
			t.Errorf("done was %s, warned of was %s, %v", chosen(done), chosen(warned), err)
		}
		want := []firn.ID{"ada-now", "group", "main-now", "main-then", "old", "pinned", "young"}
		if after := o.all(); !slices.Equal(after, want) {
			t.Errorf("there are %v, want %v", after, want)
		}
		release()
		<-ticket.done
		if ticket.err != nil {
			t.Errorf("the turn that ran ended with %v", ticket.err)
		}
		o.events.leave(listener)
		o.close()
	})
}

// TestMaintainChangesNoFiles runs maintenance ten times after 400 days, with the default
// settings and with limits in warn mode: no file is created, removed or changed. Sessions
// removed in enforce mode are restored byte for byte.
func TestMaintainChangesNoFiles(t *testing.T) {
	home := t.TempDir()
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	o := shelf(t, st, time.Now())
	defer o.close()
	before := filesOf(t, home)
	o.ahead.Store(int64(400 * oneDay))
	limits := maintenance.Settings{PruneAfter: oneDay, MaxEntries: 1, MaxDiskBytes: 1, ResetArchiveRetention: oneDay, SubagentIdle: time.Hour}
	for i := range 10 {
		m := limits
		if i%2 == 0 {
			m = maintenance.Settings{}
		}
		if done, err := o.Maintain(t.Context(), m, false); err != nil || done.Done {
			t.Fatalf("the result is %+v, %v", done, err)
		}
	}
	if after := filesOf(t, home); !maps.Equal(before, after) {
		t.Errorf("there are %d files of %d, or they have changed", len(after), len(before))
	}
	limits.Enforce = true
	done, err := o.Maintain(t.Context(), limits, false)
	if err != nil || done.Removed == 0 {
		t.Fatalf("with enforcement the result is %+v, %v", done, err)
	}
	for _, a := range done.Actions {
		if _, err := o.Restore(t.Context(), a.Session); err != nil {
			t.Fatal(err)
		}
	}
	after := filesOf(t, home)
	for name, text := range before {
		if strings.HasSuffix(name, ".jsonl") && after[name] != text {
			t.Errorf("%s was restored with %d bytes of %d, or others", name, len(after[name]), len(text))
		}
	}
}

// filesOf returns the contents of the files below a directory.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestMaintainSkipsSessionsUsedMeanwhile uses a session, or points a key at it, between plan
// and execution.
func TestMaintainSkipsSessionsUsedMeanwhile(t *testing.T) {
	for name, meanwhile := range map[string]func(o *jobGateway) error{
		"spoke": func(o *jobGateway) error {
			_, err := o.st.Append(o.t.Context(), "ada-then", store.Any, firn.NewEntry(firn.UserText("wait").Body))
			return err
		},
		"came back": func(o *jobGateway) error {
			return o.st.(store.Keyed).Bind(o.t.Context(), "agent:main:mail:direct:ada", "ada-then")
		},
		"listens": func(o *jobGateway) error { o.events.listen("ada-then"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			overStores(t, func(t *testing.T, st store.Store) {
				o := shelf(t, st, time.Now())
				defer o.close()
				all, err := o.retentionStates(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				report := wire.Maintenance{Done: true, Actions: maintenance.Plan(o.now(), all, maintenance.Settings{ResetArchiveRetention: 90 * oneDay})}
				if chosen(report) != "remove ada-then" {
					t.Fatalf("chosen: %s", chosen(report))
				}
				if err := meanwhile(o); err != nil {
					t.Fatal(err)
				}
				if err := o.enforce(t.Context(), all, &report); err != nil {
					t.Fatal(err)
				}
				countActions(&report)
				if report.Spared != 1 || report.Removed != 0 || !slices.Contains(o.all(), "ada-then") {
					t.Errorf("the result is %+v", report)
				}
			})
		})
	}
}

// TestMaintainHourly checks the hourly maintenance.
func TestMaintainHourly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := shelf(t, inMemory(), today)
		setup := *o.setup.Load()
		setup.Maintenance = maintenance.Settings{PruneAfter: 50 * oneDay, Every: time.Hour}
		if err := o.Reload(setup); err != nil {
			t.Fatal(err)
		}
		o.start()
		before := o.all()
		o.pass(150 * time.Minute)
		if n := strings.Count(o.logged(), "maintenance would remove sessions"); n != 3 || !slices.Equal(before, o.all()) {
			t.Errorf("it warned %d times:\n%s", n, o.logged())
		}
		setup.Maintenance.Enforce = true
		if err := o.Reload(setup); err != nil {
			t.Fatal(err)
		}
		o.pass(time.Hour)
		if n := strings.Count(o.logged(), "sessions removed by maintenance"); n != 1 || len(o.all()) != len(before)-3 {
			t.Errorf("it was put away %d times:\n%s", n, o.logged())
		}
		o.pass(3 * time.Hour)
		if n := strings.Count(o.logged(), "sessions removed by maintenance"); n != 1 {
			t.Errorf("it was logged %d times:\n%s", n, o.logged())
		}
		o.close()
	})
}
