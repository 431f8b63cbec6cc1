package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
)

// received collects the lines that a follower received.
type received struct {
	mu    sync.Mutex
	lines []string
	ats   []firn.Pos
	err   error
	done  bool
}

// listen follows in a goroutine that ends with the sequence.
func listen(all *sync.WaitGroup, seq iter.Seq2[Line, error]) *received {
	h := new(received)
	all.Go(func() {
		for line, err := range seq {
			h.mu.Lock()
			if h.err = err; err == nil {
				h.lines = append(h.lines, string(line.Data))
				h.ats = append(h.ats, line.At, line.Next)
			}
			h.mu.Unlock()
		}
		h.mu.Lock()
		h.done = true
		h.mu.Unlock()
	})
	return h
}

func (h *received) want(t *testing.T, lines []string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		t.Fatal(h.err)
	}
	if !slices.Equal(h.lines, lines) {
		t.Fatalf("a follower received %d lines, want %d:\n%s", len(h.lines), len(lines), firstDifference(h.lines, lines))
	}
	for i := 2; i < len(h.ats); i += 2 {
		if h.ats[i] != h.ats[i-1] {
			t.Fatalf("line %d is at %d, and the one before it ended at %d", i/2, h.ats[i], h.ats[i-1])
		}
	}
}

// pause sleeps, in the time of the synctest bubble, until followers have polled again.
func pause() {
	<-time.After(followPoll + time.Millisecond)
	synctest.Wait()
}

// TestFollow checks polling followers, from every position, while a journal grows part by
// part.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fsys := memory(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		j := openIn(t, fsys, base, Options{PartSize: 100, Sync: SyncNever})
		lines := numbered("n", 60)
		var all sync.WaitGroup
		type follower struct {
			*received
			from int
		}
		var followers []follower
		follow := func(after firn.Pos, from int) {
			h := listen(&all, j.Source().Follow(ctx, nil, after))
			followers = append(followers, follower{h, from})
		}
		for i := 0; i < len(lines); i += 3 {
			add(t, j, lines[i:i+3]...)
			if i%6 == 0 {
				follow(0, 0)
				follow(j.End(), i+3)
				middle := read(t, j.Source())[i/2]
				follow(middle.At, i/2)
				follow(middle.Start, i/2)
				pause()
			}
		}
		pause()
		for _, f := range followers {
			f.want(t, lines[f.from:])
		}
		cancel()
		all.Wait()
	})
}

// TestFollowAnotherWriter follows lines written through another journal object, as by another
// process, including incomplete lines and repairs.
func TestFollowAnotherWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fsys := memory(t, map[string]string{base: "{\"a\":1}\n"})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		h := listen(&all, Source{FS: fsys, Path: base}.Follow(ctx, nil, 0))
		put := func(path, text string) {
			must(t, fsys.Put(path, []byte(text)))
			pause()
		}
		pause()
		h.want(t, []string{`{"a":1}`})
		for _, more := range []string{"{", "{\"b\"", "{\"b\":1}"} {
			put(base, "{\"a\":1}\n"+more)
			h.want(t, []string{`{"a":1}`})
		}
		put(base, "{\"a\":1}\n{\"b\":1}\n{\"torn")
		h.want(t, []string{`{"a":1}`, `{"b":1}`})
		j := openIn(t, fsys, base, Options{PartSize: 20})
		pause()
		add(t, j, `{"c":1}`)
		add(t, j, `{"d":1}`, `{"e":1}`)
		put(PartPath(base, 3), "")
		put(PartPath(base, 3), "{\"f\":1}\n")
		h.want(t, []string{`{"a":1}`, `{"b":1}`, `{"c":1}`, `{"d":1}`, `{"e":1}`, `{"f":1}`})
		cancel()
		all.Wait()
	})
}

// TestFollowReadsOnce counts the bytes that a follower reads.
func TestFollowReadsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fsys := memory(t, nil)
		var count atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		j := openIn(t, fsys, base, Options{PartSize: 5000, Sync: SyncNever})
		add(t, j, `{}`)
		var all sync.WaitGroup
		listen(&all, Source{FS: countFS{fsys, &count}, Path: base}.Follow(ctx, nil, 0))
		for _, line := range sample(300, 8) {
			add(t, j, line)
			pause()
		}
		if want := used(t, fsys); count.Load() != want {
			t.Errorf("following %d bytes read %d bytes", want, count.Load())
		}
		cancel()
		all.Wait()
	})
}

// TestFollowStops checks the ways in which a follower ends, and the error it returns.
func TestFollowStops(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after firn.Pos
		do    func(fsys *faultfs.FS) error
		want  error
	}{
		"the file is deleted":   {0, func(f *faultfs.FS) error { return f.Remove(base) }, firn.ErrReplaced},
		"the file is renamed":   {0, func(f *faultfs.FS) error { return f.Rename(base, other) }, firn.ErrReplaced},
		"the file is cut":       {0, func(f *faultfs.FS) error { return f.Put(base, []byte("{}\n")) }, firn.ErrReplaced},
		"another is in its way": {0, func(f *faultfs.FS) error { return errors.Join(f.Put(other, make([]byte, 99)), f.Rename(other, base)) }, firn.ErrReplaced},
		"looking fails": {0, func(f *faultfs.FS) error {
			f.FailNth(1, faultfs.Fault{Of: faultfs.Stat, Err: syscall.EIO})
			return nil
		}, syscall.EIO},
		"reading fails": {0, func(f *faultfs.FS) error {
			f.FailNth(1, faultfs.Fault{Of: faultfs.Read, Err: syscall.EIO})
			return f.Put(base, []byte("{}\n{}\n{}\n"))
		}, syscall.EIO},
		"the position is after the end": {1000, func(*faultfs.FS) error { return nil }, firn.ErrReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fsys := memory(t, map[string]string{base: "{}\n{}\n"})
				var all sync.WaitGroup
				h := listen(&all, Source{FS: fsys, Path: base}.Follow(t.Context(), nil, c.after))
				synctest.Wait()
				must(t, c.do(fsys))
				all.Wait()
				if !errors.Is(h.err, c.want) {
					t.Errorf("it ended with %v", h.err)
				}
			})
		})
	}
}

func TestFollowNothing(t *testing.T) {
	t.Parallel()
	fsys := memory(t, nil)
	if _, err := gather(Source{FS: fsys, Path: base}.Follow(t.Context(), nil, 0)); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("no journal: %v", err)
	}
	fsys.FailNth(1, faultfs.Fault{Of: faultfs.Stat, Err: syscall.EIO})
	if _, err := gather(Source{FS: fsys, Path: base}.Follow(t.Context(), nil, 0)); !errors.Is(err, syscall.EIO) || errors.Is(err, firn.ErrNotFound) {
		t.Errorf("the disk fails: %v", err)
	}
	// Followers that stop by themselves, or are canceled before they start, return.
	must(t, fsys.Put(base, []byte("{}\n{}\n")))
	for range (Source{FS: fsys, Path: base}).Follow(t.Context(), nil, 0) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := gather(Source{FS: fsys, Path: base}.Follow(ctx, nil, 0)); err != nil {
		t.Error(err)
	}
	if opened, closed := fsys.Count(faultfs.Open), fsys.Count(faultfs.Close); opened != closed {
		t.Errorf("opened %d files, closed %d", opened, closed)
	}
}

// TestFollowOnDisk checks many followers of a hub, on a journal of their own process and on
// one that another process writes.
func TestFollowOnDisk(t *testing.T) {
	t.Parallel()
	hub := NewHub()
	dir := t.TempDir()
	mine, theirs := filepath.Join(dir, "mine.jsonl"), filepath.Join(dir, "theirs.jsonl")
	lines := numbered("n", 120)
	var all sync.WaitGroup
	for path, opts := range map[string]Options{mine: {PartSize: 300, Sync: SyncNever, Hub: hub}, theirs: {PartSize: 300, Sync: SyncNever}} {
		j := open(t, path, opts)
		add(t, j, lines[:10]...)
		for n := range writers {
			all.Go(func() {
				got, err := some(j.Source().Follow(t.Context(), hub, 0), len(lines))
				if err != nil || !slices.Equal(got, lines) {
					t.Errorf("follower %d of %s: %v: %s", n, filepath.Base(path), err, firstDifference(got, append(lines, "")))
				}
			})
		}
		all.Go(func() {
			for _, line := range lines[10:] {
				if _, err := j.Append(false, batch(line)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	hub.mu.Lock()
	if len(hub.subs) > 0 || len(hub.dirs) > 0 {
		t.Errorf("after all followers left there are %d subscribers, %d directories", len(hub.subs), len(hub.dirs))
	}
	hub.mu.Unlock()
	must(t, hub.Close())
	must(t, hub.Close())
}

// some returns the first n lines of a sequence.
func some(seq iter.Seq2[Line, error], n int) ([]string, error) {
	var lines []string
	for line, err := range seq {
		if err != nil {
			return lines, err
		}
		if lines = append(lines, string(bytes.Clone(line.Data))); len(lines) == n {
			break
		}
	}
	return lines, nil
}

// TestHubReportsChangesOfOtherProcesses checks that the system reports changes by other
// processes. There is no polling here: without a notification the test would hang.
func TestHubReportsChangesOfOtherProcesses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, path := range []string{filepath.Join(dir, "a.jsonl"), "b.jsonl", "./c.jsonl", "../" + filepath.Base(dir) + "/d.jsonl", "no-ending"} {
		hub := NewHub()
		must(t, os.WriteFile(path, []byte("{}\n"), 0o600))
		wake, cancel := hub.subscribe(path)
		j := open(t, path, Options{PartSize: 8, Sync: SyncNever})
		add(t, j, `{"a":1}`)
		<-wake
		cancel()
		// A new part is reported too.
		wake, cancel = hub.subscribe(path)
		add(t, j, `{"b":1}`)
		<-wake
		cancel()
		must(t, hub.Close())
		hub.Notify(path)
		if _, cancel := hub.subscribe(path); cancel != nil {
			cancel()
		}
	}
}

// TestHubUnderLoad subscribes, unsubscribes and notifies from many goroutines while files
// change, and closes the hub meanwhile.
func TestHubUnderLoad(t *testing.T) {
	t.Parallel()
	hub := NewHub()
	dir := t.TempDir()
	together(func(n int) {
		path := filepath.Join(dir, fmt.Sprintf("%d.jsonl", n%3))
		for i := range rounds(100) {
			_, cancel := hub.subscribe(path)
			if err := os.WriteFile(path, []byte(strings.Repeat("{}\n", i)), 0o600); err != nil {
				t.Error(err)
			}
			hub.Notify(path)
			hub.notifyAll()
			if n == 0 && i == 50 {
				if err := hub.Close(); err != nil {
					t.Error(err)
				}
			}
			cancel()
		}
	})
	must(t, hub.Close())
}
