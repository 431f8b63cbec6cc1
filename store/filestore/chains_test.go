package filestore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/chain"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// chainOf returns the last record of a session's hash chain, and the differences of its
// transcript from the chain.
func chainOf(t *testing.T, path string) (last chain.Link, found []chain.Difference) {
	t.Helper()
	id := firn.ID(strings.TrimSuffix(filepath.Base(path), ".jsonl"))
	source := journal.Source{FS: vfs.OS{}, Path: path}
	last, ok, err := chain.Last(source.FS, path)
	if err != nil || !ok {
		t.Fatalf("%s has no hash chain: %v", filepath.Base(path), err)
	}
	check, err := chain.NewCheck(source, id, func(d chain.Difference) { found = append(found, d) })
	if err != nil {
		t.Fatal(err)
	}
	for line, err := range source.Lines(0) {
		if err != nil {
			t.Fatal(err)
		}
		check.Line(line)
	}
	if err := check.Close(); err != nil {
		t.Fatal(err)
	}
	return last, found
}

// TestChainCovers appends to a session in several parts, by one store after the other: the
// hash chain covers all of it once the store is closed.
func TestChainCovers(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var id firn.ID
	for range 3 {
		st := reviewOpen(t, home, filestore.Options{PartSize: 500})
		if id == "" {
			id = reviewBegin(t, st, 5)
		}
		for range 4 {
			if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "again"}}})); err != nil {
				t.Fatal(err)
			}
		}
		end, err := st.AppendDeferred(t.Context(), id, store.Any)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		if last, found := chainOf(t, reviewTranscript(home, id)); last.End != end || len(found) > 0 {
			t.Errorf("the chain ends at %d, the session at %d, and %v differ", last.End, end, found)
		}
	}
}

// TestChainOfErased purges entries, the last one too: the chain is kept, nothing else
// differs, and it grows again with the next append.
func TestChainOfErased(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	st := reviewOpen(t, home, filestore.Options{})
	id := reviewBegin(t, st, 6)
	st.Close()
	st = reviewOpen(t, home, filestore.Options{})
	var ids []firn.EntryID
	for r, err := range st.Read(t.Context(), id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.Glance.ID)
	}
	if _, err := st.Purge(t.Context(), id, "test", ids[2], ids[len(ids)-1]); err != nil {
		t.Fatal(err)
	}
	end, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "after"}}}))
	if err != nil {
		t.Fatal(err)
	}
	st.Close()
	last, found := chainOf(t, reviewTranscript(home, id))
	if last.End != end || len(found) != 2 || found[0].Kind != chain.Erased || found[1].Kind != chain.Erased {
		t.Errorf("the chain ends at %d, want %d; the differences are %v, want two erased lines", last.End, end, found)
	}
}

// TestChainMoves removes and restores a session with its chain, and purges it with its chain.
func TestChainMoves(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	st := reviewOpen(t, home, filestore.Options{})
	id := reviewBegin(t, st, 3)
	st.Close()
	path := reviewTranscript(home, id)
	want, err := os.ReadFile(chain.Path(path))
	if err != nil {
		t.Fatal(err)
	}
	st = reviewOpen(t, home, filestore.Options{})
	defer st.Close()
	if err := st.Remove(t.Context(), id, "test"); err != nil {
		t.Fatal(err)
	}
	if left := reviewFiles(t, home, "agents/*/sessions/*.chain"); len(left) > 0 {
		t.Errorf("after removing, %v is left", left)
	}
	if moved := reviewFiles(t, home, "bin/*/*.chain"); len(moved) != 1 {
		t.Errorf("in the bin there are %v", moved)
	}
	if err := st.Restore(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(chain.Path(path)); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the restored chain differs: %v", err)
	}
	if _, err := st.Purge(t.Context(), id, "test"); err != nil {
		t.Fatal(err)
	}
	if left := append(reviewFiles(t, home, "agents/*/sessions/*.chain*"), reviewFiles(t, home, "bin/*/*.chain*")...); len(left) > 0 {
		t.Errorf("a purge leaves %v", left)
	}
}

// TestChainOfChanged changes a transcript and appends to it: the chain is not extended over
// the change.
func TestChainOfChanged(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	st := reviewOpen(t, home, filestore.Options{})
	id := reviewBegin(t, st, 4)
	st.Close()
	path := reviewTranscript(home, id)
	before, _ := chainOf(t, path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	reviewWrite(t, path, string(bytes.Join(append(lines[:2:2], lines[3:]...), nil))) // without the third line
	st = reviewOpen(t, home, filestore.Options{})
	if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: strings.Repeat("x", 2000)}}})); err != nil {
		t.Fatal(err)
	}
	st.Close()
	if last, found := chainOf(t, path); last != before || len(found) != 1 || found[0].Kind != chain.Removed {
		t.Errorf("the chain went from %d to %d, and the differences are %v, want a removed line", before.End, last.End, found)
	}
}
