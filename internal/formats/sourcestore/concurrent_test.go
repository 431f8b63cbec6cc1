package sourcestore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/store"
)

const someID = firn.ID("0b6f3f0e-4f6c-4c3e-9f1a-2f6d0c1b2a3d")

// begun returns a session in a tool's folder with the tool's ID.
func begun(t *testing.T, tool dialect.Tool, opts sourcestore.Options) (home string, st *sourcestore.Store, id firn.ID) {
	t.Helper()
	home = t.TempDir()
	opts.InPlace = true
	st = open(t, home, tool, opts)
	if _, err := st.Append(t.Context(), someID, store.Start, talk()...); err != nil {
		t.Fatal(err)
	}
	return home, st, theOnly(t, home, tool)
}

// TestTwoWriters checks two processes that alternate on one session while time passes, so
// that CrabTalk's first line changes: acknowledged entries are in the files.
func TestTwoWriters(t *testing.T) {
	for _, tool := range dialects.Others() {
		t.Run(string(tool.Name()), func(t *testing.T) {
			home, a, id := begun(t, tool, sourcestore.Options{})
			b := open(t, home, tool, sourcestore.Options{InPlace: true})
			now := time.Now()
			want := transcript
			for i := range 8 {
				word := fmt.Sprintf("WORD%d.", i)
				e := firn.NewEntry(firn.UserText(word).Body)
				if i%2 == 1 {
					e = firn.NewEntry(firn.AssistantText(word).Body)
				}
				e.Time = now.Add(time.Duration(5*i) * time.Second)
				st, name := a, someID
				if i/2%2 == 0 {
					st, name = b, id
				}
				if _, err := st.Append(t.Context(), name, store.Any, e); err != nil {
					t.Fatalf("append %d: %v", i, err)
				}
				want += " | " + word
				if got := spoken(t, open(t, home, tool, sourcestore.Options{}), id); got != want {
					t.Fatalf("after append %d: got\n%s\nwant\n%s", i, got, want)
				}
			}
		})
	}
}

// TestReplaced checks that entries are appended to the new file when a tool replaces its
// file while it is open here.
func TestReplaced(t *testing.T) {
	for _, tool := range dialects.All() {
		t.Run(string(tool.Name()), func(t *testing.T) {
			home, st, id := begun(t, tool, sourcestore.Options{})
			files, err := st.Files(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			replace(t, home, files[0])
			asked := firn.NewEntry(firn.UserText("afterwards?").Body)
			end, err := st.Append(t.Context(), id, store.Any, asked)
			if err != nil {
				t.Fatal(err)
			}
			replace(t, home, files[0])
			answer := firn.NewEntry(firn.AssistantText("Afterwards.").Body)
			answer.Parent = asked.ID // the file may have another ID for it
			if _, err := st.Append(t.Context(), id, end, answer); err != nil {
				t.Fatal(err)
			}
			if got, want := spoken(t, open(t, home, tool, sourcestore.Options{}), id), transcript+" | afterwards? | Afterwards."; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if err := os.Remove(files[0]); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(firn.UserText("still there?").Body)); !errors.Is(err, firn.ErrReplaced) {
				t.Errorf("once the file is gone: %v, want ErrReplaced", err)
			}
		})
	}
}

// replace replaces a file by a copy.
func replace(t *testing.T, home, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(home, "copy")
	if err := os.WriteFile(other, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, name); err != nil {
		t.Fatal(err)
	}
}

// TestCutShort checks that a file that a tool truncates and rewrites is detected.
func TestCutShort(t *testing.T) {
	for _, tool := range dialects.Others() {
		t.Run(string(tool.Name()), func(t *testing.T) {
			home, st, id := begun(t, tool, sourcestore.Options{})
			files, err := st.Files(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			short, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(firn.UserText("this is taken back").Body)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(files[0], short, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(firn.UserText("and this stays").Body)); err != nil {
				t.Fatal(err)
			}
			if got, want := spoken(t, open(t, home, tool, sourcestore.Options{}), id), transcript+" | and this stays"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// noRename is a file system on which renames can be made to fail, so that no index and no
// first line can be written.
type noRename struct {
	vfs.FS
	broken *atomic.Bool
}

func (f noRename) Rename(from, to string) error {
	if f.broken.Load() {
		return fmt.Errorf("rename %s: the disk is tired", from)
	}
	return f.FS.Rename(from, to)
}

// TestIndexCannotBeWritten checks that entries are acknowledged even if the tool's index
// cannot be written: otherwise the caller would append them again.
func TestIndexCannotBeWritten(t *testing.T) {
	keeps := map[dialect.Name]bool{dialect.OpenClaw: true, dialect.Claw0: true, dialect.CrabTalk: true}
	for _, tool := range dialects.All() {
		t.Run(string(tool.Name()), func(t *testing.T) {
			var broken atomic.Bool
			var reported []error
			home, st, id := begun(t, tool, sourcestore.Options{FS: noRename{vfs.OS{}, &broken}, Report: func(err error) { reported = append(reported, err) }})
			broken.Store(true)
			asked, answer := firn.NewEntry(firn.UserText("is it safe?").Body), firn.NewEntry(firn.AssistantText("It is.").Body)
			asked.Time = time.Now()
			answer.Time = asked.Time.Add(time.Minute)
			end, err := st.Append(t.Context(), id, store.Any, asked, answer)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(reported) > 0; got != keeps[tool.Name()] {
				t.Errorf("received %v", reported)
			}
			broken.Store(false)
			if _, err := st.Append(t.Context(), id, end, firn.NewEntry(firn.UserText("good").Body)); err != nil {
				t.Errorf("at the end that was returned: %v", err)
			}
			if got, want := spoken(t, open(t, home, tool, sourcestore.Options{}), id), transcript+" | is it safe? | It is. | good"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
