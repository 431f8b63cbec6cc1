package claudecode

import (
	"bytes"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/store"
	"firn.dev/window"
)

// recorded is a transcript that Claude Code wrote: parallel calls, with each block of a
// response on its own line.
const recorded = "1af7fc5e-8455-4414-9ccd-011d40f70b2a"

// inFolder stores a transcript in a Claude Code folder and opens that for writing in place.
func inFolder(t *testing.T, data []byte) *sourcestore.Store {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, "projects", "-w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, recorded+".jsonl"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return reopen(t, home)
}

func reopen(t *testing.T, home string) *sourcestore.Store {
	t.Helper()
	st, err := sourcestore.Open(home, New(), sourcestore.Options{InPlace: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// stored returns all entries of the transcript in a folder.
func stored(t *testing.T, st *sourcestore.Store) (all []firn.Entry) {
	t.Helper()
	for r, err := range st.Read(t.Context(), recorded, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Entry()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// words returns the texts and calls of a session that are sent to the model. Results are
// excluded, since the placeholder for a hidden result depends on the reader.
func words(t *testing.T, back iter.Seq2[firn.Record, error]) (all []string) {
	t.Helper()
	path, err := window.Collect(back)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range window.Build(path, window.Options{}).Items {
		for _, p := range item.Message.Parts {
			switch p := p.(type) {
			case firn.Text:
				all = append(all, p.Text)
			case firn.ToolCall:
				all = append(all, "call "+p.ID)
			}
		}
	}
	return all
}

// without returns the texts and calls that would be sent if entries were hidden by
// tombstones in firn's log.
func without(t *testing.T, entries []firn.Entry, hidden ...firn.EntryID) []string {
	t.Helper()
	entries = slices.Clone(entries)
	for _, id := range hidden {
		e := firn.NewEntry(firn.Hide(id).Body)
		e.Parent = entries[len(entries)-1].ID
		entries = append(entries, e)
	}
	return words(t, func(yield func(firn.Record, error) bool) {
		for i, e := range slices.Backward(entries) {
			if !yield(firn.NewRecord(firn.Pos(i), firn.Pos(i+1), e), nil) {
				return
			}
		}
	})
}

// TestHideTwo hides two messages of a recorded transcript in place, in either order: the
// rest of the conversation does not change.
func TestHideTwo(t *testing.T) {
	data, err := os.ReadFile("testdata/transcripts/" + recorded + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	whole := stored(t, inFolder(t, data))
	var ids []firn.EntryID
	for _, e := range whole {
		if e.Body.Kind() == firn.KindMessage {
			ids = append(ids, e.ID)
		}
	}
	last := len(ids) - 1
	for _, early := range []int{0, 2, 4, 5, 8} {
		for _, late := range []int{last, last - 5, 14} {
			for _, pair := range [][2]int{{late, early}, {early, late}} {
				st := inFolder(t, data)
				for _, n := range pair {
					if _, err := st.Append(t.Context(), recorded, store.Any, firn.Hide(ids[n])); err != nil {
						t.Fatalf("hide message %d of %v: %v", n, pair, err)
					}
				}
				want := without(t, whole, ids[late], ids[early])
				for _, st := range []*sourcestore.Store{st, reopen(t, st.Home())} {
					if got := words(t, st.ReadBack(t.Context(), recorded, store.End)); !slices.Equal(got, want) {
						t.Errorf("messages %v are hidden: %d words are sent\n%.60q\nwant %d\n%.60q", pair, len(got), got, len(want), want)
					}
				}
			}
		}
	}
}

// TestAppendAfterAnyEnd appends to a transcript that ends anywhere, even within a turn: no
// message is lost.
func TestAppendAfterAnyEnd(t *testing.T) {
	data, err := os.ReadFile("testdata/transcripts/" + recorded + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte{'\n'})
	for n := range lines[1:] {
		part := bytes.Join(lines[:n+1], nil)
		st := inFolder(t, part)
		want := append(words(t, st.ReadBack(t.Context(), recorded, store.End)), "go on")
		if _, err := st.Append(t.Context(), recorded, store.Any, firn.UserText("go on")); err != nil {
			t.Fatal(err)
		}
		for _, st := range []*sourcestore.Store{st, reopen(t, st.Home())} {
			if got := words(t, st.ReadBack(t.Context(), recorded, store.End)); !slices.Equal(got, want) {
				t.Errorf("cut after line %d: got\n%.60q\nwant\n%.60q", n+1, got, want)
			}
		}
	}
}
