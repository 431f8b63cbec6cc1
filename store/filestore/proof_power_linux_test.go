package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/disk/vfs/fusefs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestPowerCutReal runs a real process on a real file system and cuts the power of both,
// repeatedly. Everything acknowledged must exist.
//
// It does not run in parallel with other tests: starting a process while a file of the
// mount is open could block forever, see package fusefs.
func TestPowerCutReal(t *testing.T) {
	cuts := kills(t, 60, 10)
	mount := fusefs.Start(t)
	chance := rand.New(rand.NewPCG(2, basetest.Seed(t)))
	var l *ledger
	var home string
	logs, replayed := 0, 0
	for n := range cuts {
		if n%15 == 0 {
			l, home = newLedger(), filepath.Join(mount.Dir(), "home"+strconv.Itoa(n))
		}
		killWriter(t, home, l, chance)
		if found, _ := filepath.Glob(filepath.Join(home, "commit", "*.log")); len(found) > 0 {
			logs++
		}
		if chance.IntN(3) == 0 {
			mount.Crash()
		} else {
			mount.CrashRandom(chance)
		}
		if err := l.checkAfterPower(home, func(string) { replayed++ }); err != nil {
			t.Fatalf("power cut %d: %v", n+1, err)
		}
	}
	t.Logf("%d appends acknowledged; %d commit logs found, %d repairs made", l.count, logs, replayed)
	if logs == 0 || replayed == 0 {
		t.Error("the commit log was not put to the test")
	}
}

// checkAfterPower is check after a power failure: unacknowledged entries may be missing or
// have left a gap.
func (l *ledger) checkAfterPower(home string, report func(string)) (err error) {
	st, err := filestore.Open(home, filestore.Options{PartSize: writerPart, Report: report})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if l.acks[movedSession] != nil {
		if r, err := readSession(st, movedSession); err == nil {
			if err := l.checkAcks(movedSession, r); err != nil {
				return fmt.Errorf("session %s, before it is restored: %w", movedSession, err)
			}
		}
		if err := st.Restore(context.Background(), movedSession); err != nil {
			return err
		}
	}
	for id := range l.acks {
		if err := l.checkLeft(st, id); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
	}
	return l.checkKeys(st)
}

// checkLeft compares the remains of a session with the ledger, and appends to it.
func (l *ledger) checkLeft(st *filestore.Store, id firn.ID) error {
	for range 2 {
		r, err := readSession(st, id)
		if err != nil {
			return err
		}
		if err := errors.Join(l.checkAcks(id, r), r.checkVouched(), checkReached(st, id, r)); err != nil {
			return err
		}
		e := verifiableEntry(50)
		end, err := st.Append(context.Background(), id, store.Any, e)
		if err != nil {
			return err
		}
		l.acks[id] = append(l.acks[id], ack{end, []firn.EntryID{e.ID}})
	}
	return nil
}
