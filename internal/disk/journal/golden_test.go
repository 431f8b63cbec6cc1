package journal

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"firn.dev/internal/disk/vfs/faultfs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestOperations compares the file system calls with the lists in testdata/operations, so
// that an append that makes one more call is noticed.
func TestOperations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		// before runs unrecorded; the calls of run are recorded.
		before, run func(t *testing.T, w *world)
	}{
		"create and append": {run: func(t *testing.T, w *world) {
			w.open(base, Options{})
			w.append(base, 3)
			w.close()
		}},
		"append": {before: opened, run: func(t *testing.T, w *world) { w.append(base, 3) }},
		"append deferred": {before: opened, run: func(t *testing.T, w *world) {
			w.appendDeferred(base, 1)
			w.appendDeferred(base, 1)
			w.append(base, 1)
		}},
		"append, never synced": {
			before: func(t *testing.T, w *world) { w.open(base, Options{Sync: SyncNever}) },
			run:    func(t *testing.T, w *world) { w.append(base, 2) },
		},
		"roll": {
			files:  map[string]string{base: joined(numbered("old", 9))},
			before: func(t *testing.T, w *world) { w.open(base, Options{PartSize: 100}) },
			run: func(t *testing.T, w *world) {
				w.append(base, 2)
				w.append(base, 2)
			},
		},
		"open": {
			files: map[string]string{base: joined(numbered("old", 9)), PartPath(base, 1): joined(numbered("more", 2))},
			run:   func(t *testing.T, w *world) { w.open(base, Options{}) },
		},
		"open and cut off a torn line": {
			files: map[string]string{base: joined(numbered("old", 9)) + `{"torn":"li`},
			run:   func(t *testing.T, w *world) { w.open(base, Options{}) },
		},
		"open and finish a whole line": {
			files: map[string]string{base: joined(numbered("old", 9)) + `{"old":9}`},
			run:   func(t *testing.T, w *world) { w.open(base, Options{}) },
		},
		"two journals, one wait": {
			before: func(t *testing.T, w *world) {
				w.commitLog(512, 4096)
				w.open(base, Options{})
				w.open(other, Options{})
			},
			run: func(t *testing.T, w *world) {
				w.appendTogether(base, other)
				w.appendTogether(base, other)
			},
		},
		"checkpoint": {
			before: func(t *testing.T, w *world) {
				w.commitLog(512, 4096)
				w.open(base, Options{})
				w.open(other, Options{})
				w.appendTogether(base, other)
			},
			run: func(t *testing.T, w *world) { w.checkpoint() },
		},
		"replay": {
			before: func(t *testing.T, w *world) {
				w.commitLog(512, 4096)
				w.open(base, Options{})
				w.open(other, Options{})
				w.appendTogether(base, other)
				w.powerCut()
			},
			run: func(t *testing.T, w *world) { w.commitLog(512, 4096) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, memory(t, c.files))
			if c.before != nil {
				c.before(t, w)
			}
			w.fs.ClearLog()
			c.run(t, w)
			compare(t, name, w.fs)
		})
	}
}

func opened(t *testing.T, w *world) {
	w.open(base, Options{})
	w.append(base, 2)
}

var logName = regexp.MustCompile(`[0-9a-f]{16}\.log`)

// compare compares the log of the file system with the golden file.
func compare(t *testing.T, name string, fsys *faultfs.FS) {
	t.Helper()
	got := logName.ReplaceAllString(strings.Join(fsys.Log(), "\n"), "*.log") + "\n"
	path := filepath.Join("testdata", "operations", strings.ReplaceAll(strings.ReplaceAll(name, ",", ""), " ", "-")+".golden")
	if *update {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if got != string(want) {
		t.Errorf("the operations are not those of %s (-update accepts them):\n%s", path, got)
	}
}

// TestOneWrite checks that a batch of any length is one write, so that a kill cannot split
// it.
func TestOneWrite(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 10, 1000, 100_000} {
		w := newWorld(t, memory(t, nil))
		w.open(base, Options{})
		w.fs.ClearLog()
		w.append(base, n)
		if log := w.fs.Log(faultfs.Write); len(log) != 1 {
			t.Errorf("%d lines performed %q", n, log)
		}
	}
}
