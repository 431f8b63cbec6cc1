package route_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"
	_ "time/tzdata" // the tests know the zones on every machine

	"firn.dev/internal/base/route"
)

// readGolden reads a file that the original programs' own code wrote.
func readGolden(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// pairs are arguments and results of a function.
type pairs [][2]string

type goldenKeys struct {
	BuildAgentPeerSessionKey []struct {
		In struct {
			AgentID, Channel, PeerKind, PeerID, DMScope string
			IdentityLinks                               orderedLinks
		}
		Out string
	}
	NormalizeAgentID, NormalizeAccountID, NormalizeMainKey pairs
	ToAgentStoreSessionKey                                 pairs
	ThreadKeys                                             [][3]json.RawMessage
	ParseAgentSessionKey, IsSubagent, ThreadParent         [][2]json.RawMessage
}

// orderedLinks are links in the order of the file, since the first that fits
// decides.
type orderedLinks []route.Link

func (o *orderedLinks) UnmarshalJSON(raw []byte) error {
	var all map[string][]string
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	for _, name := range []string{"alice", "Bob"} {
		*o = append(*o, route.Link{Name: name, IDs: all[name]})
	}
	return nil
}

func goldens(t *testing.T) goldenKeys {
	var g goldenKeys
	readGolden(t, "session_keys_2026.1.24.json", &g)
	return g
}

func TestGoldenPeerKeys(t *testing.T) {
	cases := goldens(t).BuildAgentPeerSessionKey
	if len(cases) < 30 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		config := route.Config{Profile: route.V2026_1, Scope: route.Scope(c.In.DMScope), Links: c.In.IdentityLinks}
		r, err := route.Resolve(config, route.Envelope{
			Agent: c.In.AgentID, Channel: c.In.Channel, PeerKind: route.PeerKind(c.In.PeerKind), PeerID: c.In.PeerID,
		})
		if err != nil {
			t.Errorf("%+v: %v", c.In, err)
			continue
		}
		if got := r.Key.Format(route.V2026_1); got != c.Out {
			t.Errorf("%+v: %s, want %s", c.In, got, c.Out)
		}
		if back := parse(t, c.Out); back != r.Key {
			t.Errorf("%s is read as %s, want %s", c.Out, back, r.Key)
		}
	}
}

func TestGoldenNormalization(t *testing.T) {
	g := goldens(t)
	check := func(name string, f func(string) string, cases pairs) {
		if len(cases) == 0 {
			t.Errorf("%s: no cases", name)
		}
		for _, c := range cases {
			if got := f(c[0]); got != c[1] {
				t.Errorf("%s(%q) = %q, want %q", name, c[0], got, c[1])
			}
		}
	}
	check("NormalizeAgent", route.NormalizeAgent, g.NormalizeAgentID)
	check("NormalizeAccount", route.NormalizeAccount, g.NormalizeAccountID)
	check("NormalizeMain", route.NormalizeMain, g.NormalizeMainKey)
	check("Config.Key", func(s string) string {
		k, err := route.Config{}.Key(s)
		if err != nil {
			t.Error(err)
		}
		return k.String()
	}, g.ToAgentStoreSessionKey)
}

func TestGoldenParsing(t *testing.T) {
	g := goldens(t)
	if len(g.ParseAgentSessionKey) != 5 || len(g.IsSubagent) != 3 {
		t.Fatal("cases are missing")
	}
	for _, c := range g.ParseAgentSessionKey {
		var in string
		var want *struct{ AgentID, Rest string }
		decode(t, c[0], &in)
		decode(t, c[1], &want)
		k, err := route.Parse(in)
		if (err == nil) != (want != nil) {
			t.Errorf("Parse(%q): %v, want %v", in, err, want)
		} else if want != nil && (k.Agent() != want.AgentID || k.Rest() != want.Rest) {
			t.Errorf("Parse(%q) = %s %s, want %v", in, k.Agent(), k.Rest(), want)
		}
	}
	for _, c := range g.IsSubagent {
		var in string
		var want bool
		decode(t, c[0], &in)
		decode(t, c[1], &want)
		k, err := route.Config{}.Key(in)
		if err != nil || (k.Kind() == route.KindSubagent) != want {
			t.Errorf("%q is of kind %s (%v), want subagent: %v", in, k.Kind(), err, want)
		}
	}
}

func TestGoldenThreads(t *testing.T) {
	g := goldens(t)
	if len(g.ThreadKeys) != 2 || len(g.ThreadParent) != 3 {
		t.Fatal("cases are missing")
	}
	for _, c := range g.ThreadKeys {
		var base, thread string
		var want struct{ SessionKey string }
		decode(t, c[0], &base)
		decode(t, c[1], &thread)
		decode(t, c[2], &want)
		k, err := parse(t, base).Under(thread)
		if err != nil || k.String() != want.SessionKey {
			t.Errorf("%s under %q: %s, %v, want %s", base, thread, k, err, want.SessionKey)
		}
	}
	for _, c := range g.ThreadParent {
		var in string
		var want *string
		decode(t, c[0], &in)
		decode(t, c[1], &want)
		got := parse(t, in).Parent()
		if want == nil && !got.IsZero() || want != nil && got.String() != *want {
			t.Errorf("the parent of %s is %q, want %v", in, got, want)
		}
	}
}

// TestGoldenFreshness gives only the time of the last update, as stores of that
// age do, in zones on both sides of the world: the golden is in local time.
func TestGoldenFreshness(t *testing.T) {
	var cases []struct {
		Policy struct {
			Mode        route.Mode
			AtHour      int
			IdleMinutes int
		}
		UpdatedHoursAgo float64
		Fresh           bool
	}
	readGolden(t, "reset_freshness.json", &cases)
	if len(cases) != 12 {
		t.Fatalf("%d cases, want 12", len(cases))
	}
	for _, zone := range []string{"UTC", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati"} {
		loc := location(t, zone)
		now := time.Date(2026, 1, 15, 10, 0, 0, 0, loc)
		for _, c := range cases {
			p := route.Policy{Mode: c.Policy.Mode, AtHour: &c.Policy.AtHour, Idle: time.Duration(c.Policy.IdleMinutes) * time.Minute}
			updated := now.Add(-time.Duration(c.UpdatedHoursAgo * float64(time.Hour)))
			v := route.CheckExpiry(p, now, loc, route.Times{Updated: updated})
			if v.Stale == c.Fresh {
				t.Errorf("%s: %+v, updated %v hours ago: %+v, want fresh: %v", zone, c.Policy, c.UpdatedHoursAgo, v, c.Fresh)
			}
		}
	}
}

func decode(t *testing.T, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// parse is for keys that must be good.
func parse(t interface{ Fatal(...any) }, s string) route.Key {
	if h, ok := t.(testing.TB); ok {
		h.Helper()
	}
	k, err := route.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}
