package filestore_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestTooLongLine tests a transcript with a line over the limit: all ways to read report it
// and continue, appending works, and a higher limit makes it readable.
func TestTooLongLine(t *testing.T) {
	const limit = 1 << 20
	home := t.TempDir()
	open := func(limit int64) *filestore.Store {
		return reviewOpen(t, home, filestore.Options{MaxLine: limit})
	}
	st := open(8 * limit)
	id := firn.ID("long")
	for _, text := range []string{"first", strings.Repeat("long ", limit), "last"} {
		if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(firn.UserText(text).Body)); err != nil {
			t.Fatal(err)
		}
	}
	st.Close()
	before, err := os.ReadFile(reviewTranscript(home, id))
	if err != nil {
		t.Fatal(err)
	}

	st = open(limit)
	if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(firn.UserText("more").Body)); err != nil {
		t.Fatal(err)
	}
	for name, records := range readWays(t, st, id) {
		if got := strings.Join(records, " "); got != "header message too-long message message" {
			t.Errorf("%s: %s", name, got)
		}
	}
	for info, err := range st.List(t.Context(), store.Query{}) {
		if err != nil || info.ID != id || info.Fault != "" || info.Prompt != "first" {
			t.Errorf("listed %+v, %v", info, err)
		}
	}
	if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(firn.UserText(strings.Repeat("long ", limit)).Body)); !errors.Is(err, firn.ErrTooLarge) {
		t.Errorf("an entry over the limit: %v", err)
	}
	if _, err := st.Append(t.Context(), "new", store.Any, firn.NewEntry(firn.UserText(strings.Repeat("long ", limit)).Body)); !errors.Is(err, firn.ErrTooLarge) {
		t.Errorf("a session that begins with an entry over the limit: %v", err)
	}
	for line, err := range st.Lines(t.Context(), id) {
		if !errors.Is(err, firn.ErrTooLarge) || !strings.Contains(err.Error(), "store.max_line") || line != nil {
			t.Errorf("carrying it yields %d bytes, %v", len(line), err)
		}
	}
	st.Close()
	after, err := os.ReadFile(reviewTranscript(home, id))
	if err != nil || !strings.HasPrefix(string(after), string(before)) || strings.Count(string(after), "\n") != 5 {
		t.Errorf("the transcript changed (%v): %d lines", err, strings.Count(string(after), "\n"))
	}
	st = open(8 * limit)
	if n := reviewCount(t, st, id); n != 4 {
		t.Errorf("with a higher limit there are %d entries", n)
	}
	carried := 0
	for line, err := range st.Lines(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		carried += len(line) + 1
	}
	if carried != len(after) {
		t.Errorf("with a higher limit %d of %d bytes were carried", carried, len(after))
	}
}

// readWays reads a session in every way, and returns the results oldest first.
func readWays(t *testing.T, st *filestore.Store, id firn.ID) map[string][]string {
	t.Helper()
	ways := make(map[string][]string)
	add := func(way string, r store.Record, err error, first bool) {
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		what := "message"
		switch {
		case r.Gap != nil:
			what = string(r.Gap.Kind)
			if r.Next-r.At < 5<<20 || !strings.Contains(r.Gap.Detail, "store.max_line") {
				t.Errorf("%s: the gap is %+v", way, r.Gap)
			}
		case r.Glance.Kind == firn.KindHeader:
			what = "header"
		}
		if first {
			ways[way] = append([]string{what}, ways[way]...)
		} else {
			ways[way] = append(ways[way], what)
		}
	}
	for r, err := range st.Read(t.Context(), id, store.Start) {
		add("read", r, err, false)
	}
	for r, err := range st.ReadBack(t.Context(), id, store.End) {
		add("read back", r, err, true)
	}
	n := 0
	for r, err := range st.Follow(t.Context(), id, store.Start) {
		add("follow", r, err, false)
		if n++; n == 5 {
			break
		}
	}
	return ways
}

// TestTooLongPurge purges an entry in a line over the limit. It must be found.
func TestTooLongPurge(t *testing.T) {
	home := t.TempDir()
	st := reviewOpen(t, home, filestore.Options{MaxLine: 4 << 20})
	e := firn.NewEntry(firn.UserText(fmt.Sprintf("secret %0*d", 2<<20, 0)).Body)
	id := firn.ID("long")
	if _, err := st.Append(t.Context(), id, store.Any, e); err != nil {
		t.Fatal(err)
	}
	st.Close()
	st = reviewOpen(t, home, filestore.Options{MaxLine: 1 << 20})
	if _, err := st.Purge(t.Context(), id, "test", e.ID); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(reviewTranscript(home, id)); err != nil || strings.Contains(string(data), "secret") {
		t.Errorf("the entry is still there (%v)", err)
	}
}
