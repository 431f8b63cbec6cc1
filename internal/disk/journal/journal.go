// Package journal stores lines in append-only files.
//
// A journal is one or more part files of lines that end in "\n". [Journal] appends under a
// kernel lock, with one write per batch, and returns when the batch is durable. [Source]
// reads forward and backward and never writes. [Hub] notifies followers of new lines.
// [Committer] lets many journals share one disk sync.
//
// The package does not interpret the lines. It uses only positions and errors of the root
// package.
package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Policy selects when appended lines are synced to disk.
type Policy int

const (
	// SyncTurn makes an append durable before it returns, unless the caller defers that to
	// a later append.
	SyncTurn Policy = iota
	// SyncAlways makes every append durable, deferred or not.
	SyncAlways
	// SyncNever leaves syncing to the system. A power cut may lose acknowledged lines.
	SyncNever
)

// Default limits of a journal.
const (
	DefaultPartSize = 50_000_000
	DefaultLockWait = 10 * time.Second
)

// Options configures a journal. The zero value uses the defaults.
type Options struct {
	// PartSize is the maximum size of a part in bytes. Only a single larger batch may
	// exceed it. Zero means DefaultPartSize.
	PartSize int64
	// MaxBytes is the maximum size of the whole journal; appends beyond it fail with
	// ErrTooLarge. Zero means no limit.
	MaxBytes int64
	// MaxLine is the maximum length of a line to be read; see Source. Append does not check
	// it.
	MaxLine int64
	// Long caches the offsets of longer lines and can be shared between journals; may be
	// nil.
	Long *LongLines
	Sync Policy
	// LockWait is how long to wait for other processes; DefaultLockWait if zero.
	LockWait time.Duration
	// Existing requires the journal to exist; Open fails with ErrNotFound if it does not.
	Existing bool
	// Committer shares disk syncs with other journals, if not nil.
	Committer *Committer
	// Hub is notified of every append, if not nil.
	Hub *Hub
	// Report is called for each repair of the tail, if not nil.
	Report func(Repair)
}

// Journal appends lines to part files. It is safe for concurrent use, and other processes
// may append to the same files.
type Journal struct {
	fs   vfs.FS
	base string
	opts Options

	mu sync.Mutex
	// first is the base file, whose lock is the lock of the journal. last is the part to
	// append to; it is the same file while there is only one part.
	first, last vfs.File
	part        int
	path, next  string   // of last, and of the part that will follow it
	info        vfs.Info // of last, to detect that it was replaced
	firstInfo   vfs.Info // of first, for the same reason
	size        int64    // of last, as of the latest check
	sealed      bool     // last is known to end in a newline
	before      firn.Pos // end of the part before last
	total       int64    // size of all parts before last
	state       *state   // durability of last
	failed      error    // once set, nothing more is written
	closed      bool
	tail        tail
}

// Open opens a journal for appending and creates it if necessary. It first repairs a tail
// that was left unfinished by a crash (see [Repair]).
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
	if err := j.locked(j.openTail); err != nil {
		j.closeFiles()
		return nil, fmt.Errorf("open journal %s: %w", base, err)
	}
	j.state.base = j.size
	return j, nil
}

// openOrCreate opens a file or creates it. created reports whether the file is new; a new
// file has no unsynced bytes of other processes.
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

// openTail opens the last part, checks its end and repairs it if necessary.
func (j *Journal) openTail() error {
	info, err := j.first.Stat()
	if err != nil {
		return err
	}
	j.info, j.firstInfo, j.size = info, info, info.Size
	if err := j.advance(); err != nil {
		return err
	}
	if from, ok := j.opts.Committer.unsyncedFrom(j.path); ok {
		if err := j.rewrite(j.path, from); err != nil {
			return fmt.Errorf("%w: earlier data is not on disk: %w", firn.ErrNotSaved, err)
		}
		j.opts.Committer.clearUnsynced(j.path)
	}
	return j.repairTail()
}

// Path returns the path of the first part.
func (j *Journal) Path() string { return j.base }

// Source returns a reader of the journal's files.
func (j *Journal) Source() Source {
	return Source{FS: j.fs, Path: j.base, MaxLine: j.opts.MaxLine, Long: j.opts.Long}
}

// Append calls fn with the end of the journal while holding the lock and appends the bytes
// that it returns, which must be whole lines, each with its "\n". It returns the new end.
// If fn fails or returns no bytes, nothing is written and its error is returned unchanged.
//
// When Append returns nil, the lines are durable, unless deferred is set or the policy does
// not require it. When it fails, the lines may or may not be there. After an error of kind
// ErrReplaced or a failed sync, the journal rejects further appends and must be reopened.
func (j *Journal) Append(deferred bool, fn func(end firn.Pos) ([]byte, error)) (firn.Pos, error) {
	end, wait, err := j.Write(deferred, fn)
	if err != nil {
		return end, err
	}
	return end, wait.Wait()
}

// Write is the first half of Append: the lines are visible to every reader, and are durable
// once [Wait.Wait] returns nil. Until then the bytes that fn returned must not be changed.
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

// Wait returns when the lines are durable or cannot be made durable. It must be called once
// after each successful Write. After several writes, call it in the order of the writes or
// from several goroutines.
func (w Wait) Wait() error {
	j := w.j
	if w.pending != nil {
		if err := w.pending.wait(); err != nil {
			j.mu.Lock()
			defer j.mu.Unlock()
			return j.fail("append to "+j.base, err)
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
		if err := j.checkFiles(); err != nil {
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
		return end, nil, fmt.Errorf("append to %s: %w: %w", j.base, firn.ErrUnknownOutcome, err) // the lock could not be released
	}
	if err != nil || len(data) == 0 {
		return end, nil, err
	}
	if j.opts.Sync == SyncAlways || j.opts.Sync == SyncTurn && !deferred {
		p = j.opts.Committer.enqueue(j.fs, j.state, j.size-int64(len(data)), data)
	}
	return j.end(), p, nil
}

// Sync makes everything appended so far durable.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil || j.opts.Sync == SyncNever {
		return err
	}
	if err := j.syncLast(); err != nil {
		return j.fail("sync "+j.path, err)
	}
	return nil
}

// syncLast makes the last part and its name durable.
func (j *Journal) syncLast() error {
	if j.state.isSynced(j.size) {
		return nil
	}
	return j.state.sync(j.fs, j.size)
}

// End returns the position after the last line, as of the latest check.
func (j *Journal) End() firn.Pos {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end()
}

// end returns the end of the journal. While the last part is empty, that is the end of the
// previous part, so that a crash between creating and filling a part does not move it.
func (j *Journal) end() firn.Pos {
	if j.size == 0 && j.part > 0 {
		return j.before
	}
	return Place(j.part, j.size)
}

// usable returns an error if the journal cannot take appends.
func (j *Journal) usable() error {
	if j.closed {
		return fmt.Errorf("append to %s: %w", j.base, firn.ErrClosed)
	}
	return j.failed
}

// fail stops the journal permanently, unless it has stopped before. It returns an
// ErrUnknownOutcome for the append that met the cause. Later appends write nothing.
func (j *Journal) fail(doing string, cause error) error {
	if j.failed == nil {
		j.failed = fmt.Errorf("%s: %w: an earlier append failed: %w; reopen the file", doing, firn.ErrNotSaved, cause)
	}
	return fmt.Errorf("%s: %w: %w; reopen the file", doing, firn.ErrUnknownOutcome, cause)
}

// Close closes the files. Acknowledged lines are already durable.
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

// lockPause returns the delay before the next attempt to lock. It starts very short,
// because the lock is usually held for microseconds, and grows.
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

// tail keeps the most recently appended bytes, so that they can be saved if another process
// truncates the file.
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
	if len(t.buf)+len(data) > 2*tailSize { // Move the bytes rarely, not on each append.
		keep := min(len(t.buf), max(0, tailSize-len(data)))
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-keep:]...)
		data = data[max(0, len(data)-2*tailSize):]
	}
	t.buf = append(t.buf, data...)
}

// after returns the kept bytes from an offset on, and the offset of the first.
func (t *tail) after(offset int64) ([]byte, int64) {
	from := max(offset, t.end-int64(len(t.buf)))
	if from >= t.end {
		return nil, t.end
	}
	return bytes.Clone(t.buf[int64(len(t.buf))-(t.end-from):]), from
}
