package cersei

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/store"
)

// TestInPlace appends to a session of Cersei in a store, and creates one: both sides see
// the same, before and after the store was closed.
func TestInPlace(t *testing.T) {
	home := t.TempDir()
	base := filepath.Join(home, "projects", "_project")
	if err := os.MkdirAll(base, 0o700); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"abc12345-transcript.jsonl": "abc12345.jsonl", "abc12345-transcript_part2.jsonl": "abc12345_part2.jsonl"} {
		if err := os.WriteFile(filepath.Join(base, to), []byte(read(t, from)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var st *sourcestore.Store
	open := func() {
		t.Helper()
		var err error
		if st, err = sourcestore.Open(home, New(Options{}), sourcestore.Options{InPlace: true}); err != nil {
			t.Fatal(err)
		}
	}
	add := func(id firn.ID, e firn.Entry) firn.EntryID {
		t.Helper()
		if _, err := st.Append(t.Context(), id, store.Any, e); err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	open()
	asked := add("abc12345", firn.NewEntry(firn.UserText("more").Body))
	add("abc12345", firn.AssistantText("no"))
	add("abc12345", firn.Hide(asked))
	check := func(id firn.ID, want ...string) {
		t.Helper()
		for _, reopened := range []bool{false, true} {
			if reopened {
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
				open()
			}
			if got := seen(entries(t, st, id)); !slices.Equal(got, want) {
				t.Errorf("firn sees %q (reopened %t), want %q", got, reopened, want)
			}
		}
	}
	check("abc12345", "User asked to fix tests.", "part two", "no")
	add("abc12345", firn.Hide(lastTombstone(t, st, "abc12345"))) // it has another ID since the store was closed
	check("abc12345", "User asked to fix tests.", "part two", "more", "no")
	// The second text is a call: Cersei skips summaries, so it still sees the messages
	// before.
	if got, want := cersei(t, both(t, base)), []string{"Reading.", "", "part two", "more", "no"}; !slices.Equal(got, want) {
		t.Errorf("Cersei sees %q, want %q", got, want)
	}
	add("fresh", firn.NewEntry(firn.UserText("hello").Body))
	check("fresh", "hello")
}

// both returns the contents of all parts of the session.
func both(t *testing.T, base string) (text string) {
	t.Helper()
	for _, name := range []string{"abc12345.jsonl", "abc12345_part2.jsonl"} {
		b, err := os.ReadFile(filepath.Join(base, name))
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	return text
}

// entries reads a session.
func entries(t *testing.T, st store.Store, id firn.ID) (all []firn.Entry) {
	t.Helper()
	for r, err := range st.Read(t.Context(), id, 0) {
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

func lastTombstone(t *testing.T, st store.Store, id firn.ID) (last firn.EntryID) {
	t.Helper()
	for _, e := range entries(t, st, id) {
		if _, ok := e.Body.(*firn.Tombstone); ok {
			last = e.ID
		}
	}
	return last
}
