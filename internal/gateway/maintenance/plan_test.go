package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/store"
	"firn.dev/wire"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

const aDay = 24 * time.Hour

// old returns a session that was last used the given number of days ago.
func old(id string, days int, change func(*Session)) Session {
	s := Session{Info: store.Info{ID: firn.ID(id), Agent: "main", Bytes: 100, Updated: noon.Add(-time.Duration(days) * aDay)}, Kind: route.KindOther}
	if change != nil {
		change(&s)
	}
	return s
}

func keyedAs(key string, kind route.Kind) func(*Session) {
	return func(s *Session) { s.Key, s.Kind, s.Main = key, kind, kind == route.KindMain }
}

// TestPlan decides about a few sessions, with each of the settings.
func TestPlan(t *testing.T) {
	some := func() []Session {
		return []Session{
			old("new", 1, nil), old("older", 10, nil), old("oldest", 100, nil),
			old("archived", 5, func(s *Session) { s.Archived = true }),
			old("ended", 20, keyedAs("agent:main:x:direct:1", route.KindDirect)),
			old("current", 200, func(s *Session) { keyedAs("agent:main:x:direct:1", route.KindDirect)(s); s.Current = true }),
			old("main", 200, keyedAs("agent:main:main", route.KindMain)),
			old("group", 200, keyedAs("agent:main:x:group:1", route.KindGroup)),
			old("room", 200, keyedAs("agent:main:x:channel:1", route.KindChannel)),
			old("pinned", 200, func(s *Session) { s.Pinned = true }),
			old("running", 200, func(s *Session) { s.Open = true }),
			old("broken", 200, func(s *Session) { s.Fault = "x" }),
			old("ageless", 200, func(s *Session) { s.Updated = time.Time{} }),
			old("used", 0, func(s *Session) { s.Updated = noon.Add(-time.Minute) }),
			old("ahead", -3, nil),
			old("child", 2, func(s *Session) {
				keyedAs("agent:main:subagent:1", route.KindSubagent)(s)
				s.Current, s.Child = true, true
			}),
			old("hook", 40, func(s *Session) { keyedAs("agent:main:hook:1", route.KindHook)(s); s.Current = true }),
			old("lastrun", 300, func(s *Session) { keyedAs("agent:main:cron:1", route.KindCron)(s); s.Current = true }),
			old("run", 301, keyedAs("agent:main:cron:1", route.KindCron)),
			old("other", 3, func(s *Session) { s.Agent = "ops" }),
		}
	}
	for name, c := range map[string]struct {
		m    Settings
		now  time.Duration
		want string
	}{
		"nothing":             {Settings{}, 0, ""},
		"nothing, much later": {Settings{}, 400 * aDay, ""},
		"by age":              {Settings{PruneAfter: 30 * aDay}, 0, "run oldest hook"},
		"by age, much later":  {Settings{PruneAfter: 30 * aDay}, 400 * aDay, "ended archived run oldest hook older other child new used ahead"},
		"by age, set back":    {Settings{PruneAfter: 30 * aDay}, -1000 * aDay, ""},
		"ended by a reset":    {Settings{ResetArchiveRetention: 15 * aDay}, 0, "ended"},
		"not long ended":      {Settings{ResetArchiveRetention: 25 * aDay}, 0, ""},
		"too many":            {Settings{MaxEntries: 16}, 0, "ended archived run"},
		"far too many":        {Settings{MaxEntries: 1}, 0, "ended archived run oldest hook older child new"},
		"too large":           {Settings{MaxDiskBytes: 1900, HighWater: 0.9}, 0, "ended archived run"},
		"just not too large":  {Settings{MaxDiskBytes: 2000, HighWater: 0.1}, 0, ""},
		"far too large":       {Settings{MaxDiskBytes: 1}, 0, "ended archived run oldest hook older other child new"},
		"children":            {Settings{SubagentIdle: time.Hour}, 0, "child"},
		"children, not yet":   {Settings{SubagentIdle: 50 * time.Hour}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range Plan(noon.Add(c.now), some(), c.m) {
				got = append(got, string(a.Session))
				if want := map[bool]string{true: wire.ActionArchive, false: wire.ActionRemove}[c.m.SubagentIdle > 0]; a.Do != want || a.Why == "" {
					t.Errorf("it is %+v, want to %s", a, want)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("chosen: %v, want %s", got, c.want)
			}
			if c.m.Enabled() != (c.m != Settings{}) {
				t.Errorf("Enabled returned %t, which decides whether automatic runs take place", c.m.Enabled())
			}
		})
	}
}

func TestPlanBin(t *testing.T) {
	binned := func(id string, days int, bytes int64) store.Binned {
		b := store.Binned{Info: store.Info{ID: firn.ID(id), Bytes: bytes}, Removed: noon.Add(-time.Duration(days) * aDay)}
		if days < 0 {
			b.Removed = time.Time{}
		}
		return b
	}
	bin := []store.Binned{binned("new", 1, 100), binned("old", 10, 100), binned("older", 20, 100), binned("ageless", -1, 100)}
	for name, c := range map[string]struct {
		m    Settings
		want string
	}{
		"nothing":        {Settings{}, ""},
		"a disk budget":  {Settings{MaxDiskBytes: 1}, ""},
		"by age":         {Settings{BinRetention: 10 * aDay}, "older"},
		"by age, more":   {Settings{BinRetention: aDay}, "older old"},
		"by size":        {Settings{BinMaxBytes: 250}, "older old"},
		"just not":       {Settings{BinMaxBytes: 400}, ""},
		"all by size":    {Settings{BinMaxBytes: 1}, "older old new ageless"},
		"by age, enough": {Settings{BinRetention: 15 * aDay, BinMaxBytes: 300}, "older"},
	} {
		var got []string
		for _, a := range PlanBin(noon, bin, c.m) {
			got = append(got, string(a.Session))
			if a.Do != wire.ActionErase || a.Why == "" {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: chosen are %v, want %s", name, got, c.want)
		}
	}
}

// TestKeptAndExceeded checks the report of limits that stay exceeded because of protected
// sessions.
func TestKeptAndExceeded(t *testing.T) {
	var all []Session
	for i := range 6 {
		all = append(all, old(fmt.Sprint("c", i), 30, func(s *Session) {
			keyedAs("agent:main:x:direct:1", route.KindDirect)(s)
			s.Current = true
		}))
	}
	all = append(all, old("free", 30, nil), old("pin", 30, func(s *Session) { s.Pinned = true }), old("young", 1, func(s *Session) { s.Open = true }))
	m := Settings{PruneAfter: 10 * aDay, MaxEntries: 3, MaxDiskBytes: 600}
	r := wire.Maintenance{Actions: Plan(noon, all, m), BinBytes: 50}
	if len(r.Actions) != 1 || r.Actions[0].Session != "free" {
		t.Fatalf("chosen: %+v", r.Actions)
	}
	if kept := CountProtected(noon, all, m); fmt.Sprint(kept) != "map[current:6 pinned:1]" {
		t.Errorf("kept: %v", kept)
	}
	want := "[{max_entries main 3 8 0} {max_disk_bytes  600 950 150}]"
	if got := fmt.Sprint(Exceeded(all, &r, m)); got != want {
		t.Errorf("exceeded: %s, want %s", got, want)
	}
	r.Done, r.Actions[0].Outcome = true, wire.OutcomeSpared
	if got := fmt.Sprint(Exceeded(all, &r, m)); got != "[{max_entries main 3 9 0} {max_disk_bytes  600 950 50}]" {
		t.Errorf("with one spared, exceeded are %s", got)
	}
	if kept := CountProtected(noon, all, Settings{}); len(kept) > 0 || Exceeded(all, &r, Settings{}) != nil {
		t.Errorf("without settings, kept are %v", kept)
	}
}

// someStandings draws sessions.
func someStandings(t *rapid.T) []Session {
	kinds := []route.Kind{route.KindOther, route.KindDirect, route.KindMain, route.KindGroup, route.KindChannel, route.KindCron, route.KindHook, route.KindSubagent}
	n := rapid.IntRange(0, 25).Draw(t, "n")
	all := make([]Session, n)
	for i := range all {
		s := &all[i]
		s.ID = firn.ID(fmt.Sprint("s", i))
		s.Agent = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "agent")
		s.Bytes = rapid.Int64Range(0, 1000).Draw(t, "bytes")
		s.Updated = noon.Add(-time.Duration(rapid.Int64Range(-100, 1000).Draw(t, "hours")) * time.Hour)
		if rapid.IntRange(0, 9).Draw(t, "ageless") == 0 {
			s.Updated = time.Time{}
		}
		s.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
		s.Main = s.Kind == route.KindMain
		if s.Kind != route.KindOther {
			s.Key = "agent:" + s.Agent + ":" + string(s.Kind)
			s.Current = rapid.Bool().Draw(t, "current")
		}
		s.Child = s.Kind == route.KindSubagent
		flag := func(name string) bool { return rapid.IntRange(0, 5).Draw(t, name) == 0 }
		s.Open, s.Pinned, s.Archived, s.Hidden = flag("open"), flag("pinned"), flag("archived"), flag("hidden")
		if flag("fault") {
			s.Fault = "x"
		}
	}
	return all
}

// TestPlanInvariants plans for any sessions and settings: nothing out of reach
// is chosen, nothing twice, limits are kept or nothing is left to take, and
// once done there is nothing more to do.
func TestPlanInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := someStandings(t)
		hours := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, 500).Draw(t, name)) * time.Hour
		}
		m := Settings{
			PruneAfter: hours("prune"), ResetArchiveRetention: hours("reset"), SubagentIdle: hours("idle"),
			MaxEntries: rapid.IntRange(0, 10).Draw(t, "entries"), MaxDiskBytes: rapid.Int64Range(0, 10000).Draw(t, "disk"),
			HighWater: rapid.Float64Range(0, 1).Draw(t, "water"),
		}
		now := noon.Add(time.Duration(rapid.Int64Range(-400, 400).Draw(t, "jump")) * aDay)
		actions := Plan(now, all, m)
		left := slices.Clone(all)
		for _, a := range actions {
			i := slices.IndexFunc(left, func(s Session) bool { return s.ID == a.Session })
			if i < 0 {
				t.Fatalf("%s is chosen twice", a.Session)
			}
			if why := left[i].Protection(now); why != "" {
				t.Fatalf("%s is chosen though %s", a.Session, why)
			}
			switch a.Do {
			case wire.ActionArchive:
				left[i].Archived = true
			case wire.ActionRemove:
				left = slices.Delete(left, i, i+1)
			}
		}
		if more := Plan(now, left, m); len(more) > 0 {
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
			if s.Protection(now) == "" {
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
		if !m.Enabled() && len(actions) > 0 {
			t.Fatal("nothing was wanted")
		}
	})
}
