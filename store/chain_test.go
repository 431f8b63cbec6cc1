package store_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"

	"github.com/google/go-cmp/cmp"
)

var (
	now  = time.Date(2026, 3, 15, 10, 0, 0, 0, time.UTC)
	tail = store.Tail{Session: "s1", Head: "head"}
)

// old reports whether an ID is that of the only entry before the head.
func old(id firn.EntryID) (bool, error) { return id == "old", nil }

func user(text string) *firn.Message {
	return &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}, Time: now}
}

// prepare prepares entries that must be accepted.
func prepare(t *testing.T, tail store.Tail, entries ...firn.Entry) []firn.Entry {
	t.Helper()
	got, err := store.Prepare(tail, now, entries, old)
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	return got
}

func TestPrepareNothing(t *testing.T) {
	got, err := store.Prepare(store.Tail{Session: "s1", New: true}, now, nil, nil)
	if got != nil || err != nil {
		t.Errorf("Prepare of nothing = %v, %v", got, err)
	}
}

func TestPrepareFillsIn(t *testing.T) {
	got := prepare(t, tail, firn.Entry{Body: user("a")}, firn.Entry{ID: "mine", Body: user("b")}, firn.Entry{Body: user("c")})
	if got[0].ID == "" || got[2].ID == "" || got[0].ID == got[2].ID || got[1].ID != "mine" {
		t.Errorf("ids are %q, %q, %q", got[0].ID, got[1].ID, got[2].ID)
	}
	if got[0].Parent != "head" || got[1].Parent != got[0].ID || got[2].Parent != "mine" {
		t.Errorf("parents are %q, %q, %q", got[0].Parent, got[1].Parent, got[2].Parent)
	}
	for _, e := range got {
		if !e.Time.Equal(now) {
			t.Errorf("time is %v", e.Time)
		}
	}
}

func TestPrepareParents(t *testing.T) {
	got := prepare(t, tail,
		firn.Entry{ID: "a", Parent: "old", Body: user("a")},
		firn.Entry{ID: "b", Parent: "head", Body: user("b")},
		firn.Entry{ID: "c", Parent: "a", Body: user("c")},
		firn.Entry{ID: "d", Parent: firn.Root, Body: user("d")},
		firn.Entry{ID: "e", Body: user("e")},
	)
	want := []firn.EntryID{"old", "head", "a", "", "d"}
	for i, e := range got {
		if e.Parent != want[i] {
			t.Errorf("parent of %s is %q, want %q", e.ID, e.Parent, want[i])
		}
	}
}

func TestPrepareTimes(t *testing.T) {
	odd := time.Date(2026, 3, 15, 12, 0, 0, 1_234_567, time.FixedZone("x", 7200))
	m := user("a")
	m.Time = odd
	got := prepare(t, tail, firn.Entry{Time: odd, Body: m}, firn.Entry{Time: odd, Body: &firn.Message{Role: firn.RoleUser}})
	want := time.Date(2026, 3, 15, 10, 0, 0, 1_000_000, time.UTC)
	for _, e := range got {
		if e.Time != want || e.Body.(*firn.Message).Time != want {
			t.Errorf("times are %v and %v, want %v", e.Time, e.Body.(*firn.Message).Time, want)
		}
	}
	if m.Time != odd {
		t.Error("the caller's message was changed")
	}
}

func TestPrepareHeader(t *testing.T) {
	fresh := store.Tail{Session: "s1", New: true}
	whole := &firn.Header{Session: "s1", Version: 3, Firn: 1, Agent: "main"}
	cases := []struct {
		name  string
		given *firn.Header
		want  *firn.Header
	}{
		{"none", nil, whole},
		{"empty", &firn.Header{}, whole},
		{"whole", whole, whole},
		{"directory", &firn.Header{CWD: "/w"}, &firn.Header{Session: "s1", Version: 3, Firn: 1, Agent: "main", CWD: "/w"}},
		{"key", &firn.Header{Key: "agent:ops:dm:1"}, &firn.Header{Session: "s1", Version: 3, Firn: 1, Agent: "ops", Key: "agent:ops:dm:1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			entries := []firn.Entry{{ID: "m", Body: user("a")}}
			if c.given != nil {
				entries = append([]firn.Entry{{ID: "h", Parent: "x", Body: c.given}}, entries...)
			}
			got := prepare(t, fresh, entries...)
			want := []firn.Entry{{Time: now, Body: c.want}, {ID: "m", Time: now, Body: user("a")}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrepareRefuses(t *testing.T) {
	result := firn.ToolResult{CallID: "1"}
	inf := &firn.Usage{Cost: firn.Cost{Total: math.Inf(1)}}
	message := func(role firn.Role, parts ...firn.Part) *firn.Message { return &firn.Message{Role: role, Parts: parts} }
	cases := []struct {
		name  string
		want  error
		entry firn.Entry
	}{
		{"no body", firn.ErrInvalid, firn.Entry{}},
		{"nil body", firn.ErrInvalid, firn.Entry{Body: (*firn.Message)(nil)}},
		{"foreign body", firn.ErrInvalid, firn.Entry{Body: foreign{"x"}}},
		{"foreign header", firn.ErrInvalid, firn.Entry{Body: foreign{firn.KindHeader}}},
		{"late header", firn.ErrInvalid, firn.Entry{Body: &firn.Header{Session: "s1"}}},
		{"header as opaque", firn.ErrInvalid, firn.Entry{Body: &firn.Opaque{Type: firn.KindHeader, Raw: json.RawMessage("{}")}}},
		{"id of the head", firn.ErrInvalid, firn.Entry{ID: "head", Body: user("a")}},
		{"id of another", firn.ErrInvalid, firn.Entry{ID: "first", Body: user("a")}},
		{"id taken", firn.ErrInvalid, firn.Entry{ID: "taken", Body: user("a")}},
		{"id root", firn.ErrInvalid, firn.Entry{ID: firn.Root, Body: user("a")}},
		{"id of the session", firn.ErrInvalid, firn.Entry{ID: "s1", Body: user("a")}},
		{"id with a line break", firn.ErrInvalid, firn.Entry{ID: "a\nb", Body: user("a")}},
		{"id not UTF-8", firn.ErrInvalid, firn.Entry{ID: "a\xff", Body: user("a")}},
		{"id too long", firn.ErrInvalid, firn.Entry{ID: firn.EntryID(strings.Repeat("x", 129)), Body: user("a")}},
		{"id of a clock years ahead", firn.ErrInvalid, firn.Entry{ID: "fzzzzzzzzzzzz", Body: user("a")}},
		{"year 10000", firn.ErrInvalid, firn.Entry{Time: now.AddDate(8000, 0, 0), Body: user("a")}},
		{"unknown parent", firn.ErrNotFound, firn.Entry{Parent: "no", Body: user("a")}},
		{"own parent", firn.ErrNotFound, firn.Entry{ID: "a", Parent: "a", Body: user("a")}},
		{"unknown target", firn.ErrNotFound, firn.Entry{Body: &firn.Tombstone{Target: "no"}}},
		{"no target", firn.ErrInvalid, firn.Entry{Body: &firn.Tombstone{}}},
		{"unknown label target", firn.ErrNotFound, firn.Entry{Body: &firn.Label{Target: "no"}}},
		{"label on the session", firn.ErrNotFound, firn.Entry{Body: &firn.Label{Target: "s1"}}},
		{"unknown first kept", firn.ErrNotFound, firn.Entry{Body: &firn.Compaction{FirstKept: "no"}}},
		{"no role", firn.ErrInvalid, firn.Entry{Body: message("", firn.Text{Text: "a"})}},
		{"nil part", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleUser, nil)}},
		{"pointer part", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleUser, &firn.Text{})}},
		{"stray result", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleUser, result)}},
		{"stray shell", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleAssistant, firn.Shell{})}},
		{"no result", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleToolResult)}},
		{"two results", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleToolResult, result, result)}},
		{"result and text", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleToolResult, result, firn.Text{})}},
		{"shell as result", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleToolResult, firn.Shell{})}},
		{"result as shell", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleShell, result)}},
		{"result in a result", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleToolResult, firn.ToolResult{Content: []firn.Part{result}})}},
		{"result in a custom message", firn.ErrInvalid, firn.Entry{Body: &firn.CustomMessage{Parts: []firn.Part{result}}}},
		{"bad arguments", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleAssistant, firn.ToolCall{Arguments: json.RawMessage("{")})}},
		{"bad data", firn.ErrInvalid, firn.Entry{Body: &firn.Custom{Data: json.RawMessage("nope")}}},
		{"empty data", firn.ErrInvalid, firn.Entry{Body: &firn.Custom{Data: json.RawMessage{}}}},
		{"bad field value", firn.ErrInvalid, firn.Entry{Body: user("a"), Extra: firn.Fields{{Name: "x", Value: json.RawMessage("1 2")}}}},
		{"deep data", firn.ErrInvalid, firn.Entry{Body: &firn.Custom{Data: json.RawMessage(strings.Repeat("[", 505) + strings.Repeat("]", 505))}}},
		{"bad field", firn.ErrInvalid, firn.Entry{Body: user("a"), Extra: firn.Fields{{Name: "x"}}}},
		{"opaque without a line", firn.ErrInvalid, firn.Entry{Body: &firn.Opaque{Type: "x"}}},
		{"opaque of two types", firn.ErrInvalid, firn.Entry{Body: &firn.Opaque{Type: "x", Raw: json.RawMessage(`{"type":"y"}`)}}},
		{"opaque header", firn.ErrInvalid, firn.Entry{Body: &firn.Opaque{Raw: json.RawMessage(`{"type":"session"}`)}}},
		{"opaque with a time apart", firn.ErrInvalid, firn.Entry{Body: &firn.Opaque{Raw: json.RawMessage(`{}`)}, Extra: firn.Fields{{Name: "timestamp", Value: json.RawMessage("1")}}}},
		{"part of two types", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleUser, firn.OpaquePart{Type: "x", Raw: json.RawMessage("{}")})}},
		{"extra id", firn.ErrInvalid, firn.Entry{Body: user("a"), Extra: firn.Fields{{Name: "id", Value: json.RawMessage("1")}}}},
		{"extra type", firn.ErrInvalid, firn.Entry{Body: &firn.Message{Role: firn.RoleUser, Extra: firn.Fields{{Name: "type", Value: json.RawMessage("1")}}}}},
		{"opaque list", firn.ErrInvalid, firn.Entry{Body: &firn.Opaque{Type: "x", Raw: json.RawMessage("[]")}}},
		{"empty part", firn.ErrInvalid, firn.Entry{Body: message(firn.RoleUser, firn.OpaquePart{Type: "x"})}},
		{"infinite cost", firn.ErrInvalid, firn.Entry{Body: &firn.Message{Role: firn.RoleAssistant, Usage: inf}}},
	}
	tail := tail
	tail.Use = func(id firn.EntryID) (store.Use, error) {
		if id == "taken" {
			return store.InUse, nil
		}
		return store.Free, nil
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := store.Prepare(tail, now, []firn.Entry{{ID: "first", Body: user("a")}, c.entry}, old)
			if !errors.Is(err, c.want) || got != nil {
				t.Errorf("Prepare = %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

// foreign is a body type that Prepare does not know.
type foreign struct{ kind firn.Kind }

func (f foreign) Kind() firn.Kind { return f.kind }

func TestPrepareRefusesHeaders(t *testing.T) {
	for _, h := range []firn.Header{{Session: "s2"}, {Version: 2}, {Firn: 7}} {
		_, err := store.Prepare(store.Tail{Session: "s1", New: true}, now, []firn.Entry{{Body: &h}}, nil)
		if !errors.Is(err, firn.ErrInvalid) && !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("Prepare of %+v: %v", h, err)
		}
	}
}

func TestPrepareTargets(t *testing.T) {
	prepare(t, tail,
		firn.Entry{ID: "a", Body: &firn.Tombstone{Target: "old"}},
		firn.Entry{ID: "b", Body: &firn.Tombstone{Target: "a"}},
		firn.Entry{ID: "c", Body: &firn.Tombstone{Target: "s1"}},
		firn.Entry{ID: "d", Body: &firn.Label{Target: "head", Name: "x"}},
		firn.Entry{ID: "e", Body: &firn.Compaction{FirstKept: "e"}},
		firn.Entry{Body: &firn.Compaction{}},
		firn.Entry{Body: &firn.Compaction{FirstKept: "old"}},
		firn.Entry{Body: &firn.BranchSummary{From: "anywhere"}},
		firn.Entry{Body: &firn.Custom{Type: "wide", Data: json.RawMessage("[\"\\\"[[\"" + strings.Repeat(",[]", 600) + "]")}},
	)
}

func TestPrepareLooksUpOnlyUnknownEntries(t *testing.T) {
	broken := errors.New("disk")
	ask := func(firn.EntryID) (bool, error) { return false, broken }
	near := []firn.Entry{{ID: "a", Parent: "head", Body: user("a")}, {ID: "b", Body: user("b")}, {Parent: "a", Body: &firn.Tombstone{Target: "head"}}}
	if _, err := store.Prepare(tail, now, near, ask); err != nil {
		t.Errorf("Prepare looked up an entry that it had: %v", err)
	}
	if _, err := store.Prepare(tail, now, []firn.Entry{{Parent: "far", Body: user("a")}}, ask); !errors.Is(err, broken) {
		t.Errorf("Prepare hid the failure of the store: %v", err)
	}
}

func TestPrepareLargeBatch(t *testing.T) {
	var entries []firn.Entry
	for range 100 {
		entries = append(entries, firn.NewEntry(user("a")))
	}
	entries[70].Parent = entries[3].ID
	got := prepare(t, tail, entries...)
	if got[70].Parent != entries[3].ID || got[71].Parent != entries[70].ID {
		t.Errorf("parents are %s, %s", got[70].Parent, got[71].Parent)
	}
	entries[99].ID = entries[2].ID
	if _, err := store.Prepare(tail, now, entries, old); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("Prepare with a duplicate ID: %v", err)
	}
}

func TestPrepareAllocates(t *testing.T) {
	message := user("a")
	message.Parts = append(message.Parts, firn.ToolCall{ID: "1", Name: "x", Arguments: json.RawMessage(`{"a":1}`)})
	exact := []firn.Entry{{ID: "a", Time: now, Body: message}}
	late := []firn.Entry{{ID: "a", Time: now, Body: &firn.Message{Role: firn.RoleUser, Parts: message.Parts, Time: now.Add(time.Nanosecond)}}}
	for name, c := range map[string]struct {
		entries []firn.Entry
		want    float64
	}{"exact": {exact, 1}, "time to be cut": {late, 2}} {
		got := testing.AllocsPerRun(100, func() {
			if _, err := store.Prepare(tail, now, c.entries, old); err != nil {
				t.Fatal(err)
			}
		})
		if got > c.want {
			t.Errorf("%s: %v allocations, want %v", name, got, c.want)
		}
	}
}

// TestIDsFromAClockDaysAhead appends entries from a client whose clock is days ahead, then
// entries without IDs. All must be accepted, with unique IDs.
func TestIDsFromAClockDaysAhead(t *testing.T) {
	t.Parallel()
	ahead := func(d time.Duration) firn.EntryID {
		n := uint64(time.Now().Add(d).UnixMilli()) << 20
		const digits = "0123456789abcdefghjkmnpqrstvwxyz"
		var b [13]byte
		for i := len(b) - 1; i >= 0; i-- {
			b[i], n = digits[n&31], n>>5
		}
		return firn.EntryID(b[:])
	}
	st := memstore.New(memstore.Options{})
	ctx := t.Context()
	future := ahead(72 * time.Hour)
	for i, id := range []firn.EntryID{"", future, "", firn.NewEntryID(), ahead(48 * time.Hour), ""} {
		if _, err := st.Append(ctx, "s1", store.Any, firn.Entry{ID: id, Body: firn.UserText("x").Body}); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	if _, err := st.Append(ctx, "s1", store.Any, firn.Entry{ID: future, Body: firn.UserText("x").Body}); !errors.Is(err, firn.ErrInvalid) {
		t.Fatalf("the same id again: %v, want ErrInvalid", err)
	}
}
