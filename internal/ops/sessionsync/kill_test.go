package sessionsync

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/election"
	"firn.dev/wire"
)

// errKilled is the error of every operation after the process was killed.
var errKilled = errors.New("killed")

// fuse kills a process after a number of steps: every later operation fails.
type fuse struct{ left int }

func (f *fuse) burn() error {
	if f.left <= 0 {
		return errKilled
	}
	f.left--
	return nil
}

// killableFS is a file system of a process that is killed.
type killableFS struct {
	vfs.FS
	fuse *fuse
}

func (m killableFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	if err := m.fuse.burn(); err != nil {
		return nil, err
	}
	f, err := m.FS.Open(path, mode)
	if err != nil {
		return nil, err
	}
	return killableFile{f, m.fuse}, nil
}

func (m killableFS) ReadDir(path string) ([]fs.DirEntry, error) {
	if err := m.fuse.burn(); err != nil {
		return nil, err
	}
	return m.FS.ReadDir(path)
}

func (m killableFS) Rename(from, to string) error {
	if err := m.fuse.burn(); err != nil {
		return err
	}
	return m.FS.Rename(from, to)
}

func (m killableFS) Remove(path string) error {
	if err := m.fuse.burn(); err != nil {
		return err
	}
	return m.FS.Remove(path)
}

func (m killableFS) SyncDir(path string) error {
	if err := m.fuse.burn(); err != nil {
		return err
	}
	return m.FS.SyncDir(path)
}

// killableFile writes the first half of what the killed process wrote last.
type killableFile struct {
	vfs.File
	fuse *fuse
}

func (m killableFile) Write(b []byte) (int, error) {
	if err := m.fuse.burn(); err != nil {
		n, _ := m.File.Write(b[:len(b)/2])
		return n, err
	}
	return m.File.Write(b)
}

// killableHome is a home of a process that is killed, before or in the middle of a merge.
type killableHome struct {
	files
	fuse *fuse
}

func (m killableHome) Merge(ctx context.Context, id firn.ID, w wire.Merge, lines io.Reader) (wire.Merged, error) {
	if err := m.fuse.burn(); err != nil {
		return wire.Merged{}, err
	}
	if err := m.fuse.burn(); err != nil { // only the first lines are written, and no head
		first := &firstLines{from: lines, left: 2}
		e, failed := m.appendSome(ctx, id, w, first)
		return e, errors.Join(err, failed)
	}
	done, err := m.files.Merge(ctx, id, w, lines)
	return done, errors.Join(err, m.fuse.burn())
}

func (m killableHome) appendSome(ctx context.Context, id firn.ID, w wire.Merge, lines io.Reader) (wire.Merged, error) {
	data, err := io.ReadAll(lines)
	if err != nil {
		return wire.Merged{}, err
	}
	c := &copyOf{at: make(map[firn.EntryID]int), names: election.New(id)}
	var entries []firn.Entry
	for line := range splitLines(data) {
		_, e, _, err := decodeLine(line)
		if err != nil {
			return wire.Merged{}, err
		}
		c.add(id, line)
		if e.Parent == "" && e.Body.Kind() != firn.KindHeader {
			e.Parent = firn.Root
		}
		entries = append(entries, e)
	}
	_, err = m.Append(ctx, id, w.Expect, entries...)
	return wire.Merged{}, err
}

// firstLines reads the first lines of a stream.
type firstLines struct {
	from io.Reader
	left int
}

func (f *firstLines) Read(b []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.from.Read(b[:1])
	if n == 1 && b[0] == '\n' {
		f.left--
	}
	return n, err
}

func splitLines(data []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(data) > 0 {
			i := 0
			for i < len(data) && data[i] != '\n' {
				i++
			}
			if !yield(data[:i]) {
				return
			}
			data = data[min(i+1, len(data)):]
		}
	}
}

// TestKilledAtEveryStep kills a machine that imports and publishes after every number of
// operations. The next syncs complete the work: nothing is lost, nothing is there twice, and
// the head of the session that grew on both machines is where it was.
func TestKilledAtEveryStep(t *testing.T) {
	killed := true
	for n := 0; killed; n++ {
		d := newDuo(t)
		both := d.session(d.a, "one")
		d.sync(d.a, d.b)
		d.a.addMessage(both, "on a")
		d.a.addMessage(both, "on a again")
		here := d.b.addMessage(both, "on b")
		d.session(d.a, "only on a")
		d.session(d.b, "only on b")
		d.sync(d.a)
		f := &fuse{left: n}
		o := d.b.options(Folder{FS: killableFS{vfs.OS{}, f}, Dir: d.target.Dir}, "share")
		o.FS, o.Local = killableFS{vfs.OS{}, f}, killableHome{d.b.files, f}
		r, err := Run(context.Background(), o)
		killed = err != nil || len(r.Problems) > 0
		last := d.sync(d.b, d.a, d.b, d.a)
		if len(last.Problems) > 0 {
			t.Errorf("killed after %d steps: problems %q", n, last.Problems)
		}
		d.same()
		if head := d.b.copyOf(both).realHead(); head != here {
			t.Errorf("killed after %d steps: the head is %s, want %s", n, head, here)
		}
		if t.Failed() {
			t.Fatalf("killed after %d steps", n)
		}
	}
}

// TestCanceled interrupts a sync while it imports and while it publishes. It ends with the
// context's error, and the next sync completes the work.
func TestCanceled(t *testing.T) {
	d := newDuo(t)
	d.session(d.a, "one")
	d.session(d.a, "two")
	d.sync(d.a)
	d.session(d.b, "three")
	for _, phase := range []string{"importing", "publishing"} {
		ctx, cancel := context.WithCancel(t.Context())
		o := d.b.options(d.target, "share")
		o.Progress = func(what string, done, total int64) {
			if what == phase && done < total {
				cancel()
			}
		}
		if r, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled while %s: %+v, %v", phase, r, err)
		}
		cancel()
	}
	if last := d.sync(d.b, d.a, d.b); len(last.Problems) > 0 {
		t.Errorf("the problems are %q", last.Problems)
	}
	d.same()
}
