package sealfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/disk/vfs/vfstest"
)

var testKey = sealfs.Key{1, 2, 3}

const secret = "the quick brown secret"

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, fsys vfs.FS, path string, mode vfs.Mode) vfs.File {
	t.Helper()
	f, err := fsys.Open(path, mode)
	ok(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func write(t testing.TB, f vfs.File, text string) {
	t.Helper()
	if n, err := f.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("wrote %d of %d: %v", n, len(text), err)
	}
}

func read(t testing.TB, fsys vfs.FS, path string) string {
	t.Helper()
	f := open(t, fsys, path, vfs.Read)
	data, err := io.ReadAll(f)
	ok(t, err)
	ok(t, f.Close())
	return string(data)
}

// TestConformance runs the suite of file systems over encrypted files, on a real disk and in
// memory.
func TestConformance(t *testing.T) {
	t.Run("os", func(t *testing.T) {
		vfstest.Run(t, func(t *testing.T) (vfs.FS, string) {
			dir := t.TempDir()
			return sealfs.New(vfs.OS{}, dir, testKey, sealfs.Sealed), dir
		})
	})
	t.Run("memory", func(t *testing.T) {
		vfstest.Run(t, func(t *testing.T) (vfs.FS, string) {
			return sealfs.New(faultfs.New(), "/", testKey, sealfs.Sealed), "/"
		})
	})
}

// TestNothingReadable checks that no file contains what was written, and that files that are
// read without the key stay plain.
func TestNothingReadable(t *testing.T) {
	dir := t.TempDir()
	fsys := sealfs.New(vfs.OS{}, dir, testKey, sealfs.Sealed)
	for _, name := range []string{"a.jsonl", "notes.md", "firn.toml", "store.json"} {
		ok(t, vfs.WriteFile(fsys, filepath.Join(dir, name), []byte(secret)))
		raw, err := os.ReadFile(filepath.Join(dir, name))
		ok(t, err)
		if plain := strings.Contains(string(raw), "secret"); plain != !sealfs.Covered(name) {
			t.Errorf("%s: readable is %v", name, plain)
		}
		if got := read(t, fsys, filepath.Join(dir, name)); got != secret {
			t.Errorf("%s: read %q", name, got)
		}
	}
}

// TestWrongKey checks that another key opens nothing.
func TestWrongKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.jsonl")
	ok(t, vfs.WriteFile(sealfs.New(vfs.OS{}, dir, testKey, sealfs.Sealed), path, []byte(secret)))
	other := sealfs.New(vfs.OS{}, dir, sealfs.Key{9}, sealfs.Sealed)
	if _, err := other.Stat(path); !errors.Is(err, sealfs.ErrWrongKey) {
		t.Errorf("stat: %v", err)
	}
	f := open(t, other, path, vfs.Extend)
	if _, err := f.ReadAt(make([]byte, 4), 0); !errors.Is(err, sealfs.ErrWrongKey) {
		t.Errorf("read: %v", err)
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, sealfs.ErrWrongKey) {
		t.Errorf("write: %v", err)
	}
}

// TestModes checks what happens to plain files.
func TestModes(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	ok(t, vfs.WriteFile(vfs.OS{}, plain, []byte(secret)))
	if _, err := sealfs.New(vfs.OS{}, dir, testKey, sealfs.Sealed).Open(plain, vfs.Read); !errors.Is(err, sealfs.ErrPlain) {
		t.Errorf("a plain file in an encrypted home: %v", err)
	}
	for _, mode := range []sealfs.Mode{sealfs.Converting, sealfs.Opening} {
		fsys := sealfs.New(vfs.OS{}, dir, testKey, mode)
		if got := read(t, fsys, plain); got != secret {
			t.Errorf("mode %d: read %q", mode, got)
		}
		fresh := filepath.Join(dir, fmt.Sprint("new", mode))
		ok(t, vfs.WriteFile(fsys, fresh, []byte(secret)))
		raw, err := os.ReadFile(fresh)
		ok(t, err)
		if isPlain := string(raw) == secret; isPlain != (mode == sealfs.Opening) {
			t.Errorf("mode %d: a new file is plain: %v", mode, isPlain)
		}
	}
}

// TestRandomChanges compares a file with the same changes to bytes in memory, through two
// handles, and after power failures of the disk.
func TestRandomChanges(t *testing.T) {
	for seed := range uint64(30) {
		chance := rand.New(rand.NewPCG(seed, 7))
		disk := faultfs.New()
		fsys := sealfs.New(disk, "/", testKey, sealfs.Sealed)
		var want []byte
		for step := range 40 {
			want = randomChange(t, fsys, chance, want)
			if got := read(t, fsys, "/a.jsonl"); got != string(want) {
				t.Fatalf("seed %d step %d: %d bytes differ from %d", seed, step, len(got), len(want))
			}
			checkRanges(t, fsys, chance, want)
		}
	}
}

// randomChange applies one change to the file and to the expected content.
func randomChange(t *testing.T, fsys vfs.FS, chance *rand.Rand, want []byte) []byte {
	t.Helper()
	data := make([]byte, 1+chance.IntN([]int{30, 3000, 40_000}[chance.IntN(3)]))
	for i := range data {
		data[i] = byte('a' + chance.IntN(26))
	}
	if kind := chance.IntN(6); kind < 3 || len(want) == 0 {
		f := open(t, fsys, "/a.jsonl", vfs.Append)
		write(t, f, string(data))
		ok(t, f.Close())
		return append(want, data...)
	} else if kind < 5 {
		f := open(t, fsys, "/a.jsonl", vfs.Change)
		off := chance.IntN(len(want) + 100)
		if kind == 4 && off+len(data) <= len(want) && chance.IntN(2) == 0 {
			data = want[off:][:len(data)] // unchanged
		}
		n, err := f.WriteAt(data, int64(off))
		if n != len(data) || err != nil {
			t.Fatalf("wrote %d of %d: %v", n, len(data), err)
		}
		ok(t, f.Close())
		if end := off + len(data); end > len(want) {
			want = append(want, make([]byte, end-len(want))...)
		}
		copy(want[off:], data)
		return want
	}
	f := open(t, fsys, "/a.jsonl", []vfs.Mode{vfs.Append, vfs.Change}[chance.IntN(2)])
	size := chance.IntN(len(want) + 1)
	ok(t, f.Truncate(int64(size)))
	ok(t, f.Close())
	return want[:size:size]
}

func checkRanges(t *testing.T, fsys vfs.FS, chance *rand.Rand, want []byte) {
	t.Helper()
	info, err := fsys.Stat("/a.jsonl")
	ok(t, err)
	if info.Size != int64(len(want)) {
		t.Fatalf("size %d, want %d", info.Size, len(want))
	}
	f := open(t, fsys, "/a.jsonl", vfs.Read)
	for range 4 {
		off := chance.IntN(len(want) + 1)
		buf := make([]byte, chance.IntN(20_000))
		n, err := f.ReadAt(buf, int64(off))
		if rest := want[off:]; len(rest) < len(buf) && (n != len(rest) || err != io.EOF) || len(rest) >= len(buf) && (n != len(buf) || err != nil) {
			t.Fatalf("read %d of %d at %d of %d: %v", n, len(buf), off, len(want), err)
		}
		if !bytes.Equal(buf[:n], want[off:off+n]) {
			t.Fatalf("other bytes at %d", off)
		}
	}
	ok(t, f.Close())
}

// TestPowerFailure cuts the power at every operation of an overwrite and of a cut: bytes that
// are not changed must survive, and changed ones are old or new.
func TestPowerFailure(t *testing.T) {
	for name, change := range map[string]func(vfs.File) error{
		"overwrite": func(f vfs.File) error { _, err := f.WriteAt([]byte("NEW"), 20_000); return errors.Join(err, f.Sync()) },
		"truncate":  func(f vfs.File) error { return errors.Join(f.Truncate(20_000), f.Sync()) },
		"append": func(f vfs.File) error {
			_, err := f.WriteAt(bytes.Repeat([]byte("n"), 20_000), 40_000)
			return errors.Join(err, f.Sync())
		},
	} {
		t.Run(name, func(t *testing.T) {
			old := strings.Repeat("0123456789abcde\n", 2500)
			for n := 1; ; n++ {
				disk := faultfs.New()
				fsys := sealfs.New(disk, "/", testKey, sealfs.Sealed)
				ok(t, vfs.WriteFile(fsys, "/a.jsonl", []byte(old)))
				f := open(t, fsys, "/a.jsonl", vfs.Change)
				disk.PowerOff(n, faultfs.Changing)
				err := change(f)
				for left := range disk.CrashStates(40) {
					checkAfterPower(t, name, left, old)
				}
				if err == nil {
					return
				}
			}
		})
	}
}

func checkAfterPower(t *testing.T, name string, disk *faultfs.FS, old string) {
	t.Helper()
	fsys := sealfs.New(disk, "/", testKey, sealfs.Sealed)
	keep := 20_000
	if name == "append" {
		keep = len(old)
	}
	for _, change := range []bool{false, true} {
		got := read(t, fsys, "/a.jsonl")
		if len(got) < keep || got[:keep] != old[:keep] {
			t.Fatalf("bytes before the change are lost: %d", len(got))
		}
		if rest := got[keep:]; name == "overwrite" && rest != old[keep:] && rest != "NEW"+old[keep+3:] {
			t.Fatalf("bytes after the change are lost")
		} else if name == "truncate" && rest != "" && rest != old[keep:] {
			t.Fatalf("%d bytes after the cut", len(rest))
		}
		if !change {
			f := open(t, fsys, "/a.jsonl", vfs.Append)
			write(t, f, "more\n")
			ok(t, f.Close())
			if got := read(t, fsys, "/a.jsonl"); !strings.HasSuffix(got, "more\n") {
				t.Fatal("the appended line is not there")
			}
			return
		}
	}
}

// TestDamage changes every byte of a file in turn. The change is noticed: nothing but what was
// written is read, or zeros for a lost record, or an error in files that are not lines.
func TestDamage(t *testing.T) {
	text := strings.Repeat("line\n", 8)
	for _, name := range []string{"a.jsonl", "a.json"} {
		disk := faultfs.New()
		fsys := sealfs.New(disk, "/", testKey, sealfs.Sealed)
		f := open(t, fsys, "/"+name, vfs.Append)
		for line := range strings.Lines(text) {
			write(t, f, line)
		}
		raw, err := disk.Get("/" + name)
		ok(t, err)
		for i := range raw {
			bad := faultfs.New()
			changed := bytes.Clone(raw)
			changed[i] ^= 0x40
			ok(t, bad.Put("/"+name, changed))
			r, err := sealfs.New(bad, "/", testKey, sealfs.Sealed).Open("/"+name, vfs.Read)
			if err != nil {
				continue // no header
			}
			got, err := io.ReadAll(r)
			if err != nil {
				continue
			}
			if string(got) == text {
				t.Fatalf("%s: byte %d changed unnoticed", name, i)
			}
			if left := strings.Trim(strings.ReplaceAll(string(got), "line\n", ""), "\x00"); left != "" || name == "a.json" && strings.Contains(string(got), "\x00") {
				t.Fatalf("%s: byte %d: read %q", name, i, got)
			}
		}
		for i := range raw { // cut at every byte
			cut := faultfs.New()
			ok(t, cut.Put("/"+name, raw[:i]))
			fsys := sealfs.New(cut, "/", testKey, sealfs.Sealed)
			got := read(t, fsys, "/"+name)
			if !strings.HasPrefix(text, got) || len(got)%5 != 0 {
				t.Fatalf("%s cut at %d: read %q", name, i, got)
			}
			f := open(t, fsys, "/"+name, vfs.Append)
			write(t, f, "next\n")
			if now := read(t, fsys, "/"+name); now != got+"next\n" {
				t.Fatalf("%s cut at %d: %q after an append", name, i, now)
			}
		}
	}
}

// TestMovedRecords exchanges records within a file and between files, and slots between files.
func TestMovedRecords(t *testing.T) {
	disk := faultfs.New()
	fsys := sealfs.New(disk, "/", testKey, sealfs.Sealed)
	for _, name := range []string{"/a.jsonl", "/b.jsonl"} {
		f := open(t, fsys, name, vfs.Append)
		for i := range 4 {
			write(t, f, fmt.Sprintf("%s%d\n", name, i))
		}
	}
	a, err := disk.Get("/a.jsonl")
	ok(t, err)
	b, err := disk.Get("/b.jsonl")
	ok(t, err)
	const head, size = 32, 40 + 10
	record := func(raw []byte, i int) []byte { return raw[head+i*size:][:size] }
	for what, change := range map[string]func(raw []byte){
		"swapped":   func(raw []byte) { copy(record(raw, 1), record(a, 2)); copy(record(raw, 2), record(a, 1)) },
		"repeated":  func(raw []byte) { copy(record(raw, 2), record(a, 1)) },
		"foreign":   func(raw []byte) { copy(record(raw, 1), record(b, 1)) },
		"new owner": func(raw []byte) { copy(raw[:head], b[:head]) },
	} {
		raw := bytes.Clone(a)
		change(raw)
		ok(t, disk.Put("/a.jsonl", raw))
		got := read(t, sealfs.New(disk, "/", testKey, sealfs.Sealed), "/a.jsonl")
		if strings.Contains(got, "b.jsonl") || strings.Count(got, "/a.jsonl1") > 1 || strings.Count(got, "\n") == 4 {
			t.Errorf("%s records: read %q", what, got)
		}
	}
}

// TestTwoWriters appends to one file through two handles at once, without a lock of the
// callers.
func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log.jsonl")
	var wg sync.WaitGroup
	for w := range 2 {
		fsys := sealfs.New(vfs.OS{}, dir, testKey, sealfs.Sealed) // as two processes
		wg.Go(func() {
			f, err := fsys.Open(path, vfs.Append)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for i := range 200 {
				if _, err := fmt.Fprintf(f, "%d-%d\n", w, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := read(t, sealfs.New(vfs.OS{}, dir, testKey, sealfs.Sealed), path)
	for w := range 2 {
		for i := range 200 {
			if strings.Count("\n"+got, fmt.Sprintf("\n%d-%d\n", w, i)) != 1 {
				t.Fatalf("line %d-%d is not there once", w, i)
			}
		}
	}
}

// TestLockedHome checks that a locked home gives its reason for every call.
func TestLockedHome(t *testing.T) {
	dir := t.TempDir()
	if fsys := sealfs.Home(dir); fsys != sealfs.LinkFS(vfs.OS{}) {
		t.Errorf("a plain home uses %T", fsys)
	}
	ok(t, vfs.WriteFile(vfs.OS{}, filepath.Join(dir, sealfs.MarkerName), []byte("{}")))
	reason := errors.New("locked")
	sealfs.SetUnlocker(func(string) (sealfs.Key, sealfs.Mode, error) { return sealfs.Key{}, 0, reason })
	defer sealfs.SetUnlocker(nil)
	fsys := sealfs.Home(dir)
	_, openErr := fsys.Open(filepath.Join(dir, "x"), vfs.Create)
	_, statErr := fsys.Stat(dir)
	for _, err := range []error{openErr, statErr, fsys.MkdirAll(filepath.Join(dir, "y")), fsys.Remove(dir), fsys.SyncDir(dir), fsys.Rename(dir, dir)} {
		if !errors.Is(err, reason) {
			t.Errorf("got %v", err)
		}
	}
	sealfs.SetUnlocker(func(string) (sealfs.Key, sealfs.Mode, error) { return testKey, sealfs.Sealed, nil })
	ok(t, vfs.WriteFile(sealfs.Home(dir), filepath.Join(dir, "x"), []byte(secret)))
	if got := read(t, sealfs.Home(dir), filepath.Join(dir, "x")); got != secret {
		t.Errorf("read %q", got)
	}
}

// FuzzFile reads files with arbitrary bytes after a valid beginning.
func FuzzFile(f *testing.F) {
	disk := faultfs.New()
	fsys := sealfs.New(disk, "/", testKey, sealfs.Sealed)
	ok(f, vfs.WriteFile(fsys, "/a.jsonl", bytes.Repeat([]byte("line\n"), 10)))
	raw, err := disk.Get("/a.jsonl")
	ok(f, err)
	f.Add(raw, 0)
	f.Add(raw[32:], 32)
	f.Add([]byte{0, 0, 0, 1}, 32)
	f.Fuzz(func(t *testing.T, data []byte, from int) {
		disk := faultfs.New()
		ok(t, disk.Put("/a.jsonl", append(bytes.Clone(raw[:min(max(from, 0), len(raw))]), data...)))
		fsys := sealfs.New(disk, "/", testKey, sealfs.Sealed)
		r, err := fsys.Open("/a.jsonl", vfs.Extend)
		if err != nil {
			return
		}
		defer r.Close()
		got, err := io.ReadAll(r)
		if err != nil {
			return
		}
		info, err := r.Stat()
		ok(t, err)
		if info.Size != int64(len(got)) {
			t.Fatalf("size %d, read %d", info.Size, len(got))
		}
		write(t, r, "next")
		if now := read(t, fsys, "/a.jsonl"); now != string(got)+"next" {
			t.Fatalf("%q after an append to %q", now, got)
		}
	})
}
