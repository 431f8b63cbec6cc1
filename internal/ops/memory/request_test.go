package memory

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
)

// TestRequestIsNotedOnce fails every call to the disk in turn while a note with a request ID is
// written until that succeeds, by a new process each time. It is written by one change; "not
// saved" means that it does not exist; and after it was forgotten the same request does not
// restore it.
func TestRequestIsNotedOnce(t *testing.T) {
	drafts := map[string]Draft{
		"fact": {Text: "The kettle is blue.\nThe cat is called Miso.", Request: "r1"},
		"note": {Text: "All about tea.", Name: "Tea", Request: "r1"},
	}
	for what, draft := range drafts {
		failed, unknown := 0, 0
		for nth := 1; nth <= 12; nth++ {
			for _, kind := range []faultfs.Kind{faultfs.Write, faultfs.Sync, faultfs.SyncDir, faultfs.Rename} {
				name := fmt.Sprintf("%s, failure %d of kind %d", what, nth, kind)
				_, disk := onFaulty(t)
				disk.FailNth(nth, faultfs.Fault{Of: kind, Err: syscall.EIO})
				f, u := noteUntil(t, name, disk, draft)
				failed, unknown = failed+f, unknown+u
			}
		}
		if failed < 8 || unknown < 4 {
			t.Errorf("%s: only %d tries failed, %d with an unknown outcome", what, failed, unknown)
		}
	}
}

func noteUntil(t *testing.T, name string, disk *faultfs.FS, draft Draft) (failed, unknown int) {
	t.Helper()
	count := func() int {
		all, err := on(disk).Changes()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return len(all)
	}
	var first Saved
	for try, done := 0, 0; done < 2; try++ {
		kept, err := on(disk).Remember(t.Context(), draft)
		switch {
		case err == nil && done == 0:
			first = kept
			done++
		case err == nil:
			if fmt.Sprint(kept) != fmt.Sprint(first) {
				t.Fatalf("%s: a repetition gave %+v, before %+v", name, kept, first)
			}
			done++
		case !errors.Is(err, firn.ErrNotSaved) || try > 5:
			t.Fatalf("%s: %v", name, err)
		case errors.Is(err, firn.ErrUnknownOutcome):
			failed, unknown = failed+1, unknown+1
		default:
			if failed++; done == 0 && count() != 0 {
				t.Fatalf("%s: not saved (%v), and there", name, err)
			}
		}
	}
	if first.Change == "" || len(first.Refs) != 1+strings.Count(draft.Text, "\n") || count() != 1 {
		t.Fatalf("%s: %+v by %d changes", name, first, count())
	}
	before := state(t, on(disk))
	if disk = disk.Crash(); state(t, on(disk)) != before {
		t.Fatalf("%s: a power cut undid it", name)
	}
	for _, ref := range first.Refs {
		if _, err := on(disk).Forget(t.Context(), ref); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	gone := state(t, on(disk))
	if kept, err := on(disk).Remember(t.Context(), draft); err != nil || kept.Change != first.Change || state(t, on(disk)) != gone {
		t.Fatalf("%s: after the note was forgotten the request gave %+v, %v", name, kept, err)
	}
	return failed, unknown
}
