package journal

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
)

// scenario is a sequence of steps with journals.
type scenario struct {
	files  map[string]string
	run    func(w *world)
	states int // number of states to check after each power cut; 0 means a few
}

var small = Options{PartSize: 400}

// lives are the scenarios in which every operation fails once.
var lives = map[string]scenario{
	"open, append, roll, reopen": {run: func(w *world) {
		w.open(base, small)
		for range 5 {
			w.append(base, 2)
		}
		w.append(base, 3)
		w.closeOne(base)
		w.append(base, 1)
	}},
	"a torn line": {
		files: map[string]string{base: `{"torn":"li`},
		run: func(w *world) {
			w.open(base, Options{})
			w.append(base, 1)
			w.append(base, 1)
		},
	},
	"another process dies within a write": {run: func(w *world) {
		w.open(base, Options{})
		w.append(base, 1)
		w.intrude(base, `{"torn":"by another`)
		w.append(base, 1)
		w.append(base, 1)
		w.append(base, 1)
	}},
	"another process dies before the newline": {run: func(w *world) {
		w.open(base, Options{})
		w.append(base, 1)
		line := w.lines(1)[0]
		w.intrude(base, line)
		w.books[base].add(refused, line)
		w.append(base, 1)
		w.append(base, 1)
		w.append(base, 1)
	}},
	"another process starts a part": {run: func(w *world) {
		w.open(base, Options{})
		w.append(base, 1)
		line := w.lines(1)[0]
		w.intrude(PartPath(base, 1), line+"\n")
		w.books[base].add(written, line)
		w.append(base, 1)
		w.intrude(PartPath(base, 2), "")
		w.append(base, 1)
		w.append(base, 1)
	}},
	"deferred": {run: func(w *world) {
		w.open(base, small)
		for range 4 {
			w.appendDeferred(base, 3)
		}
		w.sync(base)
		w.appendDeferred(base, 3)
		w.append(base, 3)
	}},
	"never synced": {run: func(w *world) {
		w.open(base, Options{PartSize: 400, Sync: SyncNever})
		for range 6 {
			w.append(base, 3)
		}
	}},
	"two journals, one log": {run: func(w *world) {
		w.commitLog(256, 700)
		w.open(base, small)
		w.open(other, small)
		for range 8 {
			w.appendTogether(base, other)
		}
		w.checkpoint()
		w.appendTogether(base, other)
		w.close()
		w.commitLog(256, 700)
		w.appendTogether(base, other)
	}},
}

// intrude appends bytes to a file as another program would, without entries in the
// operation log and without faults.
func (w *world) intrude(path, text string) {
	w.t.Helper()
	old, err := w.fs.Get(path)
	if err != nil && text == "" {
		old = []byte{}
	}
	must(w.t, w.fs.Put(path, append(old, text...)))
}

// TestEveryOperationFails makes each operation of each scenario fail once, in every
// possible way.
func TestEveryOperationFails(t *testing.T) {
	t.Parallel()
	for name, life := range lives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for nth := 1; ; nth += stride() {
				line := life.failing(t, nth, faultfs.Fault{Err: syscall.EIO})
				if line == "" {
					break
				}
				for _, fault := range faultsFor(line) {
					life.failing(t, nth, fault)
				}
			}
		})
	}
}

// faultsFor returns the ways in which an operation can fail besides EIO.
func faultsFor(line string) []faultfs.Fault {
	faults := []faultfs.Fault{{Err: syscall.ENOSPC}, {Err: syscall.EIO, After: true}}
	var path string
	var size, at int
	if n, _ := fmt.Sscanf(line, "write %s %d@%d", &path, &size, &at); n == 3 {
		for _, short := range []int{1, size / 2, size - 1} {
			faults = append(faults, faultfs.Fault{Err: syscall.ENOSPC, Short: short}, faultfs.Fault{Err: io.ErrShortWrite, Short: short})
		}
	}
	if strings.HasPrefix(line, "sync ") {
		faults = append(faults, faultfs.Fault{Err: syscall.EIO, Evict: true})
	}
	return faults
}

// failing runs a scenario in which the nth operation fails, and then checks that the
// journals work again. It returns the operation, or "" if there were fewer.
func (s scenario) failing(t *testing.T, nth int, fault faultfs.Fault) (line string) {
	t.Helper()
	w := newWorld(t, memory(t, s.files))
	w.pad = 90
	var errs []error
	w.fs.ClearLog()
	w.fs.FailNth(nth, fault)
	defer func() {
		if t.Failed() {
			t.Logf("%q failed: %v; then: %v", line, fault, errs)
		}
	}()
	w.failed = func(err error) { errs = append(errs, err) }
	s.run(w)
	if w.fs.Waiting() > 0 {
		return ""
	}
	line = w.fs.Log()[nth-1]
	for _, err := range errs {
		checkError(t, err, line, fault.Err)
	}
	w.failed = nil
	w.reopened(fault.Evict)
	return line
}

// checkError checks the cause and the kind of an error.
func checkError(t *testing.T, err error, line string, cause error) {
	t.Helper()
	if !errors.Is(err, cause) {
		t.Fatalf("the cause is not reported: %v", err)
	}
	if !strings.Contains(err.Error(), "home") {
		t.Fatalf("the file is not reported: %v", err)
	}
	if strings.Contains(err.Error(), "commit log") || strings.Contains(line, ".torn-") {
		return // not an append
	}
	for _, kind := range []string{"write home/s", "sync home/s", "truncate home/s"} {
		if strings.HasPrefix(line, kind) && !errors.Is(err, firn.ErrNotSaved) {
			t.Fatalf("%s failed and the error is not of the kind ErrNotSaved: %v", line, err)
		}
	}
}

// reopened appends to the journals that still accept lines, then reopens all of them,
// appends again, and checks the content each time.
func (w *world) reopened(damage bool) {
	w.t.Helper()
	for path, j := range w.journals {
		if j.failed == nil {
			w.append(path, 1)
			must(w.t, w.books[path].compare(w.fs, path, damage))
		}
	}
	w.close()
	w.commitLog(256, 700)
	for path := range w.books {
		w.append(path, 1)
	}
	w.close()
	w.check(damage)
}

// TestTruncationAfterShortWriteFails checks short writes that cannot be undone: the journal
// must report the error and reject further appends.
func TestTruncationAfterShortWriteFails(t *testing.T) {
	t.Parallel()
	for short := range 60 {
		w := newWorld(t, memory(t, nil))
		w.open(base, Options{})
		w.append(base, 1)
		w.fs.FailNth(1, faultfs.Fault{Of: faultfs.Write, Err: syscall.ENOSPC, Short: short})
		w.fs.FailNth(1, faultfs.Fault{Of: faultfs.Truncate, Err: syscall.EROFS})
		var err error
		w.failed = func(e error) { err = e }
		w.append(base, 4)
		if !errors.Is(err, firn.ErrNotSaved) || !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, syscall.EROFS) {
			t.Fatalf("%d bytes written: %v", short, err)
		}
		if w.append(base, 1); !errors.Is(err, firn.ErrNotSaved) {
			t.Fatalf("it continues after that: %v", err)
		}
		w.failed = nil
		if w.fs.Waiting() > 0 {
			t.Fatalf("the file was not cut back")
		}
		w.reopened(false)
	}
}

// TestFullDisk fills the disk during an append, repeatedly, and frees it again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memory(t, nil))
	w.pad = 300
	w.open(base, Options{PartSize: 5000})
	w.append(base, 1)
	for room := range int64(rounds(400)) {
		w.fs.Limit(used(t, w.fs) + room)
		var err error
		w.failed = func(e error) { err = e }
		before := content(t, w.fs, w.journals[base].path)
		for err == nil {
			before = content(t, w.fs, w.journals[base].path)
			w.append(base, 2)
		}
		if !errors.Is(err, firn.ErrNotSaved) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk is full, but the error is: %v", err)
		}
		if after := content(t, w.fs, w.journals[base].path); after != before && after != "" {
			t.Fatalf("a failed append left %q", strings.TrimPrefix(after, before))
		}
		w.failed = nil
		w.fs.Limit(-1)
		w.append(base, 1)
	}
	w.check(false)
	w.reopened(false)
}

// used returns the total size of all files in bytes.
func used(t testing.TB, fsys *faultfs.FS) int64 {
	n := int64(0)
	for _, path := range fsys.Files() {
		n += int64(len(content(t, fsys, path)))
	}
	return n
}
