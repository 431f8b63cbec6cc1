package gateway

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// forkLines forks a session at an entry and returns the lines of the fork. If again is set,
// the session is read again for the copy, as a long one is. Names, times and links that
// differ from fork to fork are replaced.
func forkLines(t *testing.T, r *room, id firn.ID, at string, again bool) string {
	t.Helper()
	var read readEntries
	b, n, err := r.forkPoint(r.ctx, id, at, &read)
	if err != nil {
		t.Fatal(err)
	}
	c := newCopier(r.sessionEditor, id, b, n)
	if !again {
		if c.read = read; n >= len(read.entries) {
			t.Fatalf("%d entries were kept, and the fork continues from %d", len(read.entries), n)
		}
	}
	header := firn.Header{Session: firn.NewID(), Agent: "main", ParentSession: string(id)}
	if err := c.run(r.ctx, header, nil); err != nil {
		t.Fatal(err)
	}
	return comparable(t, r, header.Session, c.copied)
}

var (
	linkPattern = regexp.MustCompile(`,"chain":"[^"]*"}$`)
	timePattern = regexp.MustCompile(`"timestamp":"[^"]*"`)
)

// comparable returns the lines of a fork without what differs from fork to fork.
func comparable(t *testing.T, r *room, id firn.ID, copied map[firn.EntryID]bool) string {
	t.Helper()
	var lines []string
	old := []string{string(id), "SESSION"}
	for rec, err := range r.st.Read(r.ctx, id, store.Start) {
		if err != nil || rec.Gap != nil {
			t.Fatal(err, rec.Gap)
		}
		line := linkPattern.ReplaceAllString(string(rec.Line()), "}")
		if !copied[rec.Glance.ID] { // the header, and what follows the copy
			line = timePattern.ReplaceAllString(line, "")
			if rec.Glance.ID != "" {
				old = append(old, string(rec.Glance.ID), fmt.Sprint("NEW-", len(lines)))
			}
		}
		lines = append(lines, line)
	}
	return strings.NewReplacer(old...).Replace(strings.Join(lines, "\n"))
}

// oddChange appends entries with unknown fields and of unknown kinds, tool results, and
// entries that concern only the session.
func oddChange(r *room, id firn.ID, rnd *dice) {
	switch rnd.n(6) {
	case 0:
		e := says("", "with \"quotes\" and é")
		e.Extra = firn.Fields{{Name: "later", Value: json.RawMessage(`{"x":[1,2.0]}`)}, {Name: acceptedField, Value: json.RawMessage("true")}, {Name: firn.DirectoryField, Value: json.RawMessage(`"/work"`)}}
		r.write(id, e)
	case 1:
		r.write(id, firn.NewEntry(&firn.Opaque{Type: "later", Raw: json.RawMessage(`{"type":"later","what":{"deep":[null]}}`)}))
	case 2:
		r.write(id, firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "c", Name: "read", Content: []firn.Part{firn.Text{Text: strings.Repeat("line\n", rnd.n(50))}}}}}))
	case 3:
		r.write(id, firn.NewEntry(&firn.Title{Name: "a title", Source: firn.SourceUser}))
	case 4:
		r.write(id, firn.NewEntry(&firn.Custom{Type: countersType, Data: json.RawMessage(`{"input":9,"turns":1}`)}))
	case 5:
		r.write(id, firn.NewEntry(&firn.Custom{Type: "my.state", Data: json.RawMessage(`{"x": 1.0}`)}))
	}
}

// TestForkReadsOnce checks on random sessions, at each entry, that a fork whose session is
// read once has the same bytes as one whose session is read again for the copy.
func TestForkReadsOnce(t *testing.T) {
	r := fileRoom(t)
	for seed := range 6 {
		id := r.talk(2)
		rnd := newDice(seed)
		for range 14 {
			randomChange(t, r, id, rnd)
			oddChange(r, id, rnd)
		}
		damage(t, r, id)
		for _, e := range allEntries(t, r, id, view.EntryQuery{}) {
			var of struct{ Type, ID string }
			if err := json.Unmarshal(e.Line, &of); err != nil || of.Type == "session" || of.ID == "" {
				continue
			}
			same(t, fmt.Sprintf("fork of seed %d at %s", seed, of.ID), forkLines(t, r, id, of.ID, false), forkLines(t, r, id, of.ID, true))
		}
		same(t, fmt.Sprint("fork of seed ", seed), forkLines(t, r, id, "", false), forkLines(t, r, id, "", true))
	}
}

// damage appends lines to a session that cannot be read, and one without a link.
func damage(t *testing.T, r *room, id firn.ID) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(r.home, "agents", "main", "sessions", string(id)+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("{\"type\":\"message\",\"id\":\"bad-1\",\"parentId\":\"user-1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":7}\n" +
		"not JSON\n" +
		"{\"timestamp\":\"2026-01-01T00:00:00.000Z\", \"id\":\"other-1\",\"type\":\"message\",\"parentId\":\"bad-1\",\"message\":{\"content\":\"by another tool\",\"role\":\"user\"}}\n"); err != nil {
		t.Fatal(err)
	}
}

// TestForkAnswersWithItsState checks on random sessions that the answer to a fork is the
// session as it is read later.
func TestForkAnswersWithItsState(t *testing.T) {
	inRooms(t, func(t *testing.T, r *room) {
		for seed := range 6 {
			id := r.talk(3)
			rnd := newDice(seed)
			for range 10 {
				randomChange(t, r, id, rnd)
				oddChange(r, id, rnd)
			}
			fork := got(r.Fork(r.ctx, id, wire.Fork{}))(t)
			later := got(r.Session(r.ctx, string(fork.ID)))(t)
			was, err := json.Marshal(fork)
			if err != nil {
				t.Fatal(err)
			}
			is, err := json.Marshal(later)
			if err != nil {
				t.Fatal(err)
			}
			same(t, fmt.Sprint("session of seed ", seed), string(was), string(is))
		}
	})
}

// TestLongSessionsAreReadAgain checks that entries are kept up to a limit, and not after the
// one that a fork continues from.
func TestLongSessionsAreReadAgain(t *testing.T) {
	record := func(id string, size int) *firn.Record {
		line := make([]byte, size)
		rec := firn.LazyRecord(0, 0, firn.Glance{ID: firn.EntryID(id)}, line, func([]byte) (firn.Entry, error) { return says(id, "x"), nil })
		return &rec
	}
	var read readEntries
	for _, id := range []string{"a", "b", "c"} {
		read.add(record(id, 10), "b")
	}
	if len(read.entries) != 2 {
		t.Errorf("%d entries are kept, want 2", len(read.entries))
	}
	read = readEntries{}
	for range 3 {
		read.add(record("a", copyBytes/2), "")
	}
	if len(read.entries) != 0 {
		t.Errorf("%d entries of a long session are kept", len(read.entries))
	}
}
