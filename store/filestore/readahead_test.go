package filestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// longSession creates a session long enough for reading ahead, in several parts, with a
// damaged line far from its end.
func longSession(t *testing.T) *filestore.Store {
	t.Helper()
	home := t.TempDir()
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever, PartSize: 5_000_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	for i := range 300 {
		if _, err := st.Append(t.Context(), "long", store.Any, firn.UserText(strings.Repeat("word\n", i*5)), firn.AssistantText(strings.Repeat("x", 70_000*(i%2)))); err != nil {
			t.Fatal(err)
		}
		if i != 5 {
			continue
		}
		path := filepath.Join(home, "agents", "main", "sessions", "long.jsonl")
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString("no JSON\n"); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return st
}

// recordView is the comparable content of a record.
type recordView struct {
	at, next store.Pos
	id       firn.EntryID
	text     string
	gap      bool
}

func viewRecord(t *testing.T, r store.Record) recordView {
	t.Helper()
	out := recordView{at: r.At, next: r.Next, id: r.Glance.ID, gap: r.Gap != nil}
	if out.gap {
		return out
	}
	entry, err := r.Entry()
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := entry.Body.(*firn.Message); ok {
		out.text = m.Text()
	}
	return out
}

// TestReadAhead checks that reading a long session backwards returns the same records as
// forwards.
func TestReadAhead(t *testing.T) {
	st := longSession(t)
	var forwards []recordView
	for r, err := range st.Read(t.Context(), "long", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		forwards = append(forwards, viewRecord(t, r))
	}
	i := len(forwards)
	for r, err := range st.ReadBack(t.Context(), "long", store.End) {
		if err != nil {
			t.Fatal(err)
		}
		i--
		if got := viewRecord(t, r); i < 0 || got != forwards[i] {
			t.Fatalf("record %d read back is %.80v", i, got)
		}
	}
	if i != 0 || len(forwards) != 602 {
		t.Errorf("read %d records forwards, and %d less back", len(forwards), i)
	}
}

// TestReadAheadStops stops reading back at many places, and cancels the context: no
// goroutine may remain, and the error must be returned.
func TestReadAheadStops(t *testing.T) {
	st := longSession(t)
	for _, stop := range []int{1, 150, 170, 250, 400, 601} {
		n := 0
		for _, err := range st.ReadBack(t.Context(), "long", store.End) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("read %d records, wanted %d", n, stop)
		}

		ctx, cancel := context.WithCancel(t.Context())
		n = 0
		var last error
		for _, err := range st.ReadBack(ctx, "long", store.End) {
			if last = err; err == nil {
				n++
			}
			if n == stop {
				cancel()
			}
		}
		cancel()
		if !errors.Is(last, context.Canceled) && n != 602 {
			t.Errorf("canceled after %d records: %d were read, the end was %v", stop, n, last)
		}
	}
}
