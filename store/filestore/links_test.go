package filestore_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestHashLinksOfTwoWriters has two stores append in turn, and check the position between.
func TestHashLinksOfTwoWriters(t *testing.T) {
	home := t.TempDir()
	one, two := openHome(t, home, filestore.Options{}), openHome(t, home, filestore.Options{})
	for range 3 {
		for _, st := range []*filestore.Store{one, two} {
			if _, err := st.Append(t.Context(), "s1", store.Any, firn.UserText("a"), firn.UserText("b")); err != nil {
				t.Fatal(err)
			}
		}
		for _, st := range []*filestore.Store{one, two} { // a check of the position
			if _, err := st.Append(t.Context(), "s1", store.Any); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := readSession(one, "s1")
	must(t, err)
	must(t, r.checkChain())
	if r.links.Linked != 13 {
		t.Errorf("%d lines are linked, not 13", r.links.Linked)
	}
}

// TestBatchIsNotCopied checks that the lines of a large batch are encoded into a buffer of
// the right size, by the bytes that an append allocates.
func TestBatchIsNotCopied(t *testing.T) {
	st, err := filestore.Open(t.TempDir(), filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	const entries, text = 200, 5000
	batch := make([]firn.Entry, entries)
	for i := range batch {
		batch[i] = firn.UserText(strings.Repeat("a text\n", text/7))
	}
	least := uint64(math.MaxUint64) // other goroutines may allocate too
	for i := range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := st.Append(t.Context(), firn.ID(fmt.Sprint("s", i)), store.Start, batch...); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > 2*entries*text {
		t.Errorf("an append of %d bytes allocates %d", entries*text, least)
	}
}
