package filestore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
)

// crashed checks the table after a power failure: it is valid, and the key points to one of
// the sessions.
func (b *bench) crashed(left *faultfs.FS, key string, want ...firn.ID) {
	b.t.Helper()
	var reports []string
	after := openTable(left, b.dir, tableOptions{Report: func(message string) { reports = append(reports, message) }})
	defer after.close()
	id, _, err := after.lookup(key)
	if err != nil || !slices.Contains(want, id) {
		b.t.Fatalf("after the power cut key %s points at %q, want one of %q: %v", key, id, want, err)
	}
	if other, _, err := after.lookup(topicKey); err != nil || other != topicID {
		b.t.Fatalf("after the power cut key %s points at %q: %v", topicKey, other, err)
	}
	if len(reports) > 0 {
		b.t.Fatalf("after the power cut: %q", reports)
	}
	if err := after.bind(key, "after"); err != nil {
		b.t.Fatal(err)
	}
	entries, err := left.ReadDir(b.dir)
	if err != nil || len(entries) != 2 { // the table and the lock
		b.t.Fatalf("after the power cut and a write there are %v: %v", entries, err)
	}
}

// faults are the ways in which each operation is made to fail.
var faults = []faultfs.Fault{
	{},
	{After: true},
	{Short: 20, Err: syscall.ENOSPC},
	{Evict: true},
}

// TestTableBindFaults makes each operation of a bind fail. Acknowledged bindings must
// survive, also a power failure, the file must always be valid, and the next attempt must
// work.
func TestTableBindFaults(t *testing.T) {
	for _, fault := range faults {
		for n, met := 1, true; met; n++ {
			t.Run(fmt.Sprintf("%v %d", fault, n), func(t *testing.T) {
				b := newBench(t, sample(t), tableOptions{})
				b.must(b.bind(mainKey, "old"))
				b.open(tableOptions{})
				fsys := b.fs.(*faultfs.FS)
				fsys.FailNth(n, fault)
				acknowledged := []firn.ID{"old", "new"}
				if err := b.bind(mainKey, "new"); err == nil {
					acknowledged = []firn.ID{"new"}
				}
				if met = fsys.Waiting() == 0; !met {
					return
				}
				if _, err := parseObject([]byte(b.file())); err != nil {
					t.Fatalf("the file cannot be read: %v", err)
				}
				id, ok, err := b.lookup(mainKey)
				if err != nil || !ok || !slices.Contains(acknowledged, id) {
					t.Fatalf("the key points at %s (%v), want one of %q", id, err, acknowledged)
				}
				for left := range fsys.CrashStates(50) {
					b.crashed(left, mainKey, acknowledged...)
				}
				b.must(b.bind(mainKey, "new"))
				b.points(mainKey, "new")
				for left := range fsys.CrashStates(50) {
					b.crashed(left, mainKey, "new")
				}
			})
		}
	}
}

// TestTablePowerOff cuts the power at each operation.
func TestTablePowerOff(t *testing.T) {
	for n, met := 1, true; met; n++ {
		b := newBench(t, sample(t), tableOptions{})
		b.must(b.bind(mainKey, "old"))
		fsys := b.fs.(*faultfs.FS)
		fsys.PowerOff(n, faultfs.Any)
		acknowledged := []firn.ID{"old", "new"}
		if err := b.bind(mainKey, "new"); err == nil {
			acknowledged = []firn.ID{"new"}
		}
		met = fsys.Waiting() == 0
		for left := range fsys.CrashStates(100) {
			b.crashed(left, mainKey, acknowledged...)
		}
	}
}

// TestTableClaimIsDurable claims a key whose binding another writer failed to make durable.
// The returned session must survive a power failure.
func TestTableClaimIsDurable(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{})
	fsys := b.fs.(*faultfs.FS)
	fsys.FailNth(1, faultfs.Fault{Of: faultfs.SyncDir})
	if err := b.bind("k", "first"); !errors.Is(err, firn.ErrUnknownOutcome) {
		t.Fatalf("bind: %v", err)
	}
	won, err := b.claim("k", "second", nil)
	if b.must(err); won != "first" {
		t.Errorf("the claim was won by %s", won)
	}
	for left := range fsys.CrashStates(50) {
		b.crashed(left, "k", "first")
	}
}

// TestTableDamageFaults checks that a damaged file is preserved whatever fails, and never
// treated as empty.
func TestTableDamageFaults(t *testing.T) {
	const broken = `{"agent:main:main":{"sessionId":"kept","sendPolicy":"deny"},`
	for _, fault := range faults {
		for n, met := 1, true; met; n++ {
			b := newBench(t, "{}", tableOptions{Rebuild: headers})
			b.overwrite(broken)
			fsys := b.fs.(*faultfs.FS)
			fsys.FailNth(n, fault)
			id, ok, err := b.lookup(mainKey)
			if met = fsys.Waiting() == 0; !met {
				break
			}
			if err == nil && (!ok || id != "kept") {
				t.Fatalf("%v %d: the key points at %q", fault, n, id)
			}
			kept := false
			for _, name := range b.names() {
				kept = kept || b.fileNamed(name) == broken
			}
			if !kept {
				t.Fatalf("%v %d: the damaged file is missing: %q", fault, n, b.names())
			}
			b.must(b.bind("k", "s"))
			b.points(mainKey, "kept")
			b.points("agent:main:zoe", "zoe")
			b.must(b.close())
		}
	}
}

// TestTableLockRemoved checks that the lock on a removed or replaced lock file is not used.
func TestTableLockRemoved(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{})
	b.must(b.bind("k", "s1"))
	fsys := b.fs.(*faultfs.FS)
	path := b.dir + "/" + tableLockName
	removed := 0
	fsys.Hook(func(kind faultfs.Kind, line string) {
		if kind != faultfs.Lock || removed == 4 {
			return
		}
		removed++
		b.must(fsys.Remove(path))
		if removed%2 == 0 {
			b.must(vfs.WriteFile(fsys, path, nil))
		}
	})
	b.must(b.bind("k", "s2"))
	b.points("k", "s2")
	if _, err := fsys.Stat(path); err != nil || removed != 4 {
		t.Errorf("the lock file after it was removed %d times: %v", removed, err)
	}
}

// TestTableSweeps checks that temporary files of killed writers are removed, and nothing
// else.
func TestTableSweeps(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{})
	for _, name := range []string{".sessions.json.tmp-ABCDEFGHIJ", ".sessions.json.tmp", "sessions.json.tmp-x", ".other.tmp-x"} {
		b.must(vfs.WriteFile(b.fs, b.dir+"/"+name, []byte("x")))
	}
	b.points(mainKey, mainID)
	b.same("the directory after reading", len(b.names()), 5)
	b.must(b.bind("k", "s"))
	b.same("the directory", strings.Join(b.names(), " "), ".other.tmp-x .sessions.json.tmp sessions.json sessions.json.tmp-x")
}
