package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/store"

	"github.com/google/go-cmp/cmp"
)

func appendTests() []test {
	return []test{
		{"returns the new end", appendReturnsEnd},
		{"writes a header", appendWritesHeader},
		{"takes a header", appendTakesHeader},
		{"fills in what is missing", appendFillsIn},
		{"hangs entries where they belong", appendHangs},
		{"finds far parents", appendFindsFarParents},
		{"refuses what is not there", appendRefuses},
		{"refuses bad ids", appendRefusesIDs},
		{"expects the end", appendExpects},
		{"expects nothing at the start", appendExpectsStart},
		{"writes nothing without entries", appendNothing},
		{"heeds the context", appendHeedsContext},
		{"keeps every kind", appendKeepsKinds},
		{"keeps odd and large text", appendKeepsText},
		{"keeps its own copy", appendCopies},
	}
}

func appendReturnsEnd(s *suite) {
	var ends []store.Pos
	for i := range 5 {
		ends = append(ends, s.appendTexts("s1", fmt.Sprint(i), "and more"))
	}
	all := s.readN("s1", 11)
	for i, end := range ends {
		if next := all[2+2*i].Next; next != end {
			s.Errorf("Append %d returned %d, its last record ends at %d", i, end, next)
		}
	}
}

func appendWritesHeader(s *suite) {
	s.appendTexts("s1", "hello")
	first := s.read("s1")[0]
	want := firn.Entry{Time: first.Time, Body: &firn.Header{Session: "s1", Version: 3, Firn: 1, Agent: "main"}}
	if diff := diff(want, first.Entry); diff != "" {
		s.Errorf("the first record is not the header (-want +got):\n%s", diff)
	}
	if first.Time.IsZero() {
		s.Error("the header has no time")
	}
}

func appendTakesHeader(s *suite) {
	at := time.Date(2026, 3, 15, 10, 0, 0, 5e6, time.UTC)
	header := &firn.Header{Session: "s1", Version: 3, Firn: 1, CWD: "/home/ü", ParentSession: "s0", Agent: "ops", Key: "agent:ops:main"}
	s.append("s1", firn.Entry{Time: at, Body: header}, userEntry("hello"))
	all := s.readN("s1", 2)
	if diff := diff(firn.Entry{Time: at, Body: header}, all[0].Entry); diff != "" {
		s.Errorf("the header changed (-want +got):\n%s", diff)
	}
	if all[1].Parent != "" {
		s.Errorf("the first entry has the parent %q", all[1].Parent)
	}
	_, err := s.store.Append(s.ctx, "s1", store.Any, firn.Entry{Body: &firn.Header{Session: "s1"}})
	s.wantErr("a second header", err, firn.ErrInvalid)
	_, err = s.store.Append(s.ctx, "s2", store.Any, userEntry("first"), firn.Entry{Body: &firn.Header{Session: "s2"}})
	s.wantErr("a late header", err, firn.ErrInvalid)
	_, err = s.store.Append(s.ctx, "s2", store.Any, firn.Entry{Body: &firn.Header{Session: "s1"}})
	s.wantErr("another session's header", err, firn.ErrInvalid)
	s.append("s3", firn.Entry{Body: &firn.Header{}})
	s.readN("s3", 1)
}

func appendFillsIn(s *suite) {
	s.appendTexts("s1", "a", "b")
	s.restart()
	s.appendTexts("s1", "c")
	seen := map[firn.EntryID]bool{}
	var before firn.EntryID
	for _, r := range s.read("s1")[1:] {
		if r.ID == "" || seen[r.ID] {
			s.Errorf("%s has the id %q", r.text(), r.ID)
		}
		if r.Parent != before {
			s.Errorf("%s has the parent %q, want %q", r.text(), r.Parent, before)
		}
		if r.Time.IsZero() || r.Time.Location() != time.UTC || r.Time.Nanosecond()%1e6 != 0 {
			s.Errorf("%s has the time %v", r.text(), r.Time)
		}
		seen[r.ID], before = true, r.ID
	}
}

func appendHangs(s *suite) {
	s.append("s1",
		entry("a", "", &firn.Title{Name: "t"}),
		entry("b", "", &firn.ThinkingChange{Level: "high"}),
		entry("c", "a", &firn.Title{Name: "t"}),
		entry("d", "", &firn.Title{Name: "t"}),
		entry("e", firn.Root, &firn.Title{Name: "t"}),
	)
	s.restart()
	s.append("s1", entry("f", "b", &firn.Title{Name: "t"}))
	s.append("s1", entry("g", "", &firn.Head{}))
	s.append("s1", entry("h", firn.Root, &firn.Title{Name: "t"}))
	got := map[firn.EntryID]firn.EntryID{}
	for _, r := range s.read("s1")[1:] {
		got[r.ID] = r.Parent
	}
	want := map[firn.EntryID]firn.EntryID{"a": "", "b": "a", "c": "a", "d": "c", "e": "", "f": "b", "g": "f", "h": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("parents (-want +got):\n%s", diff)
	}
}

// entry returns an entry with a fixed ID.
func entry(id, parent firn.EntryID, body firn.Body) firn.Entry {
	return firn.Entry{ID: id, Parent: parent, Body: body}
}

func appendFindsFarParents(s *suite) {
	entries := []firn.Entry{entry("first", "", &firn.Title{Name: "t"})}
	for range 2000 {
		entries = append(entries, userEntry(strings.Repeat("x", 100)))
	}
	s.append("s1", entries...)
	for _, id := range []firn.EntryID{"far1", "far2"} {
		s.append("s1", entry(id, "first", &firn.Tombstone{Target: "first"}))
		s.restart()
	}
	_, err := s.store.Append(s.ctx, "s1", store.Any, entry("x", "nowhere", &firn.Head{}))
	s.wantErr("an unknown parent", err, firn.ErrNotFound)
	all := s.readN("s1", 2004)
	for _, r := range all[len(all)-2:] {
		if r.Parent != "first" {
			s.Errorf("%s has the parent %q", r.ID, r.Parent)
		}
	}
}

func appendRefuses(s *suite) {
	s.append("s1", entry("a", "", &firn.Title{Name: "t"}))
	before := s.read("s1")
	cases := []struct {
		name string
		want error
		bad  firn.Entry
	}{
		{"an unknown parent", firn.ErrNotFound, entry("x", "nowhere", &firn.Head{})},
		{"its own parent", firn.ErrNotFound, entry("x", "x", &firn.Head{})},
		{"an unknown target", firn.ErrNotFound, entry("x", "", &firn.Tombstone{Target: "nowhere"})},
		{"a label on nothing", firn.ErrNotFound, entry("x", "", &firn.Label{Target: "nowhere"})},
		{"an unknown kept entry", firn.ErrNotFound, entry("x", "", &firn.Compaction{FirstKept: "nowhere"})},
		{"no body", firn.ErrInvalid, firn.Entry{}},
		{"a stray result", firn.ErrInvalid, firn.Entry{Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.ToolResult{}}}}},
		{"broken JSON", firn.ErrInvalid, firn.Entry{Body: &firn.Custom{Type: "x", Data: []byte("{")}}},
		{"the id of the head", firn.ErrInvalid, entry("a", "", &firn.Head{})},
		{"an id twice", firn.ErrInvalid, entry("good", "", &firn.Head{})},
	}
	for _, c := range cases {
		_, err := s.store.Append(s.ctx, "s1", store.Any, entry("good", "", &firn.Head{}), c.bad)
		s.wantErr(c.name, err, c.want)
		if c.bad.ID == "a" {
			continue // a new session has no such head
		}
		_, err = s.store.Append(s.ctx, "new", store.Any, entry("good", "", &firn.Head{}), c.bad)
		s.wantErr(c.name+" in a new session", err, c.want)
		_, err = drain(s.store.Read(s.ctx, "new", store.Start))
		s.wantErr("reading a session that was refused", err, firn.ErrNotFound)
	}
	s.readN("s1", len(before))
}

func appendRefusesIDs(s *suite) {
	for _, id := range []firn.ID{"", "../x", "a/b", ".hidden", "x_part2", "a b", "nul", firn.ID(strings.Repeat("x", 200))} {
		_, err := s.store.Append(s.ctx, id, store.Any, userEntry("a"))
		s.wantErr(fmt.Sprintf("session id %.20q", id), err, firn.ErrInvalid)
	}
}

func appendExpects(s *suite) {
	first := s.appendTexts("s1", "a")
	second, err := s.store.Append(s.ctx, "s1", first, userEntry("b"))
	s.must("Append at the end", err)
	for _, wrong := range []store.Pos{store.Start, first, second + 1} {
		_, err := s.store.Append(s.ctx, "s1", wrong, userEntry("no"))
		s.wantErr(fmt.Sprintf("expecting %d", wrong), err, firn.ErrConflict)
		var c *store.Conflict
		if !errors.As(err, &c) {
			s.Errorf("the error is a %T, want a *store.Conflict", err)
		} else if want := (store.Conflict{ID: "s1", Expect: wrong, End: second}); *c != want {
			s.Errorf("the conflict is %+v, want %+v", *c, want)
		}
	}
	s.restart()
	_, err = s.store.Append(s.ctx, "s1", second, userEntry("c"))
	s.must("Append at the end that was returned before the store was closed", err)
	if got, want := texts(s.read("s1")[1:]), []string{"a", "b", "c"}; !slices.Equal(got, want) {
		s.Errorf("read %q, want %q", got, want)
	}
}

func appendExpectsStart(s *suite) {
	end, err := s.store.Append(s.ctx, "s1", store.Start, userEntry("a"))
	s.must("Append to a new session", err)
	_, err = s.store.Append(s.ctx, "s1", store.Start, userEntry("b"))
	s.wantErr("expecting a new session", err, firn.ErrConflict)
	_, err = s.store.Append(s.ctx, "s1", store.End, userEntry("b"))
	s.wantErr("expecting what is only a place to read from", err, firn.ErrConflict)
	_, err = s.store.Append(s.ctx, "s2", end, userEntry("c"))
	s.wantErr("expecting an end in a new session", err, firn.ErrConflict)
	if _, err = drain(s.store.Read(s.ctx, "s2", store.Start)); !errors.Is(err, firn.ErrNotFound) {
		s.Errorf("a conflict began a session: %v", err)
	}
}

func appendNothing(s *suite) {
	end, err := s.store.Append(s.ctx, "s1", store.Any)
	if end != store.Start || err != nil {
		s.Errorf("Append of nothing to no session = %d, %v", end, err)
	}
	_, err = drain(s.store.Read(s.ctx, "s1", store.Start))
	s.wantErr("reading what was not begun", err, firn.ErrNotFound)
	want := s.appendTexts("s1", "a")
	for _, expect := range []store.Pos{store.Any, want} {
		if end, err := s.store.Append(s.ctx, "s1", expect); end != want || err != nil {
			s.Errorf("Append of nothing = %d, %v; want %d", end, err, want)
		}
	}
	_, err = s.store.Append(s.ctx, "s1", store.Start)
	s.wantErr("Append of nothing at the wrong place", err, firn.ErrConflict)
}

func appendHeedsContext(s *suite) {
	s.appendTexts("s1", "a")
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := s.store.Append(ctx, "s1", store.Any, userEntry("b"))
	s.wantErr("Append when the context is done", err, context.Canceled)
	s.readN("s1", 2)
}

func appendKeepsKinds(s *suite) {
	want := sampleEntries()
	s.append("s1", want...)
	for range 2 {
		got := s.readN("s1", 1+len(want))[1:]
		parent := firn.EntryID("")
		for i, e := range want {
			e.Parent = parent
			if diff := diff(e, got[i].Entry); diff != "" {
				s.Errorf("entry %s of kind %s changed (-want +got):\n%s", e.ID, e.Body.Kind(), diff)
			}
			parent = e.ID
		}
		s.restart()
	}
}

func appendKeepsText(s *suite) {
	want := []string{
		"two\nlines\r\nand\ttabs", "\u2028 and \u2029", "<script>&amp;</script>", `quotes " and \ and /`, "\u0001\u001f\u007f",
		"ünïcödé 🦀 \U0010ffff", strings.Repeat("long ", 1<<18), "}\n{\"type\":\"message\"}", "\ufeffmark",
	}
	for _, text := range want {
		s.appendTexts("s1", text)
	}
	s.restart()
	for i, r := range s.readN("s1", 1+len(want))[1:] {
		if r.text() != want[i] {
			s.Errorf("%.40q was read as %.40q", want[i], r.text())
		}
	}
	s.appendTexts("s2", "bad \xff and \x00")
	last := s.readN("s2", 2)[1]
	if last.text() != "bad \uFFFD and \uFFFD" || string(last.Extra.Get("cleaned")) != "true" {
		s.Errorf("bad text became %q with %v", last.text(), last.Extra)
	}
}

func appendCopies(s *suite) {
	m := &firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.ToolCall{ID: "1", Name: "ls", Arguments: []byte(`{"a":1}`)}}}
	s.append("s1", firn.Entry{Body: m})
	spoil := func(m *firn.Message) {
		m.Role = firn.RoleUser
		m.Parts[0].(firn.ToolCall).Arguments[5] = '2'
		m.Parts[0] = firn.Text{Text: "spoilt"}
	}
	spoil(m)
	for range 2 { // changes made by one reader must not be visible to the next
		got := s.readN("s1", 2)[1].Body.(*firn.Message)
		call, ok := got.Parts[0].(firn.ToolCall)
		if got.Role != firn.RoleAssistant || !ok || string(call.Arguments) != `{"a":1}` {
			s.Fatalf("the stored message became %+v", got)
		}
		spoil(got)
	}
}
