package memory

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
)

// onFaulty makes a folder on a file system that fails, and makes it durable.
func onFaulty(t *testing.T) (*Dir, *faultfs.FS) {
	t.Helper()
	disk := faultfs.New()
	if err := disk.MkdirAll("/m/memory"); err != nil {
		t.Fatal(err)
	}
	for name, text := range dreamHome {
		if err := vfs.WriteFile(disk, filepath.Join("/m", filepath.FromSlash(name)), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return on(disk), disk
}

func on(disk vfs.FS) *Dir {
	c := &clock{at: someDay}
	return Open("/m", Options{FS: disk, Clock: c.now})
}

// TestPowerCutAtEveryCall simulates a power failure at every call of a consolidation, with
// the worst and with random states of the disk. Afterwards the old or the new set is there,
// both for immediate readers and after the next change.
func TestPowerCutAtEveryCall(t *testing.T) {
	d, _ := onFaulty(t)
	old := state(t, d)
	dreamer := func(d *Dir) error {
		_, err := (&Dreamer{Dir: d, Sessions: sessionsOf(fiveTalks())}).Dream(context.Background(), DreamOptions{})
		return err
	}
	if err := dreamer(d); err != nil {
		t.Fatal(err)
	}
	fresh := state(t, d)
	met := make(map[string]int)
	for n := 1; ; n++ {
		d, disk := onFaulty(t)
		disk.PowerOff(n, faultfs.Changing)
		err := dreamer(d)
		if disk.Waiting() > 0 {
			break // it has fewer calls
		}
		for seed := range uint64(6) {
			after := disk.CrashRandom(rand.New(rand.NewPCG(uint64(n), seed)))
			if seed == 0 {
				after = disk.Crash()
			}
			again := on(after)
			got := state(t, again)
			if got != old && got != fresh {
				t.Fatalf("cut at call %d (%v), a reader sees\n%s", n, err, got)
			}
			if err := again.locked(t.Context(), func() error { return nil }); err != nil {
				t.Fatalf("cut at call %d, the next one: %v", n, err)
			}
			if files, err := on(after).readFiles(t.Context(), mark{Done: true}); err != nil || formatFiles(files) != got {
				t.Fatalf("cut at call %d, the files are\n%s\nand a reader saw\n%s", n, formatFiles(files), got)
			}
			if got == old {
				met["old"]++
			} else {
				met["new"]++
			}
		}
	}
	if met["old"] == 0 || met["new"] == 0 {
		t.Errorf("it was always the same: %v", met)
	}
}

// TestFailureAtEveryCall lets every call fail once: the consolidation fails or succeeds,
// and the old or the new set is there. The next consolidation succeeds.
func TestFailureAtEveryCall(t *testing.T) {
	d, _ := onFaulty(t)
	old := state(t, d)
	if _, err := (&Dreamer{Dir: d, Sessions: sessionsOf(fiveTalks())}).Dream(t.Context(), DreamOptions{}); err != nil {
		t.Fatal(err)
	}
	fresh := state(t, d)
	for n := 1; ; n++ {
		d, disk := onFaulty(t)
		disk.FailNth(n, faultfs.Fault{Of: faultfs.Changing})
		_, err := (&Dreamer{Dir: d, Sessions: sessionsOf(fiveTalks())}).Dream(t.Context(), DreamOptions{})
		if disk.Waiting() > 0 {
			break
		}
		if got := state(t, d); got != old && got != fresh {
			t.Fatalf("failing at call %d (%v) leaves\n%s", n, err, got)
		}
		d.clock = func() time.Time { return someDay.AddDate(0, 0, 2) }
		if _, err := (&Dreamer{Dir: d, Sessions: sessionsOf(fiveTalks())}).Dream(t.Context(), DreamOptions{Now: true}); err != nil && !errors.Is(err, firn.ErrLocked) {
			t.Errorf("after failing at call %d: %v", n, err)
		}
	}
}
