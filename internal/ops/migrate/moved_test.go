package migrate_test

import (
	"testing"

	"firn.dev"
	"firn.dev/internal/ops/migrate"
	"firn.dev/store"
)

// TestCopyFollowsRemovedSessions checks that sessions archived, removed or restored after
// they were copied have the same state in the copy.
func TestCopyFollowsRemovedSessions(t *testing.T) {
	ctx := t.Context()
	from, to := files(t, t.TempDir()), files(t, t.TempDir())
	for _, id := range []firn.ID{"restored", "unarchived", "archived-removed", "removed", "archived"} {
		appendEntries(t, from, id, firn.UserText("hello"))
	}
	must(t, from.Remove(ctx, "restored", "by mistake"))
	must(t, from.Archive(ctx, "unarchived"))
	must(t, from.Archive(ctx, "archived-removed"))
	carry := func() {
		t.Helper()
		r, err := migrate.Run(ctx, from, to, migrate.Options{Copy: true})
		must(t, err)
		if !r.OK() {
			t.Errorf("they differ: %+v", r.Differ)
		}
		for id, here := range holdings(t, from) {
			there := holdings(t, to)[id]
			if there.Archived != here.Archived || there.Removed != here.Removed {
				t.Errorf("%s is archived %t, removed %t; in the copy %t, %t", id, here.Archived, here.Removed, there.Archived, there.Removed)
			}
		}
	}
	carry()
	must(t, from.Restore(ctx, "restored"))
	must(t, from.Unarchive(ctx, "unarchived"))
	must(t, from.Remove(ctx, "archived-removed", "old"))
	must(t, from.Remove(ctx, "removed", "old"))
	must(t, from.Archive(ctx, "archived"))
	carry()
	appendEntries(t, from, "restored", firn.UserText("again"))
	carry()
}

func holdings(t *testing.T, st store.Loader) map[firn.ID]store.Holding {
	t.Helper()
	all, err := st.Holdings(t.Context())
	must(t, err)
	byID := make(map[firn.ID]store.Holding)
	for _, h := range all {
		byID[h.ID] = h
	}
	return byID
}
