package claudecode

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// history is a random conversation as firn's agent writes it.
type history struct {
	t       *rapid.T
	entries []firn.Entry
	now     time.Time
	calls   int
}

func drawHistory(t *rapid.T) *history {
	h := &history{t: t, now: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)}
	h.entries = []firn.Entry{{Time: h.now, Body: &firn.Header{Session: "s", Version: 3, CWD: "/w"}}}
	for range rapid.IntRange(1, 12).Draw(t, "turns") {
		h.turn()
	}
	return h
}

func (h *history) add(parent firn.EntryID, body firn.Body) firn.EntryID {
	h.now = h.now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(h.t, "ms")) * time.Millisecond)
	e := firn.Entry{ID: firn.EntryID(fmt.Sprintf("e%04d", len(h.entries))), Parent: parent, Time: h.now, Body: body}
	h.entries = append(h.entries, e)
	return e.ID
}

func (h *history) head() firn.EntryID {
	if len(h.entries) == 1 {
		return ""
	}
	return h.entries[len(h.entries)-1].ID
}

// turn adds a random entry.
func (h *history) turn() {
	switch rapid.IntRange(0, 9).Draw(h.t, "what") {
	default:
		h.add(h.head(), textMessage(firn.RoleUser, h.words()))
		h.add(h.head(), answer(h.words()))
	case 0, 1:
		h.tools()
	case 2:
		h.compact()
	case 3:
		h.add(h.head(), &firn.Title{Name: h.words(), Source: firn.SourceUser})
	case 4:
		if len(h.path("")) == 0 {
			return
		}
		h.add(h.head(), rapid.SampledFrom([]firn.Body{
			&firn.ModelChange{Provider: "p", Model: "m"}, &firn.ThinkingChange{Level: "high"}, &firn.Custom{Type: "x", Data: []byte(`{"a":1}`)},
			&firn.Label{Target: h.path("")[0].ID, Name: "l"},
		}).Draw(h.t, "note"))
	case 5: // a branch
		if turns := h.path(firn.RoleUser); len(turns) > 0 {
			at := rapid.SampledFrom(turns).Draw(h.t, "from")
			h.add(at.Parent, textMessage(firn.RoleUser, h.words()))
			h.add(h.head(), answer(h.words()))
		}
	}
}

func (h *history) words() string {
	return fmt.Sprintf("%d %s", len(h.entries), rapid.SampledFrom([]string{"hello", "grüß\n\"dich\"", "<x>\u2028&", "a.b"}).Draw(h.t, "words"))
}

func textMessage(role firn.Role, s string) *firn.Message {
	return &firn.Message{Role: role, Parts: []firn.Part{firn.Text{Text: s}}}
}

// tools adds a response with calls and all their results in random order.
func (h *history) tools() {
	if len(h.path(firn.RoleUser)) == 0 {
		return
	}
	var ids []string
	for range rapid.IntRange(1, 3).Draw(h.t, "calls") {
		h.calls++
		ids = append(ids, fmt.Sprintf("call_%d", h.calls))
	}
	h.add(h.head(), answer(h.words(), ids...))
	for _, id := range rapid.Permutation(ids).Draw(h.t, "order") {
		h.add(h.head(), resultOf(id, h.words()))
	}
}

// compact adds a compaction that keeps from a user message, or nothing.
func (h *history) compact() {
	c := &firn.Compaction{Summary: h.words(), TokensBefore: 7, FirstKept: "nothing"}
	turns := h.path(firn.RoleUser)
	if len(turns) == 0 {
		return
	}
	if rapid.Bool().Draw(h.t, "keeps") {
		c.FirstKept = rapid.SampledFrom(turns).Draw(h.t, "kept").ID
	}
	h.add(h.head(), c)
	h.add(h.head(), textMessage(firn.RoleUser, h.words()))
}

// path returns the messages of a role on the path; the empty role means any.
func (h *history) path(role firn.Role) (all []firn.Entry) {
	for _, e := range pathOf(h.entries) {
		if m, ok := e.Body.(*firn.Message); ok && (role == "" || m.Role == role) {
			all = append(all, e)
		}
	}
	return all
}

// written prints a history, sometimes with several printers.
func (h *history) written(reported bool) []byte {
	to := dialect.Target{Session: "s", CWD: "/w", OnLoss: func(l dialect.Loss) {
		if l.Dropped {
			h.t.Errorf("lost %v", l)
		}
	}}
	var sofar []dialect.EntryLines
	if reported {
		to.Written = func(id firn.EntryID) iter.Seq[dialect.EntryLines] { return since(sofar, id) }
	}
	p := New().Printer(to)
	var out []byte
	var err error
	for _, e := range h.entries {
		if out, err = p.Print(out, e); err != nil {
			h.t.Fatal(err)
		}
		sofar = append(sofar, dialect.EntryLines{Entry: e})
		if rapid.IntRange(0, 4).Draw(h.t, "break") == 0 {
			if out, err = p.Finish(out); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	if out, err = p.Finish(out); err != nil {
		h.t.Fatal(err)
	}
	return out
}

// TestPrintedIsRead checks that Claude Code and firn read a printed history as the same
// conversation.
func TestPrintedIsRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHistory(rt)
		out := h.written(true)
		want := sentOf(h.entries)
		if len(want) == 0 {
			return
		}
		entries := scanAll(t, "s.jsonl", out)
		if got := sentOf(entries); !slices.Equal(got, want) {
			rt.Fatalf("we read\n%s\nwant\n%s\nin\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), out)
		}
		if got, want := outline(entries), outline(h.entries); got != want {
			rt.Fatalf("the tree reads\n%s\nwant\n%s\nin\n%s", got, want, out)
		}
		for _, old := range []bool{false, true} {
			if got := resumed(t, out, old); !slices.Equal(got, want) {
				rt.Fatalf("old %v: they read\n%s\nwant\n%s\nin\n%s", old, strings.Join(got, "\n"), strings.Join(want, "\n"), out)
			}
		}
		if again := h.again(entries, out); !bytes.Equal(again, out) {
			rt.Fatalf("repeated and continued with nothing, it becomes\n%s", again)
		}
	})
}

// again repeats the lines of a file to a new printer.
func (h *history) again(entries []firn.Entry, out []byte) []byte {
	p := New().Printer(dialect.Target{Session: "s", CWD: "/w"})
	for _, e := range entries {
		p.Repeat(e, nil)
	}
	more, err := p.Finish(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return append(slices.Clone(out), more...)
}

// outline renders a tree as text: the content of each entry and of the message it follows.
func outline(entries []firn.Entry) string {
	names := make(map[firn.EntryID]string)
	var b strings.Builder
	for _, e := range entries[1:] {
		name, note := "", true
		switch m := e.Body.(type) {
		case *firn.Message:
			name, note = fmt.Sprint(m.Role, " ", m.Text(), callIDs(m.Parts), m.StopReason, m.Model), false
			if id, ok := callOf(m); ok {
				name += id
			}
		case *firn.Compaction:
			name, note = fmt.Sprint("compaction ", m.Summary, m.TokensBefore, " keeps ", names[m.FirstKept]), false
		case *firn.Title:
			name = "title " + m.Name
		case *firn.Label:
			name = "label " + m.Name + " of " + names[m.Target]
		case *firn.Custom:
			if dialect.IsLine(dialect.ClaudeCode, m) {
				names[e.ID] = names[e.Parent]
				continue
			}
			name = fmt.Sprint("custom ", m.Type, string(m.Data))
		default:
			name = fmt.Sprintf("%+v", m)
		}
		fmt.Fprintf(&b, "%q under %.60q\n", name, names[e.Parent])
		if names[e.ID] = name; note {
			names[e.ID] = names[e.Parent]
		}
	}
	return b.String()
}

// TestKeptWithoutContent checks that a compaction refers to kept messages that cannot be
// read again.
func TestKeptWithoutContent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHistory(rt)
		out := h.written(false)
		if got, want := sentOf(scanAll(t, "s.jsonl", out)), sentOf(h.entries); !slices.Equal(got, want) {
			rt.Fatalf("we read\n%s\nwant\n%s\nin\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), out)
		}
	})
}
