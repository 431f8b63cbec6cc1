package sessionsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/ops/memory"
	"firn.dev/store"
)

// TestNotesTravel syncs notes between two machines: additions on both, a removal, and an undo
// of what a sync changed.
func TestNotesTravel(t *testing.T) {
	ctx := context.Background()
	identity := newTestIdentity(t)
	a, b := newMachine(t, "a", identity, nil), newMachine(t, "b", identity, nil)
	folder := Folder{FS: quickFS{}, Dir: t.TempDir()}
	both := func() {
		t.Helper()
		for range 2 {
			a.sync(folder, "t")
			b.sync(folder, "t")
		}
		if x, y := a.noteTexts(), b.noteTexts(); !maps.Equal(x, y) {
			t.Errorf("the notes differ:\n%q\n%q", x, y)
		}
	}
	a.note("tools", "---\ndescription: what we use\n---\n- we use make\n")
	b.note("tools", "---\ndescription: tools\n---\n- we use make\n- and git\n")
	b.note("days", "- Monday is free\n")
	both()
	if text := a.noteTexts()["tools"]; strings.Count(text, "make") != 1 || !strings.Contains(text, "git") || strings.Count(text, "description") != 1 {
		t.Errorf("merged %q", text)
	}
	if r := a.sync(folder, "t"); r.Bytes > 0 || r.Notes > 0 {
		t.Errorf("a sync with nothing new: %+v", r)
	}
	a.note("days", "")
	both()
	if _, there := b.noteTexts()["days"]; there {
		t.Error("a removed note is still there")
	}
	dir := memory.Open(filepath.Join(b.home, filepath.FromSlash(noteFolder)), memory.Options{})
	changes, err := dir.Changes()
	if err != nil || len(changes) == 0 || changes[0].Kind != "sync" {
		t.Fatalf("changes %+v, %v", changes, err)
	}
	if _, err := dir.Undo(ctx, changes[0].ID); err != nil {
		t.Fatal(err)
	}
	both()
	if text := a.noteTexts()["days"]; !strings.Contains(text, "Monday") {
		t.Errorf("the undo did not travel: %q", text)
	}
	// Removed on one machine and changed on the other: the change stays.
	a.note("days", "")
	b.note("days", "- Monday is free\n- Tuesday is not\n")
	both()
	if text := a.noteTexts()["days"]; !strings.Contains(text, "Tuesday") {
		t.Errorf("a changed note is lost: %q", text)
	}
}

// TestNotesThatStay publishes no note that names an excluded session, and none at all if notes
// are excluded. Facts from sessions that were purged here do not come back.
func TestNotesThatStay(t *testing.T) {
	ctx := context.Background()
	identity := newTestIdentity(t)
	a, b := newMachine(t, "a", identity, nil), newMachine(t, "b", identity, nil)
	folder := Folder{FS: quickFS{}, Dir: t.TempDir()}
	private := firn.NewID()
	a.config.Exclude.Sessions = []firn.ID{private}
	a.note("private", "- a secret <!-- from "+string(private)+"/e1 -->\n")
	a.note("public", "- a fact\n")
	a.sync(folder, "t")
	b.config.Exclude.Notes = true
	b.note("own", "- of b\n")
	b.sync(folder, "t")
	if got := b.noteTexts(); len(got) != 1 {
		t.Errorf("notes are excluded on b, and it has %q", got)
	}
	b.config.Exclude.Notes = false
	b.sync(folder, "t")
	if got := b.noteTexts(); got["private"] != "" || got["public"] == "" {
		t.Errorf("b has %q", got)
	}
	purged := firn.NewID()
	b.note("facts", "- to forget <!-- from "+string(purged)+"/e1 -->\n- to keep\n")
	dir := memory.Open(filepath.Join(a.home, filepath.FromSlash(noteFolder)), memory.Options{})
	if _, err := dir.Erase(ctx, purged); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b.sync(folder, "t")
		a.sync(folder, "t")
	}
	for _, m := range []*machine{a, b} {
		if text := m.noteTexts()["facts"]; text != "- to keep\n" {
			t.Errorf("%s has %q", m.name, text)
		}
	}
}

// TestNotesChangedMeanwhile leaves a note alone that was edited while a sync ran, and merges it
// in the next sync.
func TestNotesChangedMeanwhile(t *testing.T) {
	identity := newTestIdentity(t)
	a, b := newMachine(t, "a", identity, nil), newMachine(t, "b", identity, nil)
	folder := Folder{FS: quickFS{}, Dir: t.TempDir()}
	a.note("x", "- of a\n")
	a.sync(folder, "t")
	o := b.options(folder, "t")
	o.Notes = editing{b.notes(), func() { b.note("x", "- of b\n") }}
	r, err := Run(context.Background(), o)
	if err != nil || len(r.Problems) != 1 || b.noteTexts()["x"] != "- of b\n" {
		t.Fatalf("%+v, %v, %q", r, err, b.noteTexts())
	}
	b.sync(folder, "t")
	a.sync(folder, "t")
	if x, y := a.noteTexts()["x"], b.noteTexts()["x"]; x != y || !strings.Contains(x, "of a") || !strings.Contains(x, "of b") {
		t.Errorf("%q and %q", x, y)
	}
}

// editing are notes that a user edits just before they are replaced.
type editing struct {
	HomeNotes
	edit func()
}

func (e editing) Replace(ctx context.Context, folder string, was, texts map[string]string) error {
	e.edit()
	return e.HomeNotes.Replace(ctx, folder, was, texts)
}

// TestNoteRecords rejects records that name files elsewhere.
func TestNoteRecords(t *testing.T) {
	place := notePlace{noteFolder, "x"}
	valid := noteRecord{ID: place.id(), notePlace: place, Text: "y", Seen: map[string]uint64{"m": 1}}
	if err := (&noteRecord{ID: place.id(), Seen: valid.Seen}).check(); err != nil {
		t.Errorf("a removed note: %v", err)
	}
	if err := valid.check(); err != nil {
		t.Error(err)
	}
	for _, change := range []func(n *noteRecord){
		func(n *noteRecord) { n.Folder = "agents/../workspace" },
		func(n *noteRecord) { n.Folder = "agents/main/sessions" },
		func(n *noteRecord) { n.Folder = "/agents/main/workspace" },
		func(n *noteRecord) { n.Folder = "agents/main/users" },
		func(n *noteRecord) { n.Folder = "sync" },
		func(n *noteRecord) { n.Folder = `projects/a\..\b` },
		func(n *noteRecord) { n.Folder = "" },
		func(n *noteRecord) { n.Name = "../x" },
		func(n *noteRecord) { n.Name = ".erased" },
		func(n *noteRecord) { n.Name = "" },
		func(n *noteRecord) { n.Text = "\xff" },
		func(n *noteRecord) { n.Text = strings.Repeat("x", 2<<20) },
		func(n *noteRecord) { n.Seen = nil },
		func(n *noteRecord) { n.notePlace = notePlace{} },
	} {
		n := valid
		change(&n)
		n.ID = n.notePlace.id()
		if err := n.check(); !errors.Is(err, firn.ErrCorrupt) {
			t.Errorf("%.60q / %.60q: %v", n.Folder, n.Name, err)
		}
	}
}

// TestMergeNotes merges a version and three changes of it, made apart, in all orders: each
// result has all lines once.
func TestMergeNotes(t *testing.T) {
	place := notePlace{noteFolder, "x"}
	base := noteRecord{ID: place.id(), notePlace: place, Text: "a\n", Seen: map[string]uint64{"m": 1}, At: 1}
	versions := []noteRecord{base}
	for i, machine := range []string{"m", "n", "o"} {
		next := base
		next.Seen = maps.Clone(base.Seen)
		next.Seen[machine]++
		next.At = int64(10 - i)
		next.Text = "a\n" + machine + "\n"
		versions = append(versions, next)
	}
	var merge func(got noteRecord, rest []noteRecord)
	merge = func(got noteRecord, rest []noteRecord) {
		for i, n := range rest {
			next, err := mergeNotes(got, n)
			check(t, err)
			merge(next, slices.Delete(slices.Clone(rest), i, i+1))
		}
		if len(rest) > 0 {
			return
		}
		lines := strings.Fields(got.Text)
		slices.Sort(lines)
		if !slices.Equal(lines, []string{"a", "m", "n", "o"}) || !maps.Equal(got.Seen, map[string]uint64{"m": 2, "n": 1, "o": 1}) {
			t.Errorf("merged %q, %v", got.Text, got.Seen)
		}
	}
	for i, n := range versions {
		merge(n, slices.Delete(slices.Clone(versions), i, i+1))
	}
}

// TestNotesThatCannotBeMerged leaves notes as they are that became too large or no text, also
// if both together would be too large: no machine takes them for removed.
func TestNotesThatCannotBeMerged(t *testing.T) {
	identity := newTestIdentity(t)
	a, b := newMachine(t, "a", identity, nil), newMachine(t, "b", identity, nil)
	folder := Folder{FS: quickFS{}, Dir: t.TempDir()}
	both := func() {
		for range 2 {
			a.sync(folder, "t")
			b.sync(folder, "t")
		}
	}
	a.note("large", "- small\n")
	a.note("latin", "- text\n")
	both()
	file := func(name string) string {
		return filepath.Join(a.home, filepath.FromSlash(noteFolder), "memory", name+".md")
	}
	check(t, os.WriteFile(file("large"), []byte(strings.Repeat("- large\n", 200_000)), 0o600))
	check(t, os.WriteFile(file("latin"), []byte("- caf\xe9\n"), 0o600))
	both()
	if got := b.noteTexts(); got["large"] != "- small\n" || got["latin"] != "- text\n" {
		t.Errorf("b has %.200q", got)
	}
	b.note("latin", "- changed\n")
	b.sync(folder, "t")
	if r := a.sync(folder, "t"); len(r.Problems) != 1 {
		t.Errorf("problems %q", r.Problems)
	}
	check(t, os.WriteFile(file("latin"), []byte("- text again\n"), 0o600))
	both()
	if text := b.noteTexts()["latin"]; !strings.Contains(text, "changed") || !strings.Contains(text, "again") {
		t.Errorf("b has %q", text)
	}
	for i, m := range []*machine{a, b} {
		var text strings.Builder
		for n := range 40_000 {
			fmt.Fprintf(&text, "- machine %d line %d\n", i, n)
		}
		m.note("huge", text.String())
	}
	both()
	for i, m := range []*machine{a, b} {
		if text := m.noteTexts()["huge"]; strings.Count(text, fmt.Sprintf("- machine %d ", i)) != 40_000 {
			t.Errorf("%s lost lines of its own", m.name)
		}
	}
}

// TestNotesOfABackup edits a note in a home that was restored from a backup: the edit and what
// was changed after the backup are both kept.
func TestNotesOfABackup(t *testing.T) {
	identity := newTestIdentity(t)
	a, b := newMachine(t, "a", identity, nil), newMachine(t, "b", identity, nil)
	folder := Folder{FS: quickFS{}, Dir: t.TempDir()}
	a.note("x", "- one\n")
	a.sync(folder, "t")
	saved, err := os.ReadFile(filepath.Join(Dir(a.home), "notes.json"))
	check(t, err)
	for _, text := range []string{"- one\n- two\n", "- one\n- two\n- three\n"} {
		a.note("x", text)
		a.sync(folder, "t")
	}
	check(t, os.WriteFile(filepath.Join(Dir(a.home), "notes.json"), saved, 0o600))
	check(t, os.Remove(filepath.Join(Dir(a.home), "t", "state.json")))
	a.note("x", "- one\n- edited\n")
	for range 2 {
		a.sync(folder, "t")
		b.sync(folder, "t")
	}
	for _, m := range []*machine{a, b} {
		for _, line := range []string{"one", "three", "edited"} {
			if !strings.Contains(m.noteTexts()["x"], line) {
				t.Errorf("%s lost %q: %q", m.name, line, m.noteTexts()["x"])
			}
		}
	}
}

// TestRecordsDoNotHoldTheHead continues a session on one machine while another one only
// records something about it: the head moves on there.
func TestRecordsDoNotHoldTheHead(t *testing.T) {
	identity := newTestIdentity(t)
	a, b := newMachine(t, "a", identity, nil), newMachine(t, "b", identity, nil)
	folder := Folder{FS: quickFS{}, Dir: t.TempDir()}
	id := firn.NewID()
	_, err := a.Append(context.Background(), id, store.Start, firn.Entry{Body: &firn.Header{Session: id, Agent: "main"}})
	check(t, err)
	first := a.addMessage(id, "first")
	a.sync(folder, "t")
	b.sync(folder, "t")
	check(t, store.Bind(context.Background(), b.Store, "agent:main:k", id))
	b.add(id, firn.Entry{Body: &firn.Label{Target: first, Name: "here"}})
	next := a.addMessage(id, "next")
	for range 2 {
		a.sync(folder, "t")
		if r := b.sync(folder, "t"); len(r.Heads) > 0 {
			t.Errorf("heads %+v", r.Heads)
		}
	}
	for _, m := range []*machine{a, b} {
		if c := m.copyOf(id); c.withoutRecords(c.realHead()) != next {
			t.Errorf("the head of %s is %s, want %s", m.name, c.realHead(), next)
		}
	}
}
