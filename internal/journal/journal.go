// Package journal keeps lines in files that are only ever added to.
//
// A journal is one or more part files of lines that end in "\n". [Journal]
// appends under a kernel lock, one write a batch, and makes it durable before
// it says so; [Source] reads forwards and backwards and never writes; [Hub]
// tells followers that there is more; [Committer] lets many journals share one
// wait for the disk.
//
// The package stores lines. It does not know what they say: of the root
// package it uses positions and errors only.
package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"firn"
	"firn/internal/vfs"
)

// Policy says when appended lines are forced to disk.
type Policy int

const (
	// SyncTurn makes an append durable before it returns, unless the caller
	// defers it to a later one.
	SyncTurn Policy = iota
	// SyncAlways makes every append durable, deferred or not.
	SyncAlways
	// SyncNever leaves it to the system. A power cut may lose what was said.
	SyncNever
)

// Default limits of a journal.
const (
	DefaultPartSize = 50_000_000
	DefaultLockWait = 10 * time.Second
)

// Options says how a journal is kept. The zero value is a good one.
type Options struct {
	// PartSize is the size a part does not pass, except for a single batch
	// larger than it; DefaultPartSize if zero.
	PartSize int64
	// MaxBytes bounds the whole journal if not zero: ErrTooLarge beyond it.
	MaxBytes int64
	// MaxLine is how long a line may be to be read; see Source. Appending does not
	// check it.
	MaxLine int64
	// Long remembers where longer lines are, for those who share it; may be nil.
	Long *LongLines
	Sync Policy
	// LockWait is how long to wait for other processes; DefaultLockWait if zero.
	LockWait time.Duration
	// Existing says that the journal must exist: ErrNotFound if it does not.
	Existing bool
	// Committer shares the wait for the disk with other journals if not nil.
	Committer *Committer
	// Hub is told of every append if not nil.
	Hub *Hub
	// Report is told of repairs to the tail if not nil.
	Report func(Repair)
}

// Journal appends lines to part files. It may be used from many goroutines;
// other processes may append to the same files.
type Journal struct {
	fs   vfs.FS
	base string
	opts Options

	mu sync.Mutex
	// first is the base file: its lock is the lock of the journal. last is the
	// part that is appended to; it is the same file while there is one part.
	first, last vfs.File
	part        int
	path, next  string   // of last, and of the part that will follow it
	info        vfs.Info // of last, to see that it is still the same file
	firstInfo   vfs.Info // of first, for the same reason
	size        int64    // of last, as of our latest look
	sealed      bool     // we saw that last ends in a newline
	before      firn.Pos // the end of the part before last
	total       int64    // size of all parts before last
	state       *state   // what of last is durable
	failed      error    // once set, nothing more is written
	closed      bool
	tail        tail
}

// Open opens a journal to append to it, and creates it if need be. A tail that
// a crash left unfinished is put in order first (see [Repair]).
func Open(fsys vfs.FS, base string, opts Options) (*Journal, error) {
	if opts.PartSize <= 0 {
		opts.PartSize = DefaultPartSize
	}
	if opts.LockWait <= 0 {
		opts.LockWait = DefaultLockWait
	}
	if opts.Committer == nil {
		opts.Committer = new(Committer)
	}
	first, created, err := openOrCreate(fsys, base, opts.Existing)
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", base, err)
	}
	j := &Journal{fs: fsys, base: base, opts: opts, first: first, last: first, path: base, next: PartPath(base, 1)}
	j.state = newState(first, base, created, opts.Committer)
	if err := j.locked(j.settle); err != nil {
		j.closeFiles()
		return nil, fmt.Errorf("open journal %s: %w", base, err)
	}
	j.state.base = j.size
	return j, nil
}

// openOrCreate tells whether the file is new: then nothing of it can be
// waiting for the disk but what we write.
func openOrCreate(fsys vfs.FS, path string, existing bool) (file vfs.File, created bool, err error) {
	if existing {
		file, err = fsys.Open(path, vfs.Extend)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", firn.ErrNotFound, err)
		}
		return file, false, err
	}
	file, err = fsys.Open(path, vfs.Create)
	if errors.Is(err, fs.ErrExist) {
		file, err = fsys.Open(path, vfs.Append)
		return file, false, err
	}
	return file, err == nil, err
}

// settle finds the last part, looks at its end and repairs it if need be.
func (j *Journal) settle() error {
	info, err := j.first.Stat()
	if err != nil {
		return err
	}
	j.info, j.firstInfo, j.size = info, info, info.Size
	if err := j.advance(); err != nil {
		return err
	}
	if from, ok := j.opts.Committer.doubtful(j.path); ok {
		if err := j.rewrite(j.path, from); err != nil {
			return fmt.Errorf("%w: what was written before is not on disk: %w", firn.ErrNotSaved, err)
		}
		j.opts.Committer.trust(j.path)
	}
	return j.repairTail()
}

// Path is the path of the first part.
func (j *Journal) Path() string { return j.base }

// Source returns a reader of the journal's files.
func (j *Journal) Source() Source {
	return Source{FS: j.fs, Path: j.base, MaxLine: j.opts.MaxLine, Long: j.opts.Long}
}

// Append calls fn with the end of the journal while nobody else can append,
// and adds the bytes that it returns: whole lines, each with its "\n". It
// returns the new end. If fn fails or returns no bytes, nothing is written and
// its error is returned as it is.
//
// When Append returns nil the lines are durable, unless deferred is set or the
// policy says otherwise. When it fails they are not to be counted on. After an
// error of kind ErrReplaced, or if the disk failed to sync, the journal takes
// no more appends and must be opened anew.
func (j *Journal) Append(deferred bool, fn func(end firn.Pos) ([]byte, error)) (firn.Pos, error) {
	end, wait, err := j.Write(deferred, fn)
	if err != nil {
		return end, err
	}
	return end, wait.Wait()
}

// Write is the first half of Append: the lines are in the file for every
// reader, and are durable once [Wait.Wait] returns nil. Until then the bytes
// that fn returned must not be changed.
func (j *Journal) Write(deferred bool, fn func(end firn.Pos) ([]byte, error)) (firn.Pos, Wait, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	end, pending, err := j.append(deferred, fn)
	return end, Wait{j, pending}, err
}

// Wait is the second half of an append.
type Wait struct {
	j       *Journal
	pending *pending
}

// Wait returns when the lines are durable, or cannot be made so. It must be
// called once after each Write that succeeded; who writes several times before
// waiting waits in the order of the writes, or from several goroutines.
func (w Wait) Wait() error {
	j := w.j
	if w.pending != nil {
		if err := w.pending.wait(); err != nil {
			j.mu.Lock()
			defer j.mu.Unlock()
			return j.poison("append to "+j.base, err)
		}
	}
	j.opts.Hub.Notify(j.base)
	return nil
}

func (j *Journal) append(deferred bool, fn func(end firn.Pos) ([]byte, error)) (end firn.Pos, p *pending, err error) {
	if err := j.usable(); err != nil {
		return 0, nil, err
	}
	var data []byte
	err = j.locked(func() error {
		if err := j.look(); err != nil {
			return err
		}
		end = j.end()
		if data, err = fn(end); err != nil || len(data) == 0 {
			return err
		}
		if data[len(data)-1] != '\n' {
			return fmt.Errorf("append to %s: %w: the batch does not end in a newline", j.base, firn.ErrInvalid)
		}
		if err := j.roll(len(data)); err != nil {
			return err
		}
		return j.write(data)
	})
	if err != nil && j.end() != end {
		return end, nil, fmt.Errorf("append to %s: %w: %w", j.base, firn.ErrUnknownOutcome, err) // the lock could not be given back
	}
	if err != nil || len(data) == 0 {
		return end, nil, err
	}
	if j.opts.Sync == SyncAlways || j.opts.Sync == SyncTurn && !deferred {
		p = j.opts.Committer.enqueue(j.fs, j.state, j.size-int64(len(data)), data)
	}
	return j.end(), p, nil
}

// Sync makes durable what was appended so far.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil || j.opts.Sync == SyncNever {
		return err
	}
	if err := j.syncLast(); err != nil {
		return j.poison("sync "+j.path, err)
	}
	return nil
}

// syncLast makes all of the last part durable, and its name.
func (j *Journal) syncLast() error {
	if j.state.isSynced(j.size) {
		return nil
	}
	return j.state.sync(j.fs, j.size)
}

// End returns the position after the last line, as of our latest look.
func (j *Journal) End() firn.Pos {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end()
}

// end is the end of the part before while the last part is empty, so that the
// end does not move when a crash falls between making a part and filling it.
func (j *Journal) end() firn.Pos {
	if j.size == 0 && j.part > 0 {
		return j.before
	}
	return Place(j.part, j.size)
}

// usable says why the journal can take no appends, if so.
func (j *Journal) usable() error {
	if j.closed {
		return fmt.Errorf("append to %s: %w", j.base, firn.ErrClosed)
	}
	return j.failed
}

// poison stops the journal for good, unless it has stopped before, and returns
// that nobody knows what became of the append that met the cause. Of those that
// come later nothing is written.
func (j *Journal) poison(doing string, cause error) error {
	if j.failed == nil {
		j.failed = fmt.Errorf("%s: %w: an earlier append failed: %w; the file must be opened anew", doing, firn.ErrNotSaved, cause)
	}
	return fmt.Errorf("%s: %w: %w; the file must be opened anew", doing, firn.ErrUnknownOutcome, cause)
}

// Close frees the files. What was acknowledged is durable already.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	return j.closeFiles()
}

func (j *Journal) closeFiles() error {
	err := j.first.Close()
	if j.last != j.first {
		err = errors.Join(err, j.last.Close())
	}
	return err
}

// lockPause is how long to wait between tries for the lock: at first a moment,
// since it is held for microseconds, later longer.
func lockPause(try int) time.Duration {
	return min(20*time.Microsecond<<min(try, 8), 5*time.Millisecond)
}

// locked runs fn with the kernel lock of the journal.
func (j *Journal) locked(fn func() error) (err error) {
	waited := time.Duration(0)
	for try := 0; ; try++ {
		ok, err := j.first.TryLock()
		if err != nil {
			return fmt.Errorf("lock %s: %w", j.base, err)
		}
		if ok {
			break
		}
		if waited >= j.opts.LockWait {
			return fmt.Errorf("append to %s: %w by another process for %s", j.base, firn.ErrLocked, j.opts.LockWait)
		}
		time.Sleep(lockPause(try))
		waited += lockPause(try)
	}
	defer func() {
		if unlockErr := j.first.Unlock(); unlockErr != nil && err == nil {
			err = fmt.Errorf("unlock %s: %w", j.base, unlockErr)
		}
	}()
	return fn()
}

// tail remembers the latest bytes that were appended, so that they can be
// saved if somebody cuts the file short.
type tail struct {
	buf []byte
	end int64 // offset in the part of the byte after buf
}

const tailSize = 4 << 10

func (t *tail) add(data []byte, end int64) {
	if end-int64(len(data)) != t.end {
		t.buf = t.buf[:0]
	}
	t.end = end
	if len(t.buf)+len(data) > 2*tailSize { // move rarely, not at each append
		keep := min(len(t.buf), max(0, tailSize-len(data)))
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-keep:]...)
		data = data[max(0, len(data)-2*tailSize):]
	}
	t.buf = append(t.buf, data...)
}

// after returns the remembered bytes from an offset on, and where they begin.
func (t *tail) after(offset int64) ([]byte, int64) {
	from := max(offset, t.end-int64(len(t.buf)))
	if from >= t.end {
		return nil, t.end
	}
	return bytes.Clone(t.buf[int64(len(t.buf))-(t.end-from):]), from
}
