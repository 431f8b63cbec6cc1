package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn"
	"firn/agent"
	"firn/route"
	"firn/store"
	"firn/store/filestore"
	"firn/wire"

	"pgregory.net/rapid"
)

var today = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

const oneDay = 24 * time.Hour

// old is a session that was used last so many days ago.
func old(id string, days int, change func(*standing)) standing {
	s := standing{Info: store.Info{ID: firn.ID(id), Agent: "main", Bytes: 100, Updated: today.Add(-time.Duration(days) * oneDay)}, kind: route.KindOther}
	if change != nil {
		change(&s)
	}
	return s
}

func keyedAs(key string, kind route.Kind) func(*standing) {
	return func(s *standing) { s.Key, s.kind, s.main = key, kind, kind == route.KindMain }
}

// TestPlan decides about a few sessions, with each of the settings.
func TestPlan(t *testing.T) {
	some := func() []standing {
		return []standing{
			old("new", 1, nil), old("older", 10, nil), old("oldest", 100, nil),
			old("archived", 5, func(s *standing) { s.Archived = true }),
			old("ended", 20, keyedAs("agent:main:x:direct:1", route.KindDirect)),
			old("current", 200, func(s *standing) { keyedAs("agent:main:x:direct:1", route.KindDirect)(s); s.current = true }),
			old("main", 200, keyedAs("agent:main:main", route.KindMain)),
			old("group", 200, keyedAs("agent:main:x:group:1", route.KindGroup)),
			old("room", 200, keyedAs("agent:main:x:channel:1", route.KindChannel)),
			old("pinned", 200, func(s *standing) { s.pinned = true }),
			old("running", 200, func(s *standing) { s.open = true }),
			old("broken", 200, func(s *standing) { s.Fault = "x" }),
			old("ageless", 200, func(s *standing) { s.Updated = time.Time{} }),
			old("used", 0, func(s *standing) { s.Updated = today.Add(-time.Minute) }),
			old("ahead", -3, nil),
			old("child", 2, func(s *standing) {
				keyedAs("agent:main:subagent:1", route.KindSubagent)(s)
				s.current, s.child = true, true
			}),
			old("hook", 40, func(s *standing) { keyedAs("agent:main:hook:1", route.KindHook)(s); s.current = true }),
			old("lastrun", 300, func(s *standing) { keyedAs("agent:main:cron:1", route.KindCron)(s); s.current = true }),
			old("run", 301, keyedAs("agent:main:cron:1", route.KindCron)),
			old("other", 3, func(s *standing) { s.Agent = "ops" }),
		}
	}
	for name, c := range map[string]struct {
		m    MaintenanceSettings
		now  time.Duration
		want string
	}{
		"nothing":             {MaintenanceSettings{}, 0, ""},
		"nothing, much later": {MaintenanceSettings{}, 400 * oneDay, ""},
		"by age":              {MaintenanceSettings{PruneAfter: 30 * oneDay}, 0, "run oldest hook"},
		"by age, much later":  {MaintenanceSettings{PruneAfter: 30 * oneDay}, 400 * oneDay, "ended archived run oldest hook older other child new used ahead"},
		"by age, set back":    {MaintenanceSettings{PruneAfter: 30 * oneDay}, -1000 * oneDay, ""},
		"ended by a reset":    {MaintenanceSettings{ResetArchiveRetention: 15 * oneDay}, 0, "ended"},
		"not long ended":      {MaintenanceSettings{ResetArchiveRetention: 25 * oneDay}, 0, ""},
		"too many":            {MaintenanceSettings{MaxEntries: 16}, 0, "ended archived run"},
		"far too many":        {MaintenanceSettings{MaxEntries: 1}, 0, "ended archived run oldest hook older child new"},
		"too large":           {MaintenanceSettings{MaxDiskBytes: 1900, HighWater: 0.9}, 0, "ended archived run"},
		"just not too large":  {MaintenanceSettings{MaxDiskBytes: 2000, HighWater: 0.1}, 0, ""},
		"far too large":       {MaintenanceSettings{MaxDiskBytes: 1}, 0, "ended archived run oldest hook older other child new"},
		"children":            {MaintenanceSettings{SubagentIdle: time.Hour}, 0, "child"},
		"children, not yet":   {MaintenanceSettings{SubagentIdle: 50 * time.Hour}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range plan(today.Add(c.now), some(), c.m) {
				got = append(got, string(a.Session))
				if want := map[bool]string{true: wire.ActionArchive, false: wire.ActionRemove}[c.m.SubagentIdle > 0]; a.Do != want || a.Why == "" {
					t.Errorf("it is %+v, want to %s", a, want)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("chosen are %v, want %s", got, c.want)
			}
		})
	}
}

func TestMaintenanceRefused(t *testing.T) {
	o := staff(t, inMemory(), time.Now(), nil)
	defer o.close()
	for _, m := range []MaintenanceSettings{{PruneAfter: -1}, {MaxEntries: -1}, {MaxDiskBytes: -1}, {HighWater: 1.1}, {HighWater: -0.1}, {SubagentIdle: -1}, {ResetArchiveRetention: -1}} {
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

// someStandings draws sessions.
func someStandings(t *rapid.T) []standing {
	kinds := []route.Kind{route.KindOther, route.KindDirect, route.KindMain, route.KindGroup, route.KindChannel, route.KindCron, route.KindHook, route.KindSubagent}
	n := rapid.IntRange(0, 25).Draw(t, "n")
	all := make([]standing, n)
	for i := range all {
		s := &all[i]
		s.ID = firn.ID(fmt.Sprint("s", i))
		s.Agent = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "agent")
		s.Bytes = rapid.Int64Range(0, 1000).Draw(t, "bytes")
		s.Updated = today.Add(-time.Duration(rapid.Int64Range(-100, 1000).Draw(t, "hours")) * time.Hour)
		if rapid.IntRange(0, 9).Draw(t, "ageless") == 0 {
			s.Updated = time.Time{}
		}
		s.kind = rapid.SampledFrom(kinds).Draw(t, "kind")
		s.main = s.kind == route.KindMain
		if s.kind != route.KindOther {
			s.Key = "agent:" + s.Agent + ":" + string(s.kind)
			s.current = rapid.Bool().Draw(t, "current")
		}
		s.child = s.kind == route.KindSubagent
		flag := func(name string) bool { return rapid.IntRange(0, 5).Draw(t, name) == 0 }
		s.open, s.pinned, s.Archived, s.Hidden = flag("open"), flag("pinned"), flag("archived"), flag("hidden")
		if flag("fault") {
			s.Fault = "x"
		}
	}
	return all
}

// TestPlanKeepsItsWord plans for any sessions and settings: nothing out of reach
// is chosen, nothing twice, limits are kept or nothing is left to take, and
// once done there is nothing more to do.
func TestPlanKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := someStandings(t)
		hours := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, 500).Draw(t, name)) * time.Hour
		}
		m := MaintenanceSettings{
			PruneAfter: hours("prune"), ResetArchiveRetention: hours("reset"), SubagentIdle: hours("idle"),
			MaxEntries: rapid.IntRange(0, 10).Draw(t, "entries"), MaxDiskBytes: rapid.Int64Range(0, 10000).Draw(t, "disk"),
			HighWater: rapid.Float64Range(0, 1).Draw(t, "water"),
		}
		now := today.Add(time.Duration(rapid.Int64Range(-400, 400).Draw(t, "jump")) * oneDay)
		actions := plan(now, all, m)
		left := slices.Clone(all)
		for _, a := range actions {
			i := slices.IndexFunc(left, func(s standing) bool { return s.ID == a.Session })
			if i < 0 {
				t.Fatalf("%s is chosen twice", a.Session)
			}
			if why := left[i].protection(now); why != "" {
				t.Fatalf("%s is chosen though %s", a.Session, why)
			}
			switch a.Do {
			case wire.ActionArchive:
				left[i].Archived = true
			case wire.ActionRemove:
				left = slices.Delete(left, i, i+1)
			}
		}
		if more := plan(now, left, m); len(more) > 0 {
			t.Fatalf("once done there is more to do: %+v", more)
		}
		var bytes int64
		counts := make(map[string]int)
		takable := make(map[string]int)
		large := false
		for i := range left {
			s := &left[i]
			bytes += s.Bytes
			counts[s.Agent]++
			if s.protection(now) == "" {
				takable[s.Agent]++
				large = large || s.Bytes > 0
				if age := now.Sub(s.Updated); m.PruneAfter > 0 && age > m.PruneAfter {
					t.Fatalf("%s is too old and still there", s.ID)
				}
			}
		}
		if m.MaxDiskBytes > 0 && bytes > m.MaxDiskBytes && large {
			t.Fatalf("%d bytes are left, %d are the most, and there is more to take", bytes, m.MaxDiskBytes)
		}
		for name, n := range counts {
			if m.MaxEntries > 0 && n > m.MaxEntries && takable[name] > 0 {
				t.Fatalf("%d sessions of %s are left, %d are the most, and there is more to take", n, name, m.MaxEntries)
			}
		}
		if !m.wanted() && len(actions) > 0 {
			t.Fatal("nothing was wanted")
		}
	})
}

// shelf is a store with sessions that can be cleared away.
func shelf(t *testing.T, st store.Store, at time.Time) *office {
	t.Helper()
	o := staff(t, st, at, func(s *Setup) {
		s.Agents["ops"] = &agent.Agent{Name: "ops", Store: st, Model: s.Agents["main"].Model, NoTitles: true}
	})
	put := func(id firn.ID, age time.Duration, header firn.Header, more ...firn.Entry) {
		t.Helper()
		header.Session = id
		if header.Agent == "" {
			header.Agent = "main"
		}
		entries := append([]firn.Entry{{Body: &header}, firn.UserText("I am " + string(id))}, more...)
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
	said := firn.UserText("keep me")
	label := func(name string) firn.Entry { return firn.NewEntry(&firn.Label{Target: said.ID, Name: name}) }
	put("young", 2*time.Hour, firn.Header{})
	put("old", 100*oneDay, firn.Header{})
	put("pinned", 100*oneDay, firn.Header{}, said, label("pin"))
	put("unpinned", 90*oneDay, firn.Header{}, said, label("pin"), label(""))
	put("main-then", 200*oneDay, firn.Header{Key: "agent:main:main"})
	put("main-now", 100*oneDay, firn.Header{Key: "agent:main:main"})
	put("ada-then", 95*oneDay, firn.Header{Key: "agent:main:mail:direct:ada"})
	put("ada-now", 85*oneDay, firn.Header{Key: "agent:main:mail:direct:ada"})
	put("group", 300*oneDay, firn.Header{Key: "agent:main:mail:group:1"})
	put("fork", 3*time.Hour, firn.Header{ParentSession: "young"})
	put("child", 3*time.Hour, firn.Header{ParentSession: "young"})
	put("parent", 2*time.Hour, firn.Header{}, firn.NewEntry(&firn.Custom{Type: spawnedType, Data: []byte(`{"session":"kid"}`)}))
	put("kid", 3*time.Hour, firn.Header{ParentSession: "parent"})
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

// all lists the sessions that are not in the bin.
func (o *office) all() []firn.ID {
	o.t.Helper()
	var ids []firn.ID
	for info, err := range o.every(o.t.Context(), store.Query{}) {
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

// inFiles runs a test with a store of files, whose sessions have a size.
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

// TestMaintain plans, does what it planned, and takes it back.
func TestMaintain(t *testing.T) {
	overStores(t, func(t *testing.T, st store.Store) {
		o := shelf(t, st, time.Now())
		defer o.close()
		m := MaintenanceSettings{PruneAfter: 50 * oneDay, SubagentIdle: time.Hour}
		before := o.all()
		const want = "remove ada-then, remove old, remove unpinned, archive kid"
		warned, err := o.Maintain(t.Context(), m, false)
		if err != nil || chosen(warned) != want || warned.Done || warned.Mode != "warn" {
			t.Errorf("warned of %s, %+v, %v", chosen(warned), warned, err)
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
			t.Errorf("out of reach are %v", p)
		}
		done, err := o.Maintain(t.Context(), m, false)
		if err != nil || chosen(done) != want || !done.Done || done.Removed != 3 || done.Archived != 1 || done.Failed+done.Spared != 0 {
			t.Errorf("done was %s, %+v, %v", chosen(done), done, err)
		}
		after := o.all()
		for _, id := range before {
			gone := strings.Contains(want, "remove "+string(id)+",")
			if slices.Contains(after, id) == gone {
				t.Errorf("%s is there: %v", id, !gone)
			}
		}
		if info, err := o.info(t.Context(), "kid"); err != nil || !info.Archived {
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
				t.Errorf("%s says %q", id, got)
			}
		}
		if after := o.all(); !slices.Equal(before, after) {
			t.Errorf("taken back, there are %v", after)
		}
	})
}

// TestMaintainSize keeps to a budget.
func TestMaintainSize(t *testing.T) {
	inFiles(t, func(t *testing.T, st store.Store) {
		o := shelf(t, st, time.Now())
		defer o.close()
		look, err := o.Maintain(t.Context(), MaintenanceSettings{}, true)
		if err != nil {
			t.Fatal(err)
		}
		m := MaintenanceSettings{Enforce: true, MaxDiskBytes: look.Bytes - 1, HighWater: 0.85}
		done, err := o.Maintain(t.Context(), m, false)
		if err != nil || done.Removed == 0 {
			t.Fatalf("done was %+v, %v", done, err)
		}
		again, err := o.Maintain(t.Context(), m, false)
		if err != nil || len(again.Actions) != 0 || again.Bytes != look.Bytes-done.BytesBinned || again.Bytes > m.lowWater() {
			t.Errorf("of %d bytes are left %d, low water is %d: %s, %v", look.Bytes, again.Bytes, m.lowWater(), chosen(again), err)
		}
		if !strings.HasPrefix(chosen(done), "remove ada-then") {
			t.Errorf("first to go was not what had ended: %s", chosen(done))
		}
	})
}

// TestMaintainMuchLater sets the clock 400 days ahead: a warning changes
// nothing, and what is open is never touched.
func TestMaintainMuchLater(t *testing.T) {
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
		m := MaintenanceSettings{PruneAfter: oneDay, MaxEntries: 1, MaxDiskBytes: 1, ResetArchiveRetention: oneDay, SubagentIdle: time.Hour}
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

// TestMaintainSpares lets somebody speak, or point a key, between the plan and
// what is done.
func TestMaintainSpares(t *testing.T) {
	for name, meanwhile := range map[string]func(o *office) error{
		"spoke": func(o *office) error {
			_, err := o.st.Append(o.t.Context(), "ada-then", store.Any, firn.UserText("wait"))
			return err
		},
		"came back": func(o *office) error {
			return o.st.(store.Keyed).Bind(o.t.Context(), "agent:main:mail:direct:ada", "ada-then")
		},
		"listens": func(o *office) error { o.events.listen("ada-then"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			overStores(t, func(t *testing.T, st store.Store) {
				o := shelf(t, st, time.Now())
				defer o.close()
				all, err := o.standings(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				report := wire.Maintenance{Actions: plan(o.now(), all, MaintenanceSettings{ResetArchiveRetention: 90 * oneDay})}
				if chosen(report) != "remove ada-then" {
					t.Fatalf("chosen is %s", chosen(report))
				}
				if err := meanwhile(o); err != nil {
					t.Fatal(err)
				}
				if err := o.enforce(t.Context(), all, &report); err != nil {
					t.Fatal(err)
				}
				sumUp(&report)
				if report.Spared != 1 || report.Removed != 0 || !slices.Contains(o.all(), "ada-then") {
					t.Errorf("it came to %+v", report)
				}
			})
		})
	}
}

// TestMaintainByItself lets the gateway look every hour.
func TestMaintainByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := shelf(t, inMemory(), today)
		setup := *o.setup.Load()
		setup.Maintenance = MaintenanceSettings{PruneAfter: 50 * oneDay, Every: time.Hour}
		if err := o.Reload(setup); err != nil {
			t.Fatal(err)
		}
		o.start()
		before := o.all()
		o.pass(150 * time.Minute)
		if n := strings.Count(o.said(), "would be cleared away"); n != 3 || !slices.Equal(before, o.all()) {
			t.Errorf("it warned %d times:\n%s", n, o.said())
		}
		setup.Maintenance.Enforce = true
		if err := o.Reload(setup); err != nil {
			t.Fatal(err)
		}
		o.pass(time.Hour)
		if n := strings.Count(o.said(), "were put away"); n != 1 || len(o.all()) != len(before)-3 {
			t.Errorf("it was put away %d times:\n%s", n, o.said())
		}
		o.pass(3 * time.Hour)
		if n := strings.Count(o.said(), "were put away"); n != 1 {
			t.Errorf("it said so %d times:\n%s", n, o.said())
		}
		o.close()
	})
}
