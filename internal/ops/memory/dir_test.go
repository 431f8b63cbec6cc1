package memory

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
)

func TestRememberInDailyNote(t *testing.T) {
	d, _ := folderOf(t, nil)
	kept, err := d.Remember(t.Context(), Draft{Text: "# Tea is green\n- the bus leaves at nine\n\n"})
	if err != nil || len(kept.Refs) != 2 || kept.Note != "2026-08-05" {
		t.Fatalf("got %+v, %v", kept, err)
	}
	if got, want := fileText(t, d, "memory/2026-08-05.md"), "# 2026-08-05\n\n- Tea is green\n- the bus leaves at nine\n"; got != want {
		t.Errorf("the note is %q, want %q", got, want)
	}
	again, err := d.Remember(t.Context(), Draft{Text: "tea is GREEN."})
	if err != nil || again.Known != 1 || len(again.Refs) != 0 {
		t.Errorf("a known note gives %+v, %v", again, err)
	}
	if changes, err := d.Changes(); err != nil || len(changes) != 1 || len(changes[0].Edits) != 1 || len(changes[0].Edits[0].New) != 2 {
		t.Errorf("the changes are %+v, %v", changes, err)
	}
	if _, err := d.Undo(t.Context(), kept.Change); err != nil || fileText(t, d, "memory/2026-08-05.md") != "(none)" {
		t.Errorf("undone it is %q, %v", fileText(t, d, "memory/2026-08-05.md"), err)
	}
	if _, err := d.Remember(t.Context(), Draft{Text: " \n## \n"}); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("nothing at all gives %v", err)
	}
}

func TestRememberInNamedNoteAndForget(t *testing.T) {
	d, _ := folderOf(t, map[string]string{"MEMORY.md": "# Mine\n\nI wrote this.\n- [Old](memory/gone.md) — stale\n"})
	kept, err := d.Remember(t.Context(), Draft{Name: "Release: plan", Text: "We release on Fridays.\n\nNever on Mondays.", Type: "decision", Sources: []Source{{"s1", "e1"}}})
	if err != nil || kept.Note != "release-plan" {
		t.Fatalf("got %+v, %v", kept, err)
	}
	want := "---\nname: \"Release: plan\"\ndescription: We release on Fridays.\ntype: decision\ncreated: 2026-08-05T10:00:00Z\nsources:\n  - s1/e1\n---\n\nWe release on Fridays.\n\nNever on Mondays.\n"
	if got := fileText(t, d, "memory/release-plan.md"); got != want {
		t.Errorf("the note is\n%s\nwant\n%s", got, want)
	}
	if got, want := fileText(t, d, "MEMORY.md"), "# Mine\n\nI wrote this.\n\n- [Release: plan](memory/release-plan.md) — We release on Fridays.\n"; got != want {
		t.Errorf("the index is\n%s\nwant\n%s", got, want)
	}
	change, err := d.Forget(t.Context(), "release-plan")
	if err != nil || fileText(t, d, "memory/release-plan.md") != "(none)" || strings.Contains(fileText(t, d, "MEMORY.md"), "release") {
		t.Fatalf("after forgetting: %v, index %q", err, fileText(t, d, "MEMORY.md"))
	}
	if _, err := d.Undo(t.Context(), change.ID); err != nil || fileText(t, d, "memory/release-plan.md") != want {
		t.Errorf("after undoing: %v, %q", err, fileText(t, d, "memory/release-plan.md"))
	}
	all, err := d.Changes()
	if err != nil || len(all) != 3 || all[0].Kind != "undo" || !all[1].Undone || all[2].Undone {
		t.Errorf("the changes are %+v, %v", all, err)
	}
	if _, err := d.Forget(t.Context(), "nothing"); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("to forget nothing gives %v", err)
	}
}

func TestForgetOneFact(t *testing.T) {
	d, _ := folderOf(t, map[string]string{"memory/2026-08-01.md": "# 2026-08-01\n\n- one thing to know\n- another thing\n"})
	note, err := d.Note(t.Context(), "2026-08-01")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Forget(t.Context(), note.Facts()[0].Ref()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Forget(t.Context(), "Another thing"); err != nil {
		t.Fatal(err)
	}
	if got := fileText(t, d, "memory/2026-08-01.md"); got != "# 2026-08-01\n\n" {
		t.Errorf("remaining: %q", got)
	}
}

func TestClearAndUndo(t *testing.T) {
	files := map[string]string{"MEMORY.md": "# Mine\n", "memory/a.md": "text a\n", "memory/2026-08-01.md": "- b\n"}
	d, _ := folderOf(t, files)
	change, err := d.Clear(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if notes, err := d.Notes(t.Context()); err != nil || len(notes) != 0 {
		t.Fatalf("remaining: %v, %v", notes, err)
	}
	if _, err := d.Undo(t.Context(), change.ID); err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got := fileText(t, d, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestUndoKeepsEdits reverts the lines of a change in a file that was edited since.
func TestUndoKeepsEdits(t *testing.T) {
	d, _ := folderOf(t, map[string]string{"memory/2026-08-01.md": "- one thing here\n- another thing here\n- third thing here\n"})
	change, err := d.Forget(t.Context(), "another thing here")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, d.root, "memory/2026-08-01.md", "- one thing here\n- third thing here\n- written by hand\n")
	if _, err := d.Undo(t.Context(), change.ID); err != nil {
		t.Fatal(err)
	}
	if got, want := fileText(t, d, "memory/2026-08-01.md"), "- one thing here\n- another thing here\n- third thing here\n- written by hand\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHandEditsArePickedUp(t *testing.T) {
	d, c := folderOf(t, map[string]string{"memory/tea.md": "Green tea.\n"})
	shelf := Shelf{Agent: d}
	find := func(query string) string {
		hits, err := shelf.Find(t.Context(), query, 5, 0.25)
		if err != nil {
			t.Fatal(err)
		}
		if len(hits) == 0 {
			return ""
		}
		return hits[0].Text
	}
	if got := find("which tea"); got != "Green tea." {
		t.Errorf("found %q", got)
	}
	c.pass(1)
	writeFile(t, d.root, "memory/tea.md", "Black tea.\n")
	if got := find("which tea"); got != "Black tea." {
		t.Errorf("after an edit: %q", got)
	}
}

// TestEditsWithinATick checks that an edit immediately after another is noticed even if the
// file has the same length and time.
func TestEditsWithinATick(t *testing.T) {
	d, c := folderOf(t, map[string]string{"memory/tea.md": "Green tea.\n"})
	full := filepath.Join(d.root, "memory", "tea.md")
	edit := func(text string) {
		t.Helper()
		f, err := os.OpenFile(full, os.O_WRONLY, 0) // the same file, as some editors do
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close(), os.Chtimes(full, someDay, someDay)); err != nil {
			t.Fatal(err)
		}
	}
	edit("Green tea.\n")
	for _, want := range []string{"Green", "Black"} {
		n, err := d.Note(t.Context(), "tea")
		if err != nil || !strings.HasPrefix(n.Body, want) {
			t.Errorf("it is %q, %v, want %s", n.Body, err, want)
		}
		edit("Black tea.\n")
		c.pass(time.Hour)
	}
}

// TestLockWithFutureTime is not waited for: its clock was wrong.
func TestLockWithFutureTime(t *testing.T) {
	d, c := folderOf(t, nil)
	c.pass(48 * time.Hour)
	if _, err := d.claim(t.Context(), "one", time.Hour); err != nil {
		t.Fatal(err)
	}
	c.pass(-48 * time.Hour)
	if _, err := d.claim(t.Context(), "another", time.Hour); err != nil {
		t.Error(err)
	}
}

// TestFilesThatAreNotNotes adds files that cannot be notes: they do not hide others and are not
// changed.
func TestFilesThatAreNotNotes(t *testing.T) {
	d, _ := folderOf(t, map[string]string{"memory/tea.md": "Tea is green.\n"})
	if err := os.Symlink(t.TempDir(), d.File("folder")); err != nil {
		t.Fatal(err)
	}
	huge, err := os.Create(d.File("huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(huge.Truncate(maxRead+1), huge.Close()); err != nil {
		t.Fatal(err)
	}
	if notes, err := d.Notes(t.Context()); err != nil || len(notes) != 1 || notes[0].Name != "tea" {
		t.Errorf("the notes are %v, %v", notes, err)
	}
	if _, err := d.Forget(t.Context(), "huge"); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("forgetting a note that is too large gives %v", err)
	}
	if _, err := d.Remember(t.Context(), Draft{Name: "huge", Text: "small"}); !errors.Is(err, firn.ErrTooLarge) {
		t.Errorf("replacing a note that is too large gives %v", err)
	}
	if _, err := d.Clear(t.Context()); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(d.File("huge")); err != nil || info.Size() != maxRead+1 {
		t.Errorf("the note that is too large became %v, %v", info, err)
	}
}

// TestForgetALargeNote checks that the description of a large change can be read again.
func TestForgetALargeNote(t *testing.T) {
	text := strings.Repeat("<", 2*maxFile) + "\n" // which a change spells with six bytes each
	d, _ := folderOf(t, map[string]string{"memory/lines.md": text})
	change, err := d.Forget(t.Context(), "lines")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Undo(t.Context(), change.ID); err != nil || fileText(t, d, "memory/lines.md") != text {
		t.Errorf("undoing it gives %v", err)
	}
}

// TestUndoKeepsHandwrittenLines undoes a change that also added a handwritten note to the
// index: that line stays.
func TestUndoKeepsHandwrittenLines(t *testing.T) {
	for _, index := range []string{"# Mine\n\n- [Plan](memory/plan.md)\n", ""} {
		files := map[string]string{"memory/plan.md": "---\nname: Plan\n---\n\nPlan\n", "memory/boats.md": "---\nname: Boats\n---\n\nBoats\n"}
		if index != "" {
			files[IndexFile] = index
		}
		d, _ := folderOf(t, files)
		change, err := d.Forget(t.Context(), "plan")
		if err != nil || !strings.Contains(fileText(t, d, IndexFile), "memory/boats.md") {
			t.Fatalf("the list is %q, %v", fileText(t, d, IndexFile), err)
		}
		undone, err := d.Undo(t.Context(), change.ID)
		if err != nil {
			t.Fatal(err)
		}
		got := fileText(t, d, IndexFile)
		if !strings.Contains(got, "memory/boats.md") || index != "" && !strings.Contains(got, "memory/plan.md") {
			t.Errorf("undone, the list is %q", got)
		}
		if fileText(t, d, "memory/plan.md") != files["memory/plan.md"] {
			t.Error("the note was not restored")
		}
		for _, e := range undone.Edits {
			for _, line := range e.Old {
				if strings.Contains(line, "boats") {
					t.Errorf("it reports the removal of %q", line)
				}
			}
		}
	}
}

// TestLinks passes over links that lead out of the folder or to themselves, and
// follows those within it.
func TestLinks(t *testing.T) {
	d, _ := folderOf(t, map[string]string{"memory/tea.md": "Tea is green.\n"})
	outside := filepath.Join(t.TempDir(), "secret.md")
	writeFile(t, filepath.Dir(outside), "secret.md", "The password of the safe is swordfish.\n")
	for name, to := range map[string]string{"out": outside, "loop": d.File("loop"), "inside": "tea.md", "nowhere": "gone.md"} {
		if err := os.Symlink(to, d.File(name)); err != nil {
			t.Fatal(err)
		}
	}
	notes, err := d.Notes(t.Context())
	if err != nil || len(notes) != 2 || notes[0].Name != "inside" || notes[1].Name != "tea" {
		t.Errorf("the notes are %v, %v", notes, err)
	}
	faults, err := d.Faults(t.Context())
	if err != nil || len(faults) != 2 || faults[0].Name != "loop" || faults[1].Name != "out" || !strings.Contains(faults[1].Err.Error(), "leads out") {
		t.Errorf("the faults are %v, %v", faults, err)
	}
	if _, err := d.Note(t.Context(), "out"); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("on request it is %v", err)
	}
	if hits, err := (Shelf{Agent: d}).Find(t.Context(), "password safe", 5, -1); err != nil || len(hits) != 0 {
		t.Errorf("it finds %+v, %v", hits, err)
	}
	if _, err := d.Remember(t.Context(), Draft{Name: "out", Text: "mine"}); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("writing where a link leads out gives %v", err)
	}
	if _, err := d.Remember(t.Context(), Draft{Text: "the kettle is new"}); err != nil {
		t.Error(err)
	}
}

// TestFolderIsSymlink uses a folder that is a symbolic link.
func TestFolderIsSymlink(t *testing.T) {
	d, _ := folderOf(t, nil)
	real := t.TempDir()
	writeFile(t, real, "tea.md", "Tea is green.\n")
	err := errors.Join(os.Symlink(real, filepath.Join(d.root, memoryDir)), os.Symlink("tea.md", filepath.Join(real, "green.md")))
	if err != nil {
		t.Fatal(err)
	}
	if notes, err := d.Notes(t.Context()); err != nil || len(notes) != 2 {
		t.Errorf("the notes are %v, %v", notes, err)
	}
}
