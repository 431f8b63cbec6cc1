package faultfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
)

// leaves returns the contents that a file may have after a crash, from extreme and from
// random states. A missing file is "-".
func leaves(t *testing.T, f *faultfs.FS, name string) (extreme, random map[string]bool) {
	t.Helper()
	look := func(f *faultfs.FS) string {
		data, err := f.Get(name)
		if err != nil {
			return "-"
		}
		return string(data)
	}
	extreme, random = map[string]bool{}, map[string]bool{}
	for left := range f.CrashStates(1000) {
		extreme[look(left)] = true
	}
	chance := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		random[look(f.CrashRandom(chance))] = true
	}
	return extreme, random
}

// wantLeaves checks that exactly these contents are possible.
func wantLeaves(t *testing.T, f *faultfs.FS, name string, want ...string) {
	t.Helper()
	extreme, random := leaves(t, f, name)
	for how, got := range map[string]map[string]bool{"extreme": extreme, "random": random} {
		for _, w := range want {
			if !got[w] {
				t.Errorf("%s: %q never happens", how, short(w))
			}
			delete(got, w)
		}
		for g := range got {
			t.Errorf("%s: %q must not happen", how, short(g))
		}
	}
}

// short abbreviates runs of one letter by their length.
func short(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		n := len(s) - len(strings.TrimLeft(s, s[:1]))
		fmt.Fprintf(&b, "%q*%d ", s[:1], n)
		s = s[n:]
	}
	return b.String()
}

func rep(s string, n int) string { return strings.Repeat(s, n) }

// synced returns a file system with one durable file, open for appending.
func synced(t *testing.T, content string, mode vfs.Mode) (*faultfs.FS, vfs.File) {
	f := faultfs.New()
	ok(t, f.Put("a", []byte(content)))
	return f, open(t, f, "a", mode)
}

func TestSyncedBytesSurvive(t *testing.T) {
	f, file := synced(t, "", vfs.Append)
	write(t, file, rep("x", 2000))
	ok(t, file.Sync())
	wantLeaves(t, f, "a", rep("x", 2000))
	ok(t, file.Truncate(600))
	ok(t, file.Sync())
	wantLeaves(t, f, "a", rep("x", 600))
}

func TestAppendInOneSector(t *testing.T) {
	f, file := synced(t, "old.", vfs.Append)
	write(t, file, "one.")
	write(t, file, "two.")
	wantLeaves(t, f, "a", "old.", "old.one.", "old.one.two.",
		"old.\x00\x00\x00\x00", "old.one.\x00\x00\x00\x00", "old.\x00\x00\x00\x00\x00\x00\x00\x00")
}

func TestAppendOverSectors(t *testing.T) {
	f, file := synced(t, rep("o", 100), vfs.Append)
	write(t, file, rep("n", 1000))
	var want []string
	for size, parts := range map[int]int{100: 0, 512: 1, 1024: 2, 1100: 3} {
		for lost := range 1 << parts {
			content := []byte(rep("o", 100) + rep("n", size-100))
			for s := range parts {
				if lost>>s&1 != 0 {
					clear(content[max(100, s*512):min(size, (s+1)*512)])
				}
			}
			want = append(want, string(content))
		}
	}
	_, random := leaves(t, f, "a")
	for _, w := range want {
		if !random[w] {
			t.Errorf("%q never happens", short(w))
		}
	}
	if len(random) != len(want) {
		t.Errorf("%d possibilities, want %d", len(random), len(want))
	}
	// The extremes: nothing, all, zeros; one of three lost or kept; two boundaries, with
	// bytes and with zeros.
	extreme, _ := leaves(t, f, "a")
	if len(extreme) != 3+6+4 {
		t.Errorf("%d extreme possibilities", len(extreme))
	}
	for e := range extreme {
		if !random[e] {
			t.Errorf("%q is extreme but not possible", short(e))
		}
	}
}

func TestTruncateUnsynced(t *testing.T) {
	f, file := synced(t, rep("o", 600), vfs.Append)
	ok(t, file.Truncate(512))
	wantLeaves(t, f, "a", rep("o", 600), rep("o", 512), rep("o", 512)+rep("\x00", 88))
	write(t, file, "new")
	_, random := leaves(t, f, "a")
	for _, w := range []string{rep("o", 600), rep("o", 512), rep("o", 512) + "new", rep("o", 512) + "new" + rep("\x00", 85)} {
		if !random[w] {
			t.Errorf("%q never happens", short(w))
		}
	}
	for r := range random {
		if !strings.HasPrefix(r, rep("o", 512)) {
			t.Errorf("%q lost data that was not modified", short(r))
		}
	}
}

func TestOverwrite(t *testing.T) {
	f, file := synced(t, rep("o", 1024), vfs.Update)
	_, err := file.WriteAt([]byte(rep("n", 200)), 412)
	ok(t, err)
	wantLeaves(t, f, "a", rep("o", 1024), rep("o", 412)+rep("n", 200)+rep("o", 412),
		rep("o", 412)+rep("n", 100)+rep("o", 512), rep("o", 512)+rep("n", 100)+rep("o", 412))
}

// TestFailedSyncLosesBytes checks that after a failed sync bytes may be lost although they can
// still be read, and that a later successful sync does not bring them back.
func TestFailedSyncLosesBytes(t *testing.T) {
	lost, kept, evicted := false, false, false
	for seed := range uint64(40) {
		f, file := synced(t, "", vfs.Append)
		f.Seed(seed)
		write(t, file, rep("x", 1024))
		fault := faultfs.Fault{Of: faultfs.Sync, Evict: seed%2 == 0}
		f.FailNth(1, fault)
		if err := file.Sync(); err == nil {
			t.Fatal("the sync did not fail")
		}
		read := get(t, f, "a")
		if !fault.Evict && read != rep("x", 1024) {
			t.Errorf("the file reads as %q", short(read))
		}
		evicted = evicted || read != rep("x", 1024)
		write(t, file, rep("y", 512))
		ok(t, file.Sync())
		left := get(t, f.CrashRandom(rand.New(rand.NewPCG(seed, 1))), "a")
		if len(left) != 1536 || left[1024:] != rep("y", 512) {
			t.Errorf("data that was synced later is lost: %q", short(left))
		}
		lost = lost || strings.Contains(left, "\x00")
		kept = kept || strings.HasPrefix(left, rep("x", 1024))
	}
	if !lost || !kept || !evicted {
		t.Errorf("lost %v, kept %v, evicted %v", lost, kept, evicted)
	}
}

func TestNames(t *testing.T) {
	f := faultfs.New()
	ok(t, f.MkdirAll("d/e"))
	file := open(t, f, "d/a", vfs.Create)
	write(t, file, "content")
	ok(t, file.Sync())
	wantLeaves(t, f, "d/a", "-", "content") // synced, but its name is not
	ok(t, f.SyncDir("d/e"))
	wantLeaves(t, f, "d/a", "-", "content")
	ok(t, f.SyncDir("d"))
	wantLeaves(t, f, "d/a", "content")
	ok(t, f.Remove("d/a"))
	wantLeaves(t, f, "d/a", "-", "content")
	ok(t, f.SyncDir("d"))
	wantLeaves(t, f, "d/a", "-")
	wantLeaves(t, f, "d/e/none", "-")
	if got := f.CrashRandom(rand.New(rand.NewPCG(1, 1))).String(); got != "/\nd/\nd/e/\n" {
		t.Errorf("left\n%s", got)
	}
}

func TestCrashKeepsOnlyTheDurable(t *testing.T) {
	f, file := synced(t, "old", vfs.Append)
	write(t, file, " and new")
	ok(t, f.Mkdir("d"))
	ok(t, f.MkdirAll("e"))
	write(t, open(t, f, "e/b", vfs.Create), "b")
	ok(t, f.SyncDir("e"))
	if err := f.Mkdir("none/d"); err == nil {
		t.Error("made a directory in nothing")
	}
	if err := f.Mkdir("d"); err == nil {
		t.Error("made a directory twice")
	}
	if got := f.Crash().String(); got != "/\na 3 \"old\"\ne/\ne/b 0 \"\"\n" {
		t.Errorf("left\n%s", got)
	}
	ok(t, f.SyncDir("."))
	if _, err := f.Crash().Stat("d"); err != nil {
		t.Error(err)
	}
}

func TestSyncFS(t *testing.T) {
	f := faultfs.New()
	ok(t, f.MkdirAll("d"))
	for _, name := range []string{"a", "d/b"} {
		write(t, open(t, f, name, vfs.Create), name)
	}
	ok(t, f.SyncFS("d"))
	wantLeaves(t, f, "a", "a")
	wantLeaves(t, f, "d/b", "d/b")
}

func TestRenameReplaceIsAtomic(t *testing.T) {
	f := faultfs.New()
	ok(t, f.Put("a", []byte("old")))
	ok(t, f.Put("b", []byte("new")))
	ok(t, f.Rename("b", "a"))
	for left := range f.CrashStates(100) {
		if got := left.String(); got != "/\na 3 \"old\"\nb 3 \"new\"\n" && got != "/\na 3 \"new\"\n" {
			t.Errorf("left\n%s", got)
		}
	}
	wantLeaves(t, f, "a", "old", "new")
	ok(t, f.SyncDir("."))
	wantLeaves(t, f, "a", "new")
	wantLeaves(t, f, "b", "-")
}

// TestWriteFileReportsOutcome makes each step of [vfs.WriteFile] fail: before the rename
// nothing is saved, and after it the outcome is unknown.
func TestWriteFileReportsOutcome(t *testing.T) {
	for kind, unknown := range map[faultfs.Kind]bool{faultfs.Create: false, faultfs.Write: false, faultfs.Sync: false, faultfs.Rename: false, faultfs.SyncDir: true} {
		f := faultfs.New()
		ok(t, f.Put("a", []byte("old")))
		f.FailNth(1, faultfs.Fault{Of: kind, Err: syscall.EIO})
		err := vfs.WriteFile(f, "a", []byte("new"))
		if !errors.Is(err, firn.ErrNotSaved) || !errors.Is(err, syscall.EIO) || errors.Is(err, firn.ErrUnknownOutcome) != unknown {
			t.Errorf("%v: %v", kind, err)
		}
		if got, err := f.Get("a"); err != nil || (string(got) == "new") != unknown {
			t.Errorf("%v: there is %q, %v", kind, got, err)
		}
	}
}

// TestRenameOverDirectories checks that a rename across directories is durable in the
// directory that was synced.
func TestRenameOverDirectories(t *testing.T) {
	for _, c := range []struct{ sync, from, to string }{
		{"to", "- content", "content"},
		{"from", "-", "- content"},
	} {
		f := faultfs.New()
		ok(t, f.Put("from/a", []byte("content")))
		ok(t, f.MkdirAll("to"))
		ok(t, f.Rename("from/a", "to/a"))
		ok(t, f.SyncDir(c.sync))
		wantLeaves(t, f, "from/a", strings.Fields(c.from)...)
		wantLeaves(t, f, "to/a", strings.Fields(c.to)...)
	}
}

// TestMkdirAfterRemove checks that a directory created where one was just removed is
// durable immediately.
func TestMkdirAfterRemove(t *testing.T) {
	f := faultfs.New()
	ok(t, f.MkdirAll("d"))
	ok(t, f.Remove("d"))
	ok(t, f.MkdirAll("d"))
	for left := range f.CrashStates(100) {
		if _, err := left.Stat("d"); err != nil {
			t.Error(err)
		}
	}
}

func TestCrashDropsLocks(t *testing.T) {
	f, file := synced(t, "x", vfs.Append)
	ok(t, file.Lock())
	left := f.CrashRandom(rand.New(rand.NewPCG(1, 1)))
	if taken, err := open(t, left, "a", vfs.Append).TryLock(); !taken || err != nil {
		t.Error(taken, err)
	}
	if taken, err := open(t, f, "a", vfs.Append).TryLock(); taken || err != nil {
		t.Error("inspecting a crash released the lock", err)
	}
}

func TestCrashStatesLimit(t *testing.T) {
	f, file := synced(t, "", vfs.Append)
	write(t, file, rep("x", 512*50))
	n := 0
	for range f.CrashStates(10) {
		n++
	}
	if n != 10 {
		t.Errorf("%d states", n)
	}
	for range f.CrashStates(10) {
		break
	}
}

// TestRandomHistories checks that data is present after a crash if it was synced and not
// changed since.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(60) {
		chance := rand.New(rand.NewPCG(seed, 7))
		f := faultfs.New()
		ok(t, f.MkdirAll("d"))
		sure := map[string][]byte{} // the expected beginning of each file
		for range 30 {
			randomStep(t, f, chance, sure)
		}
		check := func(left *faultfs.FS) {
			for name, want := range sure {
				got, err := left.Get(name)
				if err != nil || !bytes.HasPrefix(got, want) {
					t.Fatalf("seed %d: %s is %q, %v; must begin with %q\n%s", seed, name, got, err, want,
						strings.Join(f.Log(), "\n"))
				}
			}
		}
		for left := range f.CrashStates(300) {
			check(left)
		}
		for range 100 {
			check(f.CrashRandom(chance))
		}
	}
}

func randomStep(t *testing.T, f *faultfs.FS, chance *rand.Rand, sure map[string][]byte) {
	name := path.Join("d", string('a'+rune(chance.IntN(3))))
	file := open(t, f, name, vfs.Append)
	switch chance.IntN(8) {
	case 0, 1, 2:
		write(t, file, rep(string('a'+rune(chance.IntN(26))), 1+chance.IntN(900)))
	case 3, 4:
		ok(t, file.Sync())
		ok(t, f.SyncDir("d"))
		sure[name] = []byte(get(t, f, name))
	case 5:
		info, err := file.Stat()
		ok(t, err)
		size := chance.Int64N(info.Size + 1)
		ok(t, file.Truncate(size))
		if int64(len(sure[name])) > size {
			sure[name] = sure[name][:size]
		}
	case 6:
		ok(t, f.Remove(name))
		delete(sure, name)
	case 7:
		other := path.Join("d", string('a'+rune(chance.IntN(3))))
		ok(t, f.Rename(name, other))
		if other != name {
			delete(sure, name)
			delete(sure, other)
		}
	}
	ok(t, file.Close())
}

// TestWriteFileCrashes checks that WriteFile leaves the old or the new content after a
// power cut at any point. The same without its syncs is detected, so the test can fail.
func TestWriteFileCrashes(t *testing.T) {
	if bad := tornStates(t, vfs.WriteFile); len(bad) > 0 {
		t.Errorf("WriteFile leaves\n%s", strings.Join(bad, "\n"))
	}
	bad := tornStates(t, func(fsys vfs.FS, name string, data []byte) error {
		file, err := fsys.Open(name+".new", vfs.Create)
		if err != nil {
			return err
		}
		defer file.Close()
		if _, err := file.Write(data); err != nil {
			return err
		}
		return fsys.Rename(name+".new", name)
	})
	if len(bad) == 0 {
		t.Error("a replace without a sync is not caught")
	}
}

func tornStates(t *testing.T, replace func(vfs.FS, string, []byte) error) (bad []string) {
	old, fresh := rep("o", 700), rep("n", 1300)
	for n := 1; ; n++ {
		f := faultfs.New()
		ok(t, f.Put("d/a", []byte(old)))
		f.PowerOff(n, faultfs.Any)
		err := replace(f, "d/a", []byte(fresh))
		for left := range f.CrashStates(500) {
			got := get(t, left, "d/a")
			if got != old && got != fresh || err == nil && got != fresh {
				bad = append(bad, fmt.Sprintf("before operation %d: %q", n, short(got)))
			}
		}
		if err == nil {
			return bad
		}
	}
}

// TestWriteFileFaults checks that every fault in WriteFile is returned and leaves the old
// or the new content and no temporary file, unless the removal failed.
func TestWriteFileFaults(t *testing.T) {
	for _, fault := range []faultfs.Fault{{Err: syscall.ENOSPC}, {Err: syscall.EIO, Short: 5}, {After: true, Of: faultfs.Any &^ faultfs.Create}} {
		for n := 1; ; n++ {
			f := faultfs.New()
			ok(t, f.Put("d/a", []byte("old")))
			f.FailNth(n, fault)
			err := vfs.WriteFile(f, "d/a", []byte("new content"))
			if f.Waiting() > 0 {
				ok(t, err)
				break
			}
			if got := get(t, f, "d/a"); err == nil || got != "old" && got != "new content" {
				t.Errorf("%v at %d: %v, %q", fault, n, err, got)
			}
			if got := f.Files(); !slices.Equal(got, []string{"d/a"}) {
				t.Errorf("%v at %d left %q", fault, n, got)
			}
		}
	}
}
