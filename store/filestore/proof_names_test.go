package filestore_test

import (
	"context"
	"slices"
	"testing"

	"firn"
	"firn/store"
	"firn/store/filestore"
)

// Sessions whose names look like files of another one are not touched when
// that one is put away.
func TestNeighboursStay(t *testing.T) {
	ids := []firn.ID{"a", "a_party", "a_part2x", "a_part", "a_part2.jsonl.x", "a.jsonl.torn-5", "a.jsonl.rescued-x", "a.jsonl", "a_part2_part3x"}
	ctx := context.Background()
	st := openHome(t, t.TempDir(), filestore.Options{PartSize: 300, Sync: filestore.SyncNever})
	var kept [][]firn.EntryID
	for _, id := range ids {
		var mine []firn.EntryID
		for range 4 {
			e := vouched(100)
			_, err := st.Append(ctx, id, store.Any, e)
			must(t, err)
			mine = append(mine, e.ID)
		}
		kept = append(kept, mine)
	}
	check := func(from int) {
		t.Helper()
		for i, id := range ids[from:] {
			r, err := readSession(st, id)
			if err != nil || !slices.Equal(r.ids(), kept[from+i]) {
				t.Errorf("session %s has %d entries, %v", id, len(r.entries), err)
			}
		}
	}
	must(t, st.Remove(ctx, "a", "to try it"))
	check(1)
	must(t, st.Restore(ctx, "a"))
	check(0)
	_, err := st.Purge(ctx, "a", "asked for")
	must(t, err)
	check(1)
}
