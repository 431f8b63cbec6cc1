package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/disk/vfs"
)

// TestReplayPastUnusableFile checks a directory in place of a transcript: the other files are
// restored, and the log is kept until that one can be.
func TestReplayPastUnusableFile(t *testing.T) {
	t.Parallel()
	fsys := memory(t, nil)
	must(t, fsys.MkdirAll("home/bad.jsonl"))
	const log = "home/commit/0000000000000001.log"
	must(t, fsys.Put(log, logOf(1, logged{"bad.jsonl", 0, []byte("one\n")}, logged{"good.jsonl", 0, []byte("two\n")})))
	done, err := Replay(fsys, "home")
	must(t, err)
	if len(done) != 2 || !done[0].Unusable || done[1].Restored != 4 {
		t.Errorf("replayed %+v", done)
	}
	if got, _ := fsys.Get("home/good.jsonl"); string(got) != "two\n" {
		t.Errorf("the good one contains %q", got)
	}
	if _, err := fsys.Get(log); err != nil {
		t.Errorf("the log is missing: %v", err)
	}
}

// TestOpenExisting checks that opening a missing journal does not create it.
func TestOpenExisting(t *testing.T) {
	t.Parallel()
	fsys := memory(t, nil)
	if _, err := Open(fsys, base, Options{Existing: true}); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("open of a missing file: %v", err)
	}
	if _, err := fsys.Stat(base); err == nil {
		t.Error("it was made")
	}
}

// TestEndOfCompleteRecords checks the end offset of the complete records. The last one may
// lack its newline.
func TestEndOfCompleteRecords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"":                        0,
		"{\"a\":1}\n":             8,
		"{\"a\":1}\n{\"b\":":      8,
		"{\"a\":1}\n{\"b\":2}":    15,
		"{\"a\":1}\n\x00\x00\x00": 8,
		"{\"b\":":                 0,
	} {
		fsys := memory(t, map[string]string{base: text})
		got, err := Source{FS: fsys, Path: base}.CompleteEnd()
		must(t, err)
		if got != Place(0, want) {
			t.Errorf("%q is settled up to %d, want %d", text, got, want)
		}
	}
}

// TestFollowPastTorn follows from the end of a journal with a torn tail: the writer
// truncates it, and the follower sees the lines after it.
func TestFollowPastTorn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	must(t, os.WriteFile(path, []byte("{\"a\":1}\n{\"b\":"), 0o600))
	source := Source{FS: vfs.OS{}, Path: path}
	after, err := source.CompleteEnd()
	must(t, err)
	hub := NewHub()
	t.Cleanup(func() { hub.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), basetest.Limit)
	defer cancel()
	var writer sync.WaitGroup
	defer writer.Wait()
	writer.Go(func() {
		j, err := Open(vfs.OS{}, path, Options{Hub: hub})
		if err == nil {
			_, err = j.Append(false, func(firn.Pos) ([]byte, error) { return []byte("{\"c\":3}\n"), nil })
			err = errors.Join(err, j.Close())
		}
		if err != nil {
			t.Error(err)
			cancel()
		}
	})
	for line, err := range source.Follow(ctx, hub, after) {
		must(t, err)
		if string(line.Data) != `{"c":3}` {
			t.Errorf("followed %q", line.Data)
		}
		return
	}
	t.Error("nothing was received")
}

// TestFollowLeavesDeadFragment checks that a follower does not read an incomplete line
// repeatedly.
func TestFollowLeavesDeadFragment(t *testing.T) {
	t.Parallel()
	fsys := memory(t, map[string]string{base: "{\"a\":1}\n{\"b\":\"" + strings.Repeat("x", 1000)})
	f := follower{source: Source{FS: fsys, Path: base}}
	defer f.close()
	yielded := 0
	for range 5 {
		f.drain(func(Line, error) bool { yielded++; return true })
	}
	reads := 0
	for _, line := range fsys.Log() {
		if strings.HasPrefix(line, "read ") {
			reads++
		}
	}
	if yielded != 1 || reads > 3 {
		t.Errorf("yielded %d lines with %d reads", yielded, reads)
	}
}

// TestLongFragment checks that a tail too long to be a line is cut off without reading it
// into memory.
func TestLongFragment(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	must(t, os.WriteFile(path, []byte("{\"a\":1}\n"), 0o600))
	must(t, os.Truncate(path, 8+DefaultMaxLine+100)) // a hole, as a power cut may leave it
	var repairs []Repair
	j, err := Open(vfs.OS{}, path, Options{Report: func(r Repair) { repairs = append(repairs, r) }})
	must(t, err)
	defer j.Close()
	if len(repairs) != 1 || repairs[0].Cut != DefaultMaxLine+100 {
		t.Fatalf("repaired %+v", repairs)
	}
	if info, err := os.Stat(repairs[0].SavedTo); err != nil || info.Size() != DefaultMaxLine+100 {
		t.Errorf("saved %v (%v)", info, err)
	}
}
