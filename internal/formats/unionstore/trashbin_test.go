package unionstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/store"
)

// TestTrashBinAndRestore checks that a session that was taken over is moved to the trash bin and
// restored as a whole: the source's copy does not replace it.
func TestTrashBinAndRestore(t *testing.T) {
	home, source := t.TempDir(), t.TempDir()
	want := append(long(t, source, 3), "mine")
	u := union(t, home, source)
	defer u.Close()
	ctx := t.Context()
	if _, err := u.Append(ctx, "old", store.Any, firn.UserText("mine")); err != nil {
		t.Fatal(err)
	}
	if err := u.Remove(ctx, "old", "enough"); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Inspect(ctx, "old"); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("in the trash bin it is found: %v", err)
	}
	if got := ids(t, u); len(got) > 0 {
		t.Errorf("in the trash bin it is listed: %v", got)
	}
	if census, err := u.Census(ctx); err != nil || len(census) > 0 {
		t.Errorf("in the trash bin it is counted: %v, %v", census, err)
	}
	if _, err := u.Append(ctx, "old", store.Any, firn.UserText("more")); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("in the trash bin it is added to: %v", err)
	}
	if err := u.Restore(ctx, "old"); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Append(ctx, "old", store.Any, firn.UserText("more")); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, u, "old"); !slices.Equal(got, append(want, "more")) {
		t.Errorf("after restoring: %q", got)
	}
}

// TestPurgeMirrored checks that purging a session of a source erases it there, even if it
// was never taken over, and that its ID remains in use.
func TestPurgeMirrored(t *testing.T) {
	for _, taken := range []bool{false, true} {
		home, source := t.TempDir(), t.TempDir()
		long(t, source, 3)
		u := union(t, home, source)
		ctx := t.Context()
		if taken {
			if _, err := u.Append(ctx, "old", store.Any, firn.UserText("mine")); err != nil {
				t.Fatal(err)
			}
		}
		receipt, err := u.Purge(ctx, "old", "secret")
		if err != nil || receipt.Done.IsZero() || len(receipt.Files) == 0 {
			t.Fatalf("taken over %v: the receipt is %+v, %v", taken, receipt, err)
		}
		if got := ids(t, u); len(got) > 0 {
			t.Errorf("it is listed: %v", got)
		}
		if _, err := os.Stat(filepath.Join(source, "agents", "main", "sessions", "old.jsonl")); err == nil {
			t.Error("the source still has it")
		}
		long(t, source, 3) // the source has it again
		if _, err := u.Inspect(ctx, "old"); !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("it reappeared: %v", err)
		}
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPurgeEntryOfMirrored checks that purging an entry of a source's session keeps the
// others.
func TestPurgeEntryOfMirrored(t *testing.T) {
	home, source := t.TempDir(), t.TempDir()
	long(t, source, 3)
	u := union(t, home, source)
	defer u.Close()
	if _, err := u.Purge(t.Context(), "old", "secret", "e1"); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, u, "old"); !slices.Equal(got, []string{"word 0", "word 2"}) {
		t.Errorf("got %q", got)
	}
	if _, err := os.Stat(filepath.Join(source, "agents", "main", "sessions", "old.jsonl")); err == nil {
		t.Error("the source still contains it")
	}
}

// TestFollowTakeOver checks that a follower of a source's session receives a takeover, as
// does one that returns with a position of the source.
func TestFollowTakeOver(t *testing.T) {
	home, source := t.TempDir(), t.TempDir()
	long(t, source, 3)
	u := union(t, home, source)
	defer u.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	last, seen := store.Pos(0), 0
	for record, err := range u.Follow(ctx, "old", store.Start) {
		var moved *store.Moved
		if errors.As(err, &moved) {
			break
		}
		if err != nil || seen > 4 {
			t.Fatalf("after %d records: %v", seen, err)
		}
		if last, seen = record.Next, seen+1; seen == 4 {
			if _, err := u.Append(ctx, "old", store.Any, firn.UserText("mine")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, pos := range []store.Pos{last, last - 7, last + 1<<20} {
		for _, err := range u.Follow(ctx, "old", pos) {
			var moved *store.Moved
			if !errors.As(err, &moved) {
				t.Errorf("from %d of the source: %v", pos, err)
			}
			break
		}
	}
	info, err := u.Inspect(ctx, "old")
	if err != nil {
		t.Fatal(err)
	}
	again := 0
	for record, err := range u.Follow(ctx, "old", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		if again++; record.Next == info.End {
			break
		}
	}
	if again != 5 {
		t.Errorf("from the start there are %d records", again)
	}
	if _, err := u.Append(ctx, "old", info.End, firn.UserText("more")); err != nil {
		t.Fatal(err)
	}
	for record, err := range u.Follow(ctx, "old", info.End) {
		if err != nil || record.Glance.Kind != firn.KindMessage {
			t.Errorf("at the end of the copy: %v, %v", record.Glance.Kind, err)
		}
		break
	}
}
