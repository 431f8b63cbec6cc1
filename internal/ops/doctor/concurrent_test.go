package doctor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/ops/doctor"
)

// TestLineBeingWritten checks that an incomplete line that a writer finishes before
// doctor gets the lock is not reported.
func TestLineBeingWritten(t *testing.T) {
	whole := join(talk(3)...)
	fs := home(t, whole[:len(whole)-30])
	once := true
	fs.Hook(func(kind faultfs.Kind, line string) {
		if kind == faultfs.Lock && once {
			once = false
			must(t, fs.Put(transcript, []byte(whole+join(messageLine("a4", "a3", "more")))))
		}
	})
	report := verify(t, fs)
	if len(report.Findings) > 0 || report.Entries != 5 {
		t.Errorf("found %q in %d entries", short(report.Findings), report.Entries)
	}
}

// TestLockedByWriter checks that the wait for a lock is limited and that an
// incomplete line is not reported as damage.
func TestLockedByWriter(t *testing.T) {
	whole := join(talk(3)...)
	fs := home(t, whole[:len(whole)-30])
	holder, err := fs.Open(transcript, vfs.Read)
	must(t, err)
	defer holder.Close()
	if ok, err := holder.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	synctest.Test(t, func(t *testing.T) { // where waiting takes no time
		report := verify(t, fs)
		check(t, "found", kinds(report.Findings), []string{"being-written"})
		if !report.OK() {
			t.Error("it was treated as damage")
		}
		ctx, cancel := context.WithCancel(t.Context())
		fs.Hook(func(kind faultfs.Kind, _ string) {
			if kind == faultfs.Lock {
				cancel()
			}
		})
		target, err := doctor.OpenHome(fs, "/h")
		must(t, err)
		if _, err := doctor.Verify(ctx, target, doctor.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted while waiting, it ended with %v", err)
		}
	})
}

// TestRepairDuringAppend appends to a session during a repair: the repair fails and can
// be retried.
func TestRepairDuringAppend(t *testing.T) {
	lines := talk(3)
	fs := home(t, join(header, lines[1], lines[3]))
	opens := 0
	fs.Hook(func(kind faultfs.Kind, line string) {
		if kind != faultfs.Open || !strings.HasSuffix(line, "s1.jsonl read") {
			return
		}
		if opens++; opens != 4 { // the second examination, with the file open for appending
			return
		}
		j, err := journal.Open(fs, transcript, journal.Options{})
		must(t, err)
		_, err = j.Append(false, func(firn.Pos) ([]byte, error) { return []byte(join(messageLine("a4", "a3", "meanwhile"))), nil })
		must(t, errors.Join(err, j.Close()))
	})
	target, err := doctor.OpenHome(fs, "/h")
	must(t, err)
	plan, err := doctor.Repair(context.Background(), target, doctor.Options{})
	must(t, err)
	if opens < 4 || !errors.Is(plan.Err(), firn.ErrConflict) || len(plan.Failed) != 1 {
		t.Fatalf("after %d reads the repair ended with %v", opens, plan.Err())
	}
	check(t, "it did", actions(plan), nil)
	fs.Hook(nil)
	check(t, "the second repair did", actions(runRepair(t, fs, doctor.Repair)), []string{"stand-in", "move-head"})
	if report := verify(t, fs); !report.OK() || report.Entries != 6 {
		t.Errorf("afterwards there are %d entries and %q", report.Entries, short(report.Findings))
	}
}
