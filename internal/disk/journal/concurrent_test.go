package journal

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
)

const writers = 8

// together runs do in one goroutine per writer.
func together(do func(n int)) {
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() { do(n) })
	}
	all.Wait()
}

// wantAll checks that the lines of all writers are present, each once, and those of one
// writer in order.
func wantAll(t *testing.T, s Source, each int) {
	t.Helper()
	next := make(map[string]int)
	lines := texts(t, s)
	for _, line := range lines {
		var who, n int
		if _, err := fmt.Sscanf(line, `{"writer %d":%d}`, &who, &n); err != nil {
			t.Fatalf("unexpected line %q", line)
		}
		name := fmt.Sprintf("writer %d", who)
		if n != next[name] {
			t.Fatalf("%s: line %d, want %d", name, n, next[name])
		}
		next[name]++
	}
	if len(lines) != writers*each {
		t.Fatalf("there are %d lines, want %d", len(lines), writers*each)
	}
}

func TestManyWritersOfOneJournal(t *testing.T) {
	t.Parallel()
	each := rounds(60)
	for name, fsys := range map[string]vfs.FS{"on disk": vfs.OS{}, "in memory": faultfs.New()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, fsys.MkdirAll(dir))
			j := openIn(t, fsys, filepath.Join(dir, "s.jsonl"), Options{PartSize: 2000})
			var mu sync.Mutex
			ends := make(map[firn.Pos]bool)
			together(func(n int) {
				for _, line := range numbered(fmt.Sprintf("writer %d", n), each) {
					end, err := j.Append(false, batch(line))
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					ends[end] = true
					mu.Unlock()
				}
			})
			must(t, j.Close())
			wantAll(t, j.Source(), each)
			if len(ends) != writers*each {
				t.Errorf("%d appends returned %d different ends", writers*each, len(ends))
			}
		})
	}
}

// TestManyJournalsOnOneFile simulates processes that append to one journal: the kernel lock
// belongs to the open file, so each journal has its own.
func TestManyJournalsOnOneFile(t *testing.T) {
	t.Parallel()
	each := rounds(40)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	together(func(n int) {
		j, err := Open(vfs.OS{}, path, Options{PartSize: 1500, Sync: []Policy{SyncTurn, SyncNever}[n%2]})
		if err != nil {
			t.Error(err)
			return
		}
		for i, line := range numbered(fmt.Sprintf("writer %d", n), each) {
			if _, err := j.Append(i%3 == 0, batch(line)); err != nil {
				t.Error(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	wantAll(t, Source{FS: vfs.OS{}, Path: path}, each)
}

// TestManyJournalsOfOneCommitter appends concurrently through a small commit log and cuts
// the power at some point.
func TestManyJournalsOfOneCommitter(t *testing.T) {
	t.Parallel()
	for round := range rounds(24) {
		chance := rand.New(rand.NewPCG(uint64(round), 4))
		fsys := memory(t, nil)
		c, _, err := NewCommitter(fsys, "home")
		must(t, err)
		c.log.grow, c.log.limit = 512, 3000
		fsys.PowerOff(1+chance.IntN(300), faultfs.Changing)
		books := make([]book, writers)
		together(func(n int) {
			b := &books[n]
			j, err := Open(fsys, fmt.Sprintf("home/%d.jsonl", n), Options{Committer: c, PartSize: 500})
			if err != nil {
				return
			}
			for _, line := range numbered(fmt.Sprintf("writer %d", n), 20) {
				if _, err := j.Append(false, batch(line)); err != nil {
					b.add(refused, line)
				} else {
					b.add(kept, line)
				}
			}
		})
		fsys.PowerOff(1, faultfs.Any)
		_ = c.Close() // the power is off
		for left := range fsys.CrashStates(6) {
			_, err := Replay(left, "home")
			must(t, err)
			for n := range books {
				path := fmt.Sprintf("home/%d.jsonl", n)
				j := openIn(t, left, path, Options{})
				must(t, j.Close())
				if err := books[n].compare(left, path, true); err != nil {
					t.Fatalf("round %d: %s: %v\n%s", round, path, err, &books[n])
				}
			}
		}
	}
}

// TestGroupCommit checks that appends that arrive during a sync share the next one.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	fsys := memory(t, nil)
	j := openIn(t, fsys, base, Options{})
	if _, err := j.Append(false, batch(`{"first":1}`)); err != nil {
		t.Fatal(err)
	}
	fsys.ClearLog()
	var waits []Wait
	fsys.Hook(func(kind faultfs.Kind, _ string) {
		if kind == faultfs.Sync && waits == nil {
			for _, line := range numbered("late", writers) {
				_, wait, err := j.Write(false, batch(line))
				must(t, err)
				waits = append(waits, wait)
			}
		}
	})
	if _, err := j.Append(false, batch(`{"second":1}`)); err != nil {
		t.Fatal(err)
	}
	together(func(n int) {
		if err := waits[n].Wait(); err != nil {
			t.Error(err)
		}
	})
	if log := fsys.Log(faultfs.Sync); len(log) != 2 {
		t.Errorf("%d appends performed %q", 1+writers, log)
	}
}

// TestNewPartByAnotherWriter checks an append that waits for its sync while another process
// starts a new part and a second append goes to that part.
func TestNewPartByAnotherWriter(t *testing.T) {
	t.Parallel()
	fsys := memory(t, map[string]string{base: joined(numbered("old", 9)), PartPath(base, 1): joined(numbered("old", 2))})
	mine := openIn(t, fsys, base, Options{})
	theirs := openIn(t, fsys, base, Options{PartSize: 10})
	_, first, err := mine.Write(false, batch(`{"mine":1}`))
	must(t, err)
	if _, err := theirs.Append(false, batch(`{"theirs":1}`)); err != nil {
		t.Fatal(err)
	}
	_, second, err := mine.Write(false, batch(`{"mine":2}`))
	must(t, err)
	if err := errors.Join(first.Wait(), second.Wait()); err != nil {
		t.Error(err)
	}
	if got := content(t, fsys, PartPath(base, 2)); got != "{\"theirs\":1}\n{\"mine\":2}\n" {
		t.Errorf("the third part contains %q", got)
	}
}

// TestLocked checks that an append waits while another process holds the lock.
func TestLocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fsys := memory(t, nil)
		j := openIn(t, fsys, base, Options{LockWait: time.Hour})
		file, err := fsys.Open(base, vfs.Append)
		must(t, err)
		must(t, file.Lock())
		began := time.Now()
		_, err = j.Append(false, batch(`{}`))
		if !errors.Is(err, firn.ErrLocked) || time.Since(began) < time.Hour || time.Since(began) > time.Hour+time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if _, err := Open(fsys, base, Options{LockWait: time.Second}); !errors.Is(err, firn.ErrLocked) {
			t.Errorf("open: %v", err)
		}
		time.AfterFunc(time.Minute, func() { must(t, file.Unlock()) })
		began = time.Now()
		if _, err := j.Append(false, batch(`{}`)); err != nil || time.Since(began) > time.Minute+time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// TestRefusals checks the appends that must be rejected.
func TestRefusals(t *testing.T) {
	t.Parallel()
	fsys := memory(t, nil)
	j := openIn(t, fsys, base, Options{MaxBytes: 30, PartSize: 10})
	end := add(t, j, `{"a":1}`)
	refusal := errors.New("no")
	for name, c := range map[string]struct {
		lines string
		err   error
		want  error
	}{
		"the caller refuses": {"{}\n", refusal, refusal},
		"no newline":         {"{}", nil, firn.ErrInvalid},
		"too much":           {`{"x":"0123456789012345678901234567890"}` + "\n", nil, firn.ErrTooLarge},
		"nothing":            {"", nil, nil},
	} {
		got, err := j.Append(false, func(at firn.Pos) ([]byte, error) {
			if at != end {
				t.Errorf("%s: asked with the end %d, want %d", name, at, end)
			}
			return []byte(c.lines), c.err
		})
		if c.want == nil && (err != nil || got != end) || !errors.Is(err, c.want) {
			t.Errorf("%s: %d, %v", name, got, err)
		}
		if c.err != nil && err != c.err {
			t.Errorf("%s: the error became %v", name, err)
		}
	}
	if got := texts(t, j.Source()); !slices.Equal(got, []string{`{"a":1}`}) {
		t.Errorf("there is %q", got)
	}
	end = add(t, j, `{"b":1}`, `{"c":1}`)
	if j.End() != end || end != Place(1, 16) {
		t.Errorf("the end is %d, Append returned %d", j.End(), end)
	}
	must(t, j.Close())
	must(t, j.Close())
	if _, err := j.Append(false, batch(`{}`)); !errors.Is(err, firn.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := j.Sync(); !errors.Is(err, firn.ErrClosed) {
		t.Errorf("sync after Close: %v", err)
	}
}

// TestClosingAPartFails checks that a failed close of an old part does no harm: the part
// was synced before.
func TestClosingAPartFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, memory(t, nil))
	w.open(base, Options{PartSize: 40})
	w.append(base, 2)
	w.append(base, 2)
	w.fs.FailNth(1, faultfs.Fault{Of: faultfs.Close, Err: syscall.EIO})
	for range 6 {
		w.append(base, 2)
	}
	if w.fs.Waiting() > 0 {
		t.Fatal("no part was closed")
	}
	w.close()
	w.check(false)
}

// TestReadWhileWriting reads in both directions while lines are appended and parts are
// started: readers see all lines that existed when they started, without gaps.
func TestReadWhileWriting(t *testing.T) {
	t.Parallel()
	fsys := memory(t, nil)
	j := openIn(t, fsys, base, Options{PartSize: 200, Sync: SyncNever})
	lines := numbered("n", rounds(2000))
	add(t, j, lines[0])
	var there atomic.Int64
	there.Store(1)
	var all sync.WaitGroup
	all.Go(func() {
		for _, line := range lines[1:] {
			if _, err := j.Append(false, batch(line)); err != nil {
				t.Error(err)
			}
			there.Add(1)
		}
	})
	for name, seq := range map[string]func() iter.Seq2[Line, error]{
		"forwards":  func() iter.Seq2[Line, error] { return j.Source().Lines(0) },
		"backwards": func() iter.Seq2[Line, error] { return j.Source().Back(^firn.Pos(0)) },
	} {
		all.Go(func() {
			for done := false; !done; {
				least := int(there.Load())
				done = least == len(lines)
				got, err := some(seq(), len(lines)+1)
				if name == "backwards" {
					slices.Reverse(got)
				}
				if err != nil || len(got) < least || !slices.Equal(got, lines[:len(got)]) {
					t.Errorf("%s: %d lines when there were %d, %v", name, len(got), least, err)
					return
				}
			}
		})
	}
	all.Wait()
}
