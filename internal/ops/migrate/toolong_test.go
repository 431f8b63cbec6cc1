package migrate_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/ops/migrate"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestLineOverTheLimit migrates sessions, one with a line over the limit: it is reported
// and skipped, the others are migrated, and the line is not held in memory.
func TestLineOverTheLimit(t *testing.T) {
	const limit, size = 1 << 20, 64 << 20
	home, there := t.TempDir(), t.TempDir()
	from, to := openLimited(t, home, limit), openLimited(t, there, limit)
	for _, id := range []firn.ID{"a", "b", "c"} {
		appendEntries(t, from, id, firn.UserText("hello"))
	}
	for _, o := range []migrate.Options{{}, {Copy: true}} { // the second time it has grown
		path := transcriptOf(t, home, "b")
		addLongLine(t, path, size)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := migrate.Run(t.Context(), from, to, o)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Differ) != 1 || r.Differ[0].Session != "b" || !strings.Contains(r.Differ[0].Detail, "store.max_line") || len(r.Carried) != 2 {
			t.Errorf("carried %+v", r)
		}
		if held := after.TotalAlloc - before.TotalAlloc; held > size/2 {
			t.Errorf("a line of %d bytes was carried with %d bytes of memory", size, held)
		}
	}
	if _, err := os.Stat(transcriptOf(t, there, "a")); err != nil {
		t.Error(err)
	}
}

// TestCopyOfALineOverTheLimit checks that a copy with a line over the limit is replaced
// when the line was purged at the source, and unchanged while the source cannot be read.
func TestCopyOfALineOverTheLimit(t *testing.T) {
	const limit = 1 << 20
	home, there := t.TempDir(), t.TempDir()
	from := openLimited(t, home, 8*limit)
	e := firn.NewEntry(firn.UserText(strings.Repeat("long ", limit)).Body)
	if _, err := from.Append(t.Context(), "a", store.Any, e); err != nil {
		t.Fatal(err)
	}
	to := openLimited(t, there, 8*limit)
	if r, err := migrate.Run(t.Context(), from, to, migrate.Options{Copy: true}); err != nil || !r.OK() {
		t.Fatalf("%+v, %v", r, err)
	}
	size := func() int64 {
		info, err := os.Stat(transcriptOf(t, there, "a"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	whole := size()
	from.Close()
	to.Close()

	from, to = openLimited(t, home, limit), openLimited(t, there, limit)
	if r, err := migrate.Run(t.Context(), from, to, migrate.Options{Copy: true}); err != nil || len(r.Differ) != 1 || size() != whole {
		t.Errorf("the copy has %d of %d bytes: %+v, %v", size(), whole, r, err)
	}
	if _, err := from.Purge(t.Context(), "a", "test", e.ID); err != nil {
		t.Fatal(err)
	}
	from.Close()
	from = openLimited(t, home, 8*limit) // the remaining placeholder is as long as the line
	if r, err := migrate.Run(t.Context(), from, to, migrate.Options{Copy: true}); err != nil || len(r.Differ) != 1 || !strings.Contains(r.Differ[0].Detail, "store.max_line") {
		t.Errorf("a line that the copy would not read: %+v, %v", r, err)
	}
	to.Close()
	to = openLimited(t, there, 8*limit)
	if r, err := migrate.Run(t.Context(), from, to, migrate.Options{Copy: true}); err != nil || r.Replaced != 1 || !r.OK() {
		t.Errorf("after the purge: %+v, %v", r, err)
	}
	if data, err := os.ReadFile(transcriptOf(t, there, "a")); err != nil || strings.Contains(string(data), "long long") {
		t.Errorf("the copy still has purged text (%v)", err)
	}
}

func openLimited(t *testing.T, dir string, limit int64) *filestore.Store {
	t.Helper()
	st, err := filestore.Open(dir, filestore.Options{MaxLine: limit, Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// transcriptOf returns the file of a session.
func transcriptOf(t *testing.T, home, id string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(home, "agents", "*", "sessions", id+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the files of session %s: %q, %v", id, found, err)
	}
	return found[0]
}

// addLongLine appends a line to a file without holding it in memory.
func addLongLine(t *testing.T, path string, size int64) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	piece := []byte(strings.Repeat("x", 1<<20))
	for at := int64(0); at < size; at += int64(len(piece)) {
		if _, err := f.WriteAt(piece, info.Size()+at); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteAt([]byte{'\n'}, info.Size()+size); err != nil {
		t.Fatal(err)
	}
}
