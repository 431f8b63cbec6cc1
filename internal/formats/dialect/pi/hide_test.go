package pi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"firn.dev"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// piSends returns the context of pi 0.73 for a file: the path from the last line to its
// root, from the first kept entry of the latest compaction on. It ignores tombstones and
// edits.
func piSends(t testing.TB, lines [][]byte) (texts []string) {
	t.Helper()
	type line struct {
		Type, ID, ParentID, Summary, FirstKeptEntryID string
		Message                                       json.RawMessage
	}
	byID := make(map[string]line)
	last := ""
	for _, raw := range lines[1:] {
		var l line
		if err := json.Unmarshal(raw, &l); err != nil || l.ID == "" {
			t.Fatalf("pi cannot read %s: %v", raw, err)
		}
		if _, twice := byID[l.ID]; twice {
			t.Fatalf("the ID %s occurs twice", l.ID)
		}
		byID[l.ID], last = l, l.ID
	}
	var path []line
	for id := last; id != ""; id = byID[id].ParentID {
		if _, ok := byID[id]; !ok {
			t.Fatalf("the parent %s does not exist", id)
		}
		path = append(path, byID[id])
	}
	slices.Reverse(path)
	from, compacted := 0, -1
	for i, l := range path {
		if l.Type == "compaction" {
			compacted = i
			from = slices.IndexFunc(path, func(k line) bool { return k.ID == l.FirstKeptEntryID })
			if from < 0 || from > i {
				from = i
			}
		}
	}
	if compacted >= 0 {
		texts = append(texts, "summary "+path[compacted].Summary)
	}
	for _, l := range path[from:] {
		if l.Type == "message" {
			texts = append(texts, messageText(t, l.Message))
		}
	}
	return texts
}

// messageText formats a message of pi as textOf does.
func messageText(t testing.TB, raw json.RawMessage) string {
	var m struct {
		Role       string
		ToolCallID string
		Content    json.RawMessage
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	words := []string{m.Role + ":"}
	if m.ToolCallID != "" {
		words = append(words, "result "+m.ToolCallID)
	}
	var text string
	var parts []struct{ Type, Text, ID string }
	if json.Unmarshal(m.Content, &text) == nil {
		words = append(words, text)
	} else if err := json.Unmarshal(m.Content, &parts); err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		switch p.Type {
		case "text":
			words = append(words, p.Text)
		case "toolCall":
			words = append(words, "call "+p.ID)
		}
	}
	return strings.Join(words, " ")
}

// firnSends returns firn's context of entries in the same format. Results without a call
// are omitted, as for every provider.
func firnSends(t testing.TB, entries []firn.Entry) (texts []string) {
	t.Helper()
	p := pathOf(t, entries)
	if p.Compaction != nil {
		texts = append(texts, "summary "+p.Compaction.Body.(*firn.Compaction).Summary)
	}
	calls := make(map[string]bool)
	for _, e := range p.Entries {
		m, ok := e.Body.(*firn.Message)
		if !ok {
			continue
		}
		orphan := false
		for _, part := range m.Parts {
			switch part := part.(type) {
			case firn.ToolCall:
				calls[part.ID] = true
			case firn.ToolResult:
				orphan = !calls[part.CallID]
			}
		}
		if !orphan {
			texts = append(texts, textOf(*m))
		}
	}
	return texts
}

// newTranscript returns a file with a few turns: q1, then a call and its result, a1, q2,
// a2.
func newTranscript(t testing.TB, fresh bool) *transcript {
	f := &transcript{t: t, fresh: fresh}
	for _, e := range []firn.Entry{
		header(), user("q1", "", "one"), assistant("c1", "q1", firn.ToolCall{ID: "k1", Name: "read"}), result("r1", "c1", "k1", "file"),
		assistant("a1", "r1", firn.Text{Text: "done one"}), user("q2", "a1", "two"), assistant("a2", "q2", firn.Text{Text: "done two"}),
	} {
		f.add(e)
	}
	return f
}

// both checks that firn and pi send the wanted messages of a file.
func (f *transcript) both(want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, piSends(f.t, f.lines)); diff != "" {
		f.t.Errorf("pi sends something else (-want +pi):\n%s", diff)
	}
	if diff := cmp.Diff(want, firnSends(f.t, f.entries())); diff != "" {
		f.t.Errorf("firn sends something else (-want +firn):\n%s", diff)
	}
	if len(f.losses) > 0 {
		f.t.Errorf("there are losses: %v", f.losses)
	}
}

func TestHide(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		for _, test := range []struct {
			name   string
			target firn.EntryID
			want   []string
		}{
			{"in the middle", "q2", []string{"user: one", "assistant: call k1", "toolResult: result k1 file", "assistant: done one", "assistant: done two"}},
			{"the last", "a2", []string{"user: one", "assistant: call k1", "toolResult: result k1 file", "assistant: done one", "user: two"}},
			{"the first", "q1", []string{"assistant: call k1", "toolResult: result k1 file", "assistant: done one", "user: two", "assistant: done two"}},
			{"a call, and its result with it", "c1", []string{"user: one", "assistant: done one", "user: two", "assistant: done two"}},
			{"a result", "r1", []string{"user: one", "assistant: call k1", "assistant: done one", "user: two", "assistant: done two"}},
		} {
			t.Run(fmt.Sprintf("%s, fresh %t", test.name, fresh), func(t *testing.T) {
				f := newTranscript(t, fresh)
				before := len(f.lines)
				f.add(hide("t1", f.head(), test.target))
				f.both(test.want...)
				f.add(user("q3", f.head(), "three"))
				f.both(append(test.want, "user: three")...)
				if last := find(t, f.entries(), "t1"); last.Body.(*firn.Tombstone).Target != test.target {
					t.Errorf("the tombstone reads as %+v", last.Body)
				}
				for _, e := range f.entries() {
					if m, ok := e.Body.(*firn.Message); ok && e.Extra.Get("copyOf") != nil && m.Usage != nil {
						t.Errorf("the copy %s counts the cost of its original", e.ID)
					}
				}
				if diff := cmp.Diff(newTranscript(t, false).lines, f.lines[:before]); diff != "" {
					t.Errorf("existing data was changed:\n%s", diff)
				}
			})
		}
	}
}

// TestHideThenFollowOldNames checks that children of a copied entry, by its old ID, follow
// the copy: hidden entries stay hidden.
func TestHideThenFollowOldNames(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		f := newTranscript(t, fresh)
		f.add(hide("t1", f.head(), "q1"))
		f.add(user("x", "a1", "from the old a1"))
		f.both("assistant: call k1", "toolResult: result k1 file", "assistant: done one", "user: from the old a1")
		f.add(firn.Entry{ID: "z", Parent: "x", Time: when, Body: &firn.Compaction{Summary: "S", FirstKept: "a1"}})
		f.both("summary S", "assistant: done one", "user: from the old a1")
		f.add(user("y", "q1", "from the hidden one"))
		f.both("user: from the hidden one")
	}
}

// TestHideCompactions checks that a hidden compaction is undone for pi, too, and that a
// copied one keeps from the copies.
func TestHideCompactions(t *testing.T) {
	f := newTranscript(t, true)
	f.add(firn.Entry{ID: "z", Parent: "a2", Time: when, Body: &firn.Compaction{Summary: "S", FirstKept: "q2"}})
	f.add(user("q3", "z", "three"))
	f.both("summary S", "user: two", "assistant: done two", "user: three")
	f.add(hide("t1", f.head(), "a1")) // it was compacted
	f.both("summary S", "user: two", "assistant: done two", "user: three")
	f.add(hide("t2", f.head(), "q2")) // the first kept entry
	f.both("summary S", "assistant: done two", "user: three")
	copied := ""
	for _, e := range f.entries() {
		if _, ok := e.Body.(*firn.Compaction); ok {
			copied = string(e.ID)
		}
	}
	f.add(hide("t3", f.head(), firn.EntryID(copied)))
	f.both("user: one", "assistant: call k1", "toolResult: result k1 file", "assistant: done two", "user: three")
}

func TestRestore(t *testing.T) {
	whole := []string{"user: one", "assistant: call k1", "toolResult: result k1 file", "assistant: done one", "user: two", "assistant: done two", "user: three"}
	without := slices.Concat(whole[:4], whole[5:])
	for _, fresh := range []bool{false, true} {
		f := newTranscript(t, fresh)
		f.add(hide("t1", f.head(), "q2"))
		f.add(user("q3", f.head(), "three"))
		f.both(without...)
		f.add(hide("t2", f.head(), "t1"))
		f.both(whole...)
		f.add(hide("t3", f.head(), "t2"))
		f.both(without...)
		f.add(assistant("a3", f.head(), firn.Text{Text: "done three"}))
		f.add(hide("t4", f.head(), "t3"))
		f.both(append(whole, "assistant: done three")...)
	}
}

// TestRestoreRevealsNothingElse checks that an entry is not restored if that would reveal
// others hidden since, and that the loss is reported.
func TestRestoreRevealsNothingElse(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		f := newTranscript(t, fresh)
		f.add(hide("t1", f.head(), "q1"))
		f.add(hide("t2", f.head(), "q2"))
		if len(f.losses) > 0 {
			t.Fatal(f.losses)
		}
		f.add(hide("t3", f.head(), "t1"))
		if len(f.losses) != 1 || f.losses[0].Limit != "restored entries" || f.losses[0].Entry != "t3" {
			t.Errorf("the losses are %v", f.losses)
		}
		if got := piSends(t, f.lines); slices.Contains(got, "user: two") || slices.Contains(got, "user: one") {
			t.Errorf("pi sends %q", got)
		}
	}
}

// TestHideCopiesNoBookkeeping checks that session-wide entries are not copied.
func TestHideCopiesNoBookkeeping(t *testing.T) {
	f := newTranscript(t, true)
	add := func(id firn.EntryID, body firn.Body) {
		f.add(firn.Entry{ID: id, Parent: f.head(), Time: when, Body: body})
	}
	add("u", &firn.Custom{Type: "firn.counters", Data: json.RawMessage(`{"turns":2}`)})
	add("v", &firn.Custom{Type: "firn.verbose", Data: json.RawMessage(`{"level":"on"}`)})
	add("w", &firn.Title{Name: "named"})
	add("x", &firn.Label{Target: "a2", Name: "here"})
	add("y", &firn.Head{})
	add("z", &firn.ModelChange{Provider: "p", Model: "m2"})
	f.add(hide("t", f.head(), "q2"))
	counts := make(map[string]int)
	var label firn.EntryID
	for _, e := range f.entries() {
		counts[string(e.Body.Kind())]++
		if c, ok := e.Body.(*firn.Custom); ok {
			counts[c.Type]++
		}
		if l, ok := e.Body.(*firn.Label); ok {
			label = l.Target
		}
	}
	want := map[string]int{"firn.counters": 1, "firn.verbose": 2, "session_info": 1, "label": 2, "head": 1, "model_change": 2, "tombstone": 1}
	for kind, n := range want {
		if counts[kind] != n {
			t.Errorf("%s is stored %d times, want %d", kind, counts[kind], n)
		}
	}
	if e := find(t, f.entries(), label); string(e.Extra.Get("copyOf")) != `"a2"` {
		t.Errorf("the label is on %s, which is no copy of a2", label)
	}
}

// TestHideOnAbandonedBranch checks that a target on an abandoned branch needs only the
// tombstone.
func TestHideOnAbandonedBranch(t *testing.T) {
	f := newTranscript(t, true)
	f.add(firn.Entry{ID: "h", Parent: "a1", Time: when, Body: &firn.Head{}})
	before := len(f.lines)
	f.add(hide("t", "h", "q2"))
	if len(f.lines) != before+1 || len(f.losses) != 1 || f.losses[0].Limit != "entries hidden on other branches" {
		t.Errorf("%d lines more, losses %v", len(f.lines)-before, f.losses)
	}
}

// TestAppendAfterLinesWithoutIDs checks that lines without an ID have no children.
func TestAppendAfterLinesWithoutIDs(t *testing.T) {
	f := newTranscript(t, true)
	f.lines = append(f.lines, []byte(`{"type":"note","text":"no id"}`))
	f.add(user("q3", f.head(), "three"))
	f.lines = slices.DeleteFunc(f.lines, func(line []byte) bool { return strings.Contains(string(line), "no id") })
	f.both("user: one", "assistant: call k1", "toolResult: result k1 file", "assistant: done one", "user: two", "assistant: done two", "user: three")
}

// TestRandomHiding adds, hides, restores, compacts and branches at random: pi must send the
// same messages as firn unless a loss was reported, and never a hidden one.
func TestRandomHiding(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := &transcript{t: t, fresh: rapid.Bool().Draw(r, "fresh")}
		f.add(header())
		f.add(user("e0", "", "text e0"))
		for i := range rapid.IntRange(1, 14).Draw(r, "steps") {
			entries := f.entries()
			known := entries[1:]
			id, head := firn.EntryID(fmt.Sprintf("e%d", i+1)), f.head()
			one := rapid.SampledFrom(known).Draw(r, "one")
			path := pathOf(t, entries).Entries
			switch rapid.SampledFrom([]string{"say", "say", "answer", "hide", "hide", "restore", "compact", "back"}).Draw(r, "step") {
			case "say":
				f.add(user(id, head, "text "+string(id)))
			case "answer":
				f.add(assistant(id, head, firn.Text{Text: "text " + string(id)}))
			case "hide":
				if len(path) > 0 {
					f.add(hide(id, head, rapid.SampledFrom(path).Draw(r, "target").ID))
				}
			case "restore":
				for _, e := range known {
					if _, ok := e.Body.(*firn.Tombstone); ok && rapid.Bool().Draw(r, "this") {
						f.add(hide(id, head, e.ID))
						break
					}
				}
			case "compact":
				if len(path) > 0 {
					f.add(firn.Entry{ID: id, Parent: head, Time: when, Body: &firn.Compaction{Summary: "sum " + string(id), FirstKept: rapid.SampledFrom(path).Draw(r, "kept").ID}})
				}
			case "back":
				f.add(firn.Entry{ID: id, Parent: one.ID, Time: when, Body: &firn.Head{}})
			}
			checkTree(t, f.entries())
			if len(f.losses) > 0 {
				return // from here on the two may differ
			}
			got, want := piSends(t, f.lines), firnSends(t, f.entries())
			if diff := cmp.Diff(want, got); diff != "" {
				r.Fatalf("step %d: pi sends something else (-firn +pi):\n%s\n%s", i, diff, strings.Join(text(f.lines), "\n"))
			}
		}
	})
}

func text(lines [][]byte) (all []string) {
	for _, line := range lines {
		all = append(all, string(line))
	}
	return all
}
