package memory

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
)

// The texts of the erased session and those of others.
var (
	erasedWords = []string{"marzipan", "walrus", "quinoa", "zeppelin", "harmonica"}
	othersWords = []string{"Postgres", "tabs", "lighthouse", "granite", "orchard"}
)

// learned creates a folder in which s1 is the source of a fact of its own, a shared one, a
// superseding and a superseded one, named notes, an undone change and a consolidation.
func learned(t *testing.T, d *Dir) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	mine, other := []Source{{"s1", "e1"}}, []Source{{"s2", "e1"}}
	remember := func(name, text string, from []Source) string {
		t.Helper()
		kept, err := d.Remember(t.Context(), Draft{Name: name, Text: text, Sources: from})
		must(err)
		return kept.Change
	}
	learn := func(session firn.ID, text string, from []Source) {
		t.Helper()
		_, err := d.Learn(t.Context(), []Fact{{Category: Project, Text: text, Confidence: 0.8, Sources: from, written: d.clock(), spoken: true}}, session, "e9")
		must(err)
	}
	remember("", "The cake is made of marzipan", mine)
	remember("", "The wall is made of granite", other)
	remember("The walrus plan", "Feed the walrus at noon.", mine)
	remember("Harbour", "The lighthouse is red.", other)
	undone := remember("Secret harmonica", "Play the harmonica.", mine)
	_, err := d.Undo(t.Context(), undone)
	must(err)
	learn("s1", "The colour of the shop is quinoa brown", mine)
	learn("s2", "The colour of the shop is orchard green", other) // takes its place
	learn("s2", "The user prefers tabs over spaces", other)
	learn("s1", "The user prefers tabs over spaces", mine) // another source of the same fact
	learn("s2", "The database of the shop is Postgres", other)
	learn("s1", "The database of the shop is zeppelin", mine) // takes its place
	model := scripted.New(provider.Info{}, scripted.Reply("NONE"))
	_, err = (&Dreamer{Dir: d, Model: model, Sessions: sessionsOf(nil)}).Dream(t.Context(), DreamOptions{Now: true})
	must(err)
}

// allBytes is every file of a folder, with its name.
func allBytes(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		b.WriteString("== " + path + "\n" + string(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func has(text string, words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.Contains(strings.ToLower(text), strings.ToLower(w)) })
}

// TestEraseLeavesNothing checks every byte of a folder.
func TestEraseLeavesNothing(t *testing.T) {
	d, _ := folderOf(t, nil)
	learned(t, d)
	writeFile(t, d.root, "memory/.walrus.md.tmp-ABCDEFGHIJ", "Feed the walrus") // left of a process that died
	before := allBytes(t, d.root)
	if got := has(before, slices.Concat(erasedWords, othersWords)); len(got) != 10 {
		t.Fatalf("only %v exist at the start", got)
	}
	erased, err := d.Erase(t.Context(), "s1")
	if err != nil || erased.Facts != 3 || erased.Notes != 1 || erased.Kept != 1 {
		t.Errorf("got %+v, %v", erased, err)
	}
	after := allBytes(t, d.root)
	if left := has(after, append(erasedWords, "s1/e")); len(left) > 0 {
		t.Errorf("%v are left in\n%s", left, after)
	}
	if left := has(after, othersWords); len(left) != len(othersWords) {
		t.Errorf("of the statements of others only %v is left in\n%s", left, after)
	}
	if again, err := d.Erase(t.Context(), "s1"); err != nil || again != (Erased{}) || allBytes(t, d.root) != after {
		t.Errorf("a second time it finds %+v, %v", again, err)
	}
	// A consolidation that is still running finishes too late.
	late := []Fact{{Category: Project, Text: "The cake is made of marzipan", Confidence: 0.8, Sources: []Source{{"s1", "e7"}}, written: someDay, spoken: true}}
	if change, err := d.Learn(t.Context(), late, "s1", "e9"); err != nil || len(change.Files) > 0 || allBytes(t, d.root) != after {
		t.Errorf("a fact that was learned too late gives %+v, %v", change, err)
	}
	// The remaining changes can be read, listed and undone.
	changes, err := d.Changes()
	if err != nil || len(changes) == 0 {
		t.Fatalf("the changes are %+v, %v", changes, err)
	}
	for _, c := range changes {
		_, err := d.Undo(t.Context(), c.ID)
		if err != nil && !strings.Contains(err.Error(), "nothing is left to undo") {
			t.Errorf("undo %s of %s: %v", c.Kind, c.ID, err)
		}
	}
	if left := has(allBytes(t, d.root), erasedWords); len(left) > 0 {
		t.Errorf("undoing brings %v back", left)
	}
}

// TestEraseSomeEntries keeps the facts of other entries of the session.
func TestEraseSomeEntries(t *testing.T) {
	d, _ := folderOf(t, map[string]string{"memory/2026-08-01.md": "- one of walrus <!-- from s1/e1 -->\n- two of quinoa <!-- from s1/e2 -->\n- both of them <!-- from s1/e1, s1/e2 -->\n  - moved in, zeppelin <!-- from s1/e1 -->\n- by hand\n"})
	if _, err := d.Erase(t.Context(), "s1", "e1"); err != nil {
		t.Fatal(err)
	}
	if got, want := fileText(t, d, "memory/2026-08-01.md"), "- two of quinoa <!-- from s1/e2 -->\n- both of them <!-- from s1/e2 -->\n- by hand\n"; got != want {
		t.Errorf("remaining: %q, want %q", got, want)
	}
	none, _ := folderOf(t, nil)
	if erased, err := none.Erase(t.Context(), "s1"); err != nil || erased != (Erased{}) || fileText(t, none, "memory/.lock") != "(none)" {
		t.Errorf("where nothing is noted: %+v, %v", erased, err)
	}
}

// TestEraseCancelsDream checks that a running consolidation does not restore erased data.
func TestEraseCancelsDream(t *testing.T) {
	d, _ := folderOf(t, dreamHome)
	d.stepped = func(step string) {
		if step == PhasePrune {
			if _, err := Open(d.root, Options{Clock: d.clock}).Erase(t.Context(), "s2"); err != nil {
				t.Error(err)
			}
		}
	}
	if dream, err := (&Dreamer{Dir: d, Sessions: sessionsOf(fiveTalks())}).Dream(t.Context(), DreamOptions{}); err == nil {
		t.Errorf("it continued: %+v", dream)
	}
	if text := allBytes(t, d.root); strings.Contains(text, "Postgres") {
		t.Error("erased text reappeared")
	}
}

// TestEraseAgainAfterFailure fails every call once and repeats the erasure: then nothing is
// left.
func TestEraseAgainAfterFailure(t *testing.T) {
	whole, _ := folderOf(t, nil)
	learned(t, whole)
	step := 1
	if testing.Short() {
		step = 5
	}
	for n := 1; ; n += step {
		disk := faultfs.New()
		copyInto(t, disk, whole.root)
		d := on(disk)
		disk.FailNth(n, faultfs.Fault{Of: faultfs.Changing})
		_, err := d.Erase(t.Context(), "s1")
		if disk.Waiting() > 0 {
			if n < 10 {
				t.Errorf("it has only %d calls", n)
			}
			return
		}
		if _, err := d.Erase(t.Context(), "s1"); err != nil {
			t.Fatalf("after failing at call %d: %v", n, err)
		}
		if left := has(diskBytes(t, disk, "/m"), erasedWords); len(left) > 0 {
			t.Fatalf("failing at call %d (%v) leaves %v", n, err, left)
		}
	}
}

// copyInto copies a folder to /m.
func copyInto(t *testing.T, disk vfs.FS, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join("/m", strings.TrimPrefix(path, root))
		if e.IsDir() {
			return disk.MkdirAll(to)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return vfs.WriteFile(disk, to, data)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// diskBytes is every file below a directory, with its name.
func diskBytes(t *testing.T, disk vfs.FS, dir string) string {
	t.Helper()
	found, err := disk.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, f := range found {
		path := filepath.Join(dir, f.Name())
		if f.IsDir() {
			all += diskBytes(t, disk, path)
			continue
		}
		data, err := readAll(disk, path)
		if err != nil {
			t.Fatal(err)
		}
		all += "== " + path + "\n" + string(data)
	}
	return all
}
