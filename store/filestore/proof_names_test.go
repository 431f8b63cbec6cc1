package filestore_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestRemoveKeepsSimilarNames checks that removing a session does not touch sessions with
// similar names.
func TestRemoveKeepsSimilarNames(t *testing.T) {
	ids := []firn.ID{"a", "a_party", "a_part2x", "a_part", "a_part2.jsonl.x", "a.jsonl.torn-5", "a.jsonl.rescued-x", "a.jsonl", "a_part2_part3x"}
	ctx := context.Background()
	st := openHome(t, t.TempDir(), filestore.Options{PartSize: 300, Sync: filestore.SyncNever})
	var kept [][]firn.EntryID
	for _, id := range ids {
		var mine []firn.EntryID
		for range 4 {
			e := verifiableEntry(100)
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

// TestRemovedWhileListing checks that a list does not fail when a session is removed
// concurrently.
func TestRemovedWhileListing(t *testing.T) {
	ctx := context.Background()
	for moment, met := 1, true; met; moment++ {
		fsys := faultfs.New()
		st := openHome(t, "/home", filestore.Options{FS: fsys, PartSize: 300})
		for _, id := range []firn.ID{"a", "b"} {
			for range 4 {
				_, err := st.Append(ctx, id, store.Any, verifiableEntry(100))
				must(t, err)
			}
		}
		var looks atomic.Int64
		fsys.Hook(func(faultfs.Kind, string) {
			if int(looks.Add(1)) == moment {
				fsys.Hook(nil)
				_, err := st.Purge(ctx, "a", "asked for")
				must(t, err)
			}
		})
		var ids []firn.ID
		for info, err := range st.List(ctx, store.Query{}) {
			must(t, err)
			ids = append(ids, info.ID)
		}
		fsys.Hook(nil)
		if slices.Sort(ids); !slices.Equal(ids, []firn.ID{"a", "b"}) && !slices.Equal(ids, []firn.ID{"b"}) {
			t.Errorf("removed at check %d, and then listed %v", moment, ids)
		}
		met = int(looks.Load()) >= moment
	}
}
