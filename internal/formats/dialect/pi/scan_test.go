package pi_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"

	"github.com/google/go-cmp/cmp"
)

const head3 = `{"type":"session","version":3,"id":"s","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/w"}` + "\n"

// userLine returns a line of pi with a user message.
func userLine(id, parent, text string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"user","content":%q,"timestamp":1770000001000}}`+"\n", id, parent, text)
}

func TestScanFirstVersion(t *testing.T) {
	entries := scanText(`{"type":"session","id":"s","timestamp":"2025-12-09T00:53:29.825Z","cwd":"/w","provider":"p","branchedFrom":"/old.jsonl"}
{"type":"message","timestamp":"2025-12-09T00:53:30.000Z","message":{"role":"user","content":"one"}}
not JSON
{"type":"message","timestamp":"2025-12-09T00:53:31.000Z","message":{"role":"user","content":"two"}}
{"type":"message","message":{"role":"hookMessage","customType":"note","content":"hooked","display":true,"details":{"n":1}}}
{"type":"compaction","timestamp":"2025-12-09T00:53:32.000Z","summary":"S","firstKeptEntryIndex":2,"tokensBefore":9}
{"type":"message","timestamp":"2025-12-09T00:53:33.000Z","message":{"role":"user","content":"three"}}
{"type":"compaction","timestamp":"2025-12-09T00:53:34.000Z","summary":"T","firstKeptEntryIndex":0,"tokensBefore":9}
`)
	if diff := cmp.Diff([]string{"", "l000002", "l000004", "l000005", "l000006", "l000007", "l000008"}, ids(entries)); diff != "" {
		t.Fatalf("other ids (-want +got):\n%s", diff)
	}
	h := entries[0].Body.(*firn.Header)
	if h.Version != 3 || h.ParentSession != "/old.jsonl" || string(entries[0].Extra.Get("provider")) != `"p"` {
		t.Errorf("the header is %+v with %v", h, entries[0].Extra)
	}
	for i, e := range entries[2:] {
		if e.Parent != entries[i+1].ID {
			t.Errorf("%s follows %s, want the one before it", e.ID, e.Parent)
		}
	}
	note := find(t, entries, "l000005")
	if c, ok := note.Body.(*firn.CustomMessage); !ok || c.Type != "note" || firn.JoinText(c.Parts) != "hooked" || !c.Display || string(c.Details) != `{"n":1}` {
		t.Errorf("a hook's message is read as %+v", note.Body)
	}
	if !note.Time.Equal(find(t, entries, "l000004").Time) {
		t.Errorf("a line without a time has %v", note.Time)
	}
	first := find(t, entries, "l000006")
	if c := first.Body.(*firn.Compaction); c.FirstKept != "l000004" || first.Extra != nil {
		t.Errorf("the compaction keeps from %q, extra %v", c.FirstKept, first.Extra)
	}
	if c := find(t, entries, "l000008").Body.(*firn.Compaction); c.FirstKept != "" {
		t.Errorf("a compaction that keeps from the header keeps from %q, want nothing", c.FirstKept)
	}
}

func TestScanSecondVersion(t *testing.T) {
	hooked := `{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"hookMessage","customType":"n","content":"x","display":false,"timestamp":1}}` + "\n"
	for version, kind := range map[int]firn.Kind{2: firn.KindCustomMessage, 3: firn.KindMessage} {
		entries := scanText(fmt.Sprintf(`{"type":"session","version":%d,"id":"s","cwd":"/"}`+"\n", version) + hooked)
		if got := entries[1].Body.Kind(); got != kind {
			t.Errorf("in version %d a hookMessage is a %s, want %s", version, got, kind)
		}
	}
}

func TestScanShapes(t *testing.T) {
	for _, test := range []struct {
		name, text string
		// want lists ID and parent of each entry, sent the messages sent to the model.
		want, sent string
	}{
		{"branches", head3 + userLine("a", "null", "A") + userLine("b", "a", "B") + userLine("c", "a", "C"), "a< b<a c<a", "A C"},
		{"a second root", head3 + userLine("a", "null", "A") + userLine("b", "null", "B"), "a< b<", "B"},
		{"a parent that is not there", head3 + userLine("a", "null", "A") + userLine("b", "gone", "B"), "a< b<a", "A B"},
		{"a parent that comes later", head3 + userLine("a", "b", "A") + userLine("b", "null", "B") + userLine("c", "b", "C"), "a< b< c<b", "B C"},
		{"its own parent", head3 + userLine("a", "null", "A") + userLine("b", "b", "B"), "a< b<a", "A B"},
		{"an id twice", head3 + userLine("a", "null", "A") + userLine("b", "a", "B") + userLine("a", "b", "A again") + userLine("c", "a", "C"),
			"a< b<a a.l000004<b c<a.l000004", "A B A again C"},
		{"no header", userLine("a", "null", "A") + userLine("b", "a", "B"), "a< b<a", "A B"},
		{"a second header", head3 + userLine("a", "null", "A") + head3 + userLine("b", "a", "B"), "a< l000003<a b<a", "A B"},
		{"no id and no parent at the end", head3 + userLine("a", "null", "A") + `{"type":"tombstone","deleted_uuid":"a"}` + "\n", "a< l000003<a", "A"},
		{"no ids under a header of version 3", head3 + `{"type":"message","message":{"role":"user","content":"A"}}` + "\n" + `{"type":"message","message":{"role":"user","content":"B"}}` + "\n",
			"l000002< l000003<l000002", "A B"},
		{"unknown types are parents", head3 + userLine("a", "null", "A") + `{"type":"usage","id":"u","parentId":"a","timestamp":"2026-11-15T02:40:15.042Z","kind":"x"}` + "\n" + userLine("b", "u", "B"),
			"a< u<a b<u", "A B"},
		{"firn's own types", head3 + userLine("a", "null", "A") + userLine("b", "a", "B") +
			`{"type":"tombstone","id":"t","parentId":"b","timestamp":"2026-11-15T02:40:15.042Z","targetId":"a"}` + "\n" + userLine("c", "t", "C"),
			"a< b<a t<b c<t", "B C"},
	} {
		entries := scanText(test.text)
		var shape []string
		for _, e := range entries[1:] {
			shape = append(shape, fmt.Sprintf("%s<%s", e.ID, e.Parent))
		}
		if got := strings.Join(shape, " "); got != test.want {
			t.Errorf("%s: read as %s, want %s", test.name, got, test.want)
		}
		if got := sentTexts(t, entries); got != test.sent {
			t.Errorf("%s: a model is sent %q, want %q", test.name, got, test.sent)
		}
		if _, ok := entries[0].Body.(*firn.Header); !ok {
			t.Errorf("%s: the first entry is a %s", test.name, entries[0].Body.Kind())
		}
	}
}

// sentTexts returns the texts that are sent to the model, without roles.
func sentTexts(t *testing.T, entries []firn.Entry) string {
	var all []string
	for _, text := range sent(t, entries) {
		_, text, _ = strings.Cut(text, ": ")
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// TestScanCarries checks that unknown lines are carried unchanged.
func TestScanCarries(t *testing.T) {
	for kind, line := range map[string]string{
		"usage":        `{"type":"usage","id":"u","parentId":"a","timestamp":"2026-11-15T02:40:15.042Z","kind":"x","usage":{"input":1.50}}`,
		"context_edit": `{"type":"context_edit","id":"u","parentId":"a","timestamp":"2026-11-15T02:40:15.042Z","targetId":"a","replacement":{"content":"other"}}`,
		"message":      `{"type":"message","id":"u","parentId":"a","timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"user","content":null}}`,
		"":             `{"id":"u","parentId":"a","mystery":true}`,
	} {
		entries := scanText(head3 + userLine("a", "null", "A") + line + "\n" + userLine("b", "u", "B"))
		c, ok := entries[2].Body.(*firn.Custom)
		if !ok || c.Type != dialect.LineType(dialect.Pi, kind) || string(c.Data) != line || !dialect.IsLine(dialect.Pi, c) {
			t.Errorf("%q reads as %+v", line, entries[2].Body)
		}
		if got := sentTexts(t, entries); got != "A B" {
			t.Errorf("%q: a model is sent %q", line, got)
		}
	}
	system := scanText(head3 + `{"type":"message","id":"u","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"system","content":"be kind","sections":{"a":"b"},"timestamp":1}}` + "\n" +
		`{"type":"compaction","id":"c","parentId":"u","timestamp":"2026-11-15T02:40:15.042Z","summary":"S","firstKeptEntryId":"c","tokensBefore":1,"systemMessage":{"role":"system","content":"be kind"}}` + "\n")
	m := system[1].Body.(*firn.Message)
	if m.Role != firn.RoleSystem || m.Text() != "be kind\n\nb" || string(m.Extra.Get("sections")) != `{"a":"b"}` {
		t.Errorf("a system message reads as %+v", m)
	}
	if got := string(system[2].Extra.Get("systemMessage")); got != `{"role":"system","content":"be kind"}` {
		t.Errorf("the system message of a compaction is carried as %s", got)
	}
}

func TestScanRefusesNonObjects(t *testing.T) {
	s := tool.Scanner(dialect.Origin{})
	for _, line := range []string{"x", "[]", `{"type":"sess`, `{} {}`, "\xef\xbb\xbf{}"} {
		if got, err := s.Scan([]byte(line)); !errors.Is(err, firn.ErrCorrupt) || len(got) > 0 {
			t.Errorf("Scan(%q) = %v, %v; want ErrCorrupt", line, got, err)
		}
	}
	if got, err := s.Scan([]byte(strings.TrimSpace(head3))); err != nil || len(got) != 1 {
		t.Errorf("after damage a header is read as %v, %v", got, err)
	}
	if got, err := s.Scan([]byte(" \r")); err != nil || len(got) > 0 {
		t.Errorf("a blank line reads as %v, %v", got, err)
	}
}

// TestScanEdits checks that an edit applies to its branch only, and that the latest one of
// an entry counts.
func TestScanEdits(t *testing.T) {
	edit := func(id, parent, target, replacement string) string {
		return fmt.Sprintf(`{"type":"context_edit","id":%q,"parentId":%q,"timestamp":"2026-11-15T02:40:15.042Z","targetId":%q,"replacement":%s}`+"\n", id, parent, target, replacement)
	}
	base := head3 + userLine("a", "null", "A") + userLine("b", "a", "B") + userLine("c", "b", "C")
	hidden := base + edit("x", "c", "b", "null")
	for _, test := range []struct{ name, text, sent string }{
		{"hidden", hidden, "A C"},
		{"hidden for what follows", hidden + userLine("d", "x", "D"), "A C D"},
		{"hidden twice", hidden + edit("y", "x", "b", "null") + userLine("d", "y", "D"), "A C D"},
		{"hidden, then replaced", hidden + edit("y", "x", "b", `{"content":"other"}`) + userLine("d", "y", "D"), "A B C D"},
		{"not on another branch", hidden + userLine("d", "c", "D"), "A B C D"},
		{"on the branch again", hidden + userLine("d", "c", "D") + userLine("e", "x", "E"), "A C E"},
		{"on another branch, and hidden there, too", hidden + userLine("d", "c", "D") + edit("y", "d", "b", "null") + userLine("e", "y", "E"), "A C D E"},
		{"an edit that begins a branch", hidden + edit("y", "b", "a", "null") + userLine("e", "y", "E"), "B E"},
		{"an edit that begins a branch and replaces", hidden + edit("y", "c", "b", `{"content":"x"}`), "A B C"},
		{"nothing that pi could edit", base + edit("x", "c", "s", "null") + edit("y", "x", "x", "null") + edit("z", "y", "gone", "null"), "A B C"},
	} {
		entries := scanText(test.text)
		if got := sentTexts(t, entries); got != test.sent {
			t.Errorf("%s: a model is sent %q, want %q\n%v", test.name, got, test.sent, ids(entries))
		}
		seen := make(map[firn.EntryID]bool)
		for _, e := range entries[1:] {
			if seen[e.ID] || e.Parent != "" && !seen[e.Parent] {
				t.Errorf("%s: entry %s follows %s among %v", test.name, e.ID, e.Parent, ids(entries))
			}
			seen[e.ID] = true
		}
	}
}

// TestScanDamaged checks that a truncated or damaged transcript is readable, and that
// entries before the damage do not change.
func TestScanDamaged(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 8))
	for _, name := range files(t) {
		lines := readLines(t, name)
		whole := scanned(lines)
		for n := 0; n <= len(lines); n += max(1, len(lines)/10) {
			part := scanned(lines[:n])
			if diff := cmp.Diff(ids(whole[:len(part)]), ids(part)); diff != "" {
				t.Fatalf("%s: cut at line %d it reads differently:\n%s", name, n, diff)
			}
		}
		data := bytes.Join(lines, []byte("\n"))
		for range 40 {
			broken := bytes.Clone(data[:1+random.IntN(len(data))])
			for range random.IntN(4) {
				broken[random.IntN(len(broken))] = byte(random.IntN(256))
			}
			checkTree(t, scanned(split(broken)))
		}
	}
}

// checkTree checks the guarantees of a scanner.
func checkTree(t testing.TB, entries []firn.Entry) {
	t.Helper()
	seen := make(map[firn.EntryID]bool)
	for i, e := range entries {
		if _, ok := e.Body.(*firn.Header); ok != (i == 0) {
			t.Fatalf("entry %d is a %s", i, e.Body.Kind())
		}
		if i > 0 && (e.ID == "" || seen[e.ID] || e.Parent == firn.Root || e.Parent != "" && !seen[e.Parent]) {
			t.Fatalf("entry %q follows %q among %q", e.ID, e.Parent, ids(entries))
		}
		seen[e.ID] = true
	}
}

// FuzzScanner reads arbitrary lines: the entries must form a tree, no line may be dropped,
// and the printed entries must read as the same tree.
func FuzzScanner(f *testing.F) {
	for _, name := range files(f) {
		if data := bytes.Join(readLines(f, name), []byte("\n")); len(data) < 20<<10 {
			f.Add(data)
		}
	}
	f.Add([]byte(head3 + userLine("a", "null", "A") + `{"type":"context_edit","id":"x","parentId":"a","targetId":"a","replacement":null}` + "\n" + userLine("b", "a", "B")))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := tool.Scanner(dialect.Origin{})
		var entries []firn.Entry
		for _, line := range split(data) {
			found, err := s.Scan(line)
			if err == nil && len(found) == 0 {
				t.Fatalf("line %q is dropped", line)
			}
			entries = append(entries, found...)
		}
		checkTree(t, entries)
		printer := tool.Printer(dialect.Target{Session: "s"})
		var out []byte
		for _, e := range entries {
			var err error
			if out, err = printer.Print(out, e); err != nil {
				return // for example, a year without four digits
			}
		}
		if n := bytes.Count(out, []byte("\n")); n != len(entries) {
			t.Fatalf("%d entries are printed as %d lines", len(entries), n)
		}
		again := scanned(split(out))
		checkTree(t, again)
		if diff := cmp.Diff(ids(entries), ids(again)); diff != "" {
			t.Fatalf("printed, it reads differently:\n%s", diff)
		}
	})
}
