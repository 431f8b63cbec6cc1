package filestore_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestPurgeIsNotUndone checks that another process that had a purged session open
// saves nothing of it.
func TestPurgeIsNotUndone(t *testing.T) {
	for name, removed := range map[string]bool{"in its place": false, "in the trash bin": true} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			a, b := reviewOpen(t, home, smallParts), reviewOpen(t, home, smallParts)
			id := reviewBegin(t, b, 3)
			if removed {
				must(t, a.Remove(t.Context(), id, ""))
			}
			receipt, err := a.Purge(t.Context(), id, "asked for")
			must(t, err)
			if receipt.Done.IsZero() || len(receipt.Files) < 3 || receipt.Bytes < 900 {
				t.Errorf("the receipt is %+v", receipt)
			}
			if _, err := b.Append(t.Context(), id, store.Any, firn.NewEntry(firn.UserText("more").Body)); !errors.Is(err, firn.ErrNotFound) {
				t.Errorf("appending to a purged session: %v", err)
			}
			if left := reviewHolding(t, home, "acknowledged"); len(left) > 0 {
				t.Errorf("purged text is in %q", left)
			}
		})
	}
}

// TestPurgeAgain checks that repeating a purge erases files created since.
func TestPurgeAgain(t *testing.T) {
	home := t.TempDir()
	st := reviewOpen(t, home, smallParts)
	id := reviewBegin(t, st, 1)
	first, err := st.Purge(t.Context(), id, "asked for")
	must(t, err)
	again, err := st.Purge(t.Context(), id, "asked again")
	must(t, err)
	if again.Done != first.Done || again.Bytes != first.Bytes {
		t.Errorf("with nothing left the receipt is %+v, then %+v", first, again)
	}
	for _, end := range []string{".rescued-0", "_part2.jsonl", "_part2.jsonl.torn-7-2"} {
		path := strings.TrimSuffix(reviewTranscript(home, id), ".jsonl") + end
		if end[0] == '.' {
			path = reviewTranscript(home, id) + end
		}
		reviewWrite(t, path, "acknowledged\n")
	}
	other := reviewTranscript(home, id+"0") // a similar name
	reviewWrite(t, other, "acknowledged by another session\n")
	again, err = st.Purge(t.Context(), id, "asked again")
	must(t, err)
	if again.Begun != first.Begun || again.Reason != "asked for" || again.Bytes != first.Bytes+3*13 || len(again.Files) != 4 {
		t.Errorf("the receipt is %+v", again)
	}
	if left := reviewHolding(t, home, "acknowledged"); len(left) != 1 || left[0] != other {
		t.Errorf("remaining: %q", left)
	}
}

// TestRefusedPurgeLeavesNoReceipt checks that a failed purge leaves no receipt, which
// would reserve the ID.
func TestRefusedPurgeLeavesNoReceipt(t *testing.T) {
	home := t.TempDir()
	var st *filestore.Store
	var id firn.ID
	var refused error
	st = reviewOpen(t, home, filestore.Options{Now: func() time.Time {
		if id != "" { // an append is running
			busy := id
			id = ""
			_, refused = st.Purge(t.Context(), busy, "asked for")
		}
		return time.Now()
	}})
	session := reviewBegin(t, st, 1)
	id = session
	if _, err := st.Append(t.Context(), session, store.Any, firn.NewEntry(firn.UserText("two").Body)); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(refused, firn.ErrLocked) {
		t.Fatalf("purging during an append: %v", refused)
	}
	if receipts := reviewFiles(t, home, "receipts/*"); len(receipts) > 0 {
		t.Errorf("a refused purge left %q", receipts)
	}
	if n := reviewCount(t, st, session); n != 2 {
		t.Errorf("of 2 entries %d are left", n)
	}
}

// TestPurgeEntryInRescued checks that purging an entry also erases it in rescued
// files, and nothing else there.
func TestPurgeEntryInRescued(t *testing.T) {
	home := t.TempDir()
	st := reviewOpen(t, home, filestore.Options{})
	id := firn.NewID()
	kept, secret := firn.NewEntry(firn.UserText("acknowledged").Body), firn.NewEntry(firn.UserText("hunter2").Body)
	_, err := st.Append(t.Context(), id, store.Any, kept, secret)
	must(t, err)
	path := reviewTranscript(home, id)
	must(t, os.Remove(path))
	if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(firn.UserText("x").Body)); !errors.Is(err, firn.ErrReplaced) {
		t.Fatalf("append to a file that was deleted: %v", err)
	}
	rescued := path + ".rescued-0"
	before, err := os.ReadFile(rescued)
	must(t, err)
	reviewWrite(t, path+".rescued-99", `e":"a piece of hunter2"}`+"\n"+string(before)+`{"type":"message","id":"piece of hunter2`)
	reviewWrite(t, path+".torn-7", `{"piece of hunter2`)
	again := firn.NewEntry(firn.UserText("going on").Body)
	_, err = st.Append(t.Context(), id, store.Any, again)
	must(t, err)

	receipt, err := st.Purge(t.Context(), id, "asked for", secret.ID)
	must(t, err)
	if receipt.Done.IsZero() || len(receipt.Files) != 3 {
		t.Errorf("the receipt is %+v", receipt)
	}
	if left := reviewHolding(t, home, "hunter2"); len(left) > 0 {
		t.Errorf("purged text is in %q", left)
	}
	for _, path := range []string{rescued, path + ".rescued-99"} {
		after, err := os.ReadFile(path)
		must(t, err)
		if !strings.Contains(string(after), "acknowledged") || !strings.Contains(string(after), `"type":"erased","id":"`+string(secret.ID)) {
			t.Errorf("%s now contains %q", path, after)
		}
		if want := len(before); path == rescued && len(after) != want {
			t.Errorf("%s has %d bytes, and had %d", path, len(after), want)
		}
	}
	if _, err := st.Purge(t.Context(), id, "", "nowhere"); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("purging a missing entry: %v", err)
	}
}
