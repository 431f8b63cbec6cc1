package journal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"firn.dev/internal/disk/vfs"
)

// A commit log is a file of records, each with the bytes of one append and their
// destination:
//
//	file    "firnlog1" epoch(8) record...
//	record  crc(4) length(4) offset(8) pathLength(2) path data
//
// Numbers are big endian; length counts the bytes after it. The checksum covers the epoch
// and everything after itself, so that remains of an earlier use of the file are invalid.
// The first record with a wrong checksum ends the log.
const (
	logMagic      = "firnlog1"
	logHeaderSize = 16
	logRecordSize = 18 // without path and data
	// logGrow is the number of zero bytes by which a log grows at a time: syncing bytes
	// that are already allocated is faster.
	logGrow = 1 << 20
	// logLimit is the size at which a log is switched and emptied.
	logLimit = 16 << 20
	// logMaxData bounds the data written through the log: for larger appends, writing twice
	// costs more than another sync.
	logMaxData = 256 << 10
	// logFewFiles is the maximum number of files that are synced one by one when a log is
	// emptied, to avoid waiting for data of other programs.
	logFewFiles = 64
)

var logTable = crc32.MakeTable(crc32.Castagnoli)

// commitLog is a pair of files: one is written while the bytes of the other are being made
// durable in their journal files.
type commitLog struct {
	fs          vfs.FS
	root        string
	dir         string
	grow, limit int64 // logGrow and logLimit, except in tests

	mu     sync.Mutex
	active *logFile
	spare  *logFile
	buf    []byte
	broken error // once set, the log is not written anymore

	failures atomic.Int64 // number of failed syncs of any file

	emptying sync.WaitGroup // of spare
	emptyErr error          // result of emptying; read after the wait
}

// logFile is one log file. It stays locked while this process runs, which keeps other
// processes from replaying it.
type logFile struct {
	file  vfs.File
	path  string
	epoch uint64
	off   int64 // offset of the next record; 0 if the header is not written yet
	size  int64
	dirty map[string]bool // files whose bytes may be durable only in this log
	// failures is the value of commitLog.failures when this log was empty.
	failures int64
}

func newCommitLog(fsys vfs.FS, root string) *commitLog {
	return &commitLog{fs: fsys, root: root, dir: filepath.Join(root, "commit"), grow: logGrow, limit: logLimit}
}

// write makes a batch durable in the log.
func (l *commitLog) write(batch []*pending) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	if err := l.ensureRoom(batch); err != nil {
		return err
	}
	a := l.active
	l.buf = l.buf[:0]
	if a.off == 0 {
		l.buf = append(l.buf, logMagic...)
		l.buf = binary.BigEndian.AppendUint64(l.buf, a.epoch)
	}
	for _, p := range batch {
		if err := l.resolvePath(p.state); err != nil {
			return err
		}
		l.buf = appendRecord(l.buf, a.epoch, p.state.rel, p.offset, p.data)
		if p.state.epoch != a.epoch {
			p.state.epoch = a.epoch
			a.dirty[p.state.path] = true
		}
	}
	if err := a.add(l.buf, l.grow); err != nil {
		l.broken = fmt.Errorf("write commit log %s: %w", a.path, err)
		return l.broken
	}
	return nil
}

// resolvePath sets, once, the path of a file relative to the log's root.
func (l *commitLog) resolvePath(s *state) error {
	if s.rel != "" {
		return nil
	}
	rel, err := filepath.Rel(l.root, s.path)
	if err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("write commit log: %s is not below %s", s.path, l.root)
	}
	s.rel = filepath.ToSlash(rel)
	return nil
}

// add writes and syncs b, growing the file first if necessary.
func (a *logFile) add(b []byte, grow int64) error {
	for a.off+int64(len(b)) > a.size {
		if _, err := a.file.WriteAt(make([]byte, grow), a.size); err != nil {
			return err
		}
		a.size += grow
	}
	if _, err := a.file.WriteAt(b, a.off); err != nil {
		return err
	}
	if err := a.file.Sync(); err != nil {
		return err
	}
	a.off += int64(len(b))
	return nil
}

func appendRecord(b []byte, epoch uint64, path string, offset int64, data []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(10+len(path)+len(data)))
	b = binary.BigEndian.AppendUint64(b, uint64(offset))
	b = binary.BigEndian.AppendUint16(b, uint16(len(path)))
	b = append(b, path...)
	b = append(b, data...)
	binary.BigEndian.PutUint32(b[start:], checksum(epoch, b[start+4:]))
	return b
}

func checksum(epoch uint64, b []byte) uint32 {
	var e [8]byte
	binary.BigEndian.PutUint64(e[:], epoch)
	return crc32.Update(crc32.Checksum(e[:], logTable), logTable, b)
}

// ensureRoom makes sure that there is an active log with room for a batch.
func (l *commitLog) ensureRoom(batch []*pending) error {
	if l.active == nil {
		active, err := l.create()
		if err != nil {
			return err
		}
		l.active = active
		return nil
	}
	n := int64(0)
	for _, p := range batch {
		n += int64(logRecordSize + len(p.state.path) + len(p.data))
	}
	if l.active.off+n <= l.limit {
		return nil
	}
	if l.emptying.Wait(); l.emptyErr != nil {
		l.broken = l.emptyErr
		return l.broken
	}
	if l.spare == nil {
		spare, err := l.create()
		if err != nil {
			return err
		}
		l.spare = spare
	}
	l.active, l.spare = l.spare, l.active
	full := l.spare
	l.emptying.Go(func() { l.emptyErr = l.flushAndReset(full) })
	return nil
}

// create creates a new log file. Its name is durable before it is used.
func (l *commitLog) create() (*logFile, error) {
	epoch, err := newEpoch()
	if err != nil {
		return nil, err
	}
	if err := l.fs.MkdirAll(l.dir); err != nil {
		return nil, fmt.Errorf("make commit log directory: %w", err)
	}
	// Processes that check for dead logs hold this lock, so the file must exist.
	lock, err := l.fs.Open(filepath.Join(l.dir, lockName), vfs.Update)
	if err != nil {
		return nil, fmt.Errorf("make commit log: %w", err)
	}
	if err := lock.Close(); err != nil {
		return nil, fmt.Errorf("make commit log: %w", err)
	}
	path := filepath.Join(l.dir, fmt.Sprintf("%016x.log", epoch))
	file, err := l.fs.Open(path, vfs.Update)
	if err != nil {
		return nil, fmt.Errorf("make commit log: %w", err)
	}
	if err := lockNew(file); err != nil {
		return nil, errors.Join(fmt.Errorf("lock commit log %s: %w", path, err), file.Close())
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return nil, errors.Join(fmt.Errorf("make commit log: %w", err), file.Close())
	}
	return &logFile{file: file, path: path, epoch: epoch, dirty: make(map[string]bool), failures: l.failures.Load()}, nil
}

// lockNew locks a new log. Before that, a concurrent replay may take it for the log of a
// dead process and remove it.
func lockNew(file vfs.File) error {
	ok, err := file.TryLock()
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("another process has it")
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Links == 0 {
		return errors.New("another process removed it")
	}
	return nil
}

func newEpoch() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("make commit log: %w", err)
	}
	return binary.BigEndian.Uint64(b[:]), nil
}

// flushAndReset makes the files with bytes in a log durable, and then makes the log
// available for reuse. The new epoch invalidates its old records.
func (l *commitLog) flushAndReset(f *logFile) error {
	if err := l.empty(f); err != nil {
		return fmt.Errorf("empty commit log %s: %w", f.path, err)
	}
	epoch, err := newEpoch()
	if err != nil {
		return err
	}
	f.epoch, f.off, f.failures = epoch, 0, l.failures.Load()
	clear(f.dirty)
	return nil
}

// empty makes the bytes of a log durable in their journal files. After a failed sync, a
// later successful one proves nothing: the system may have dropped bytes of which the log
// has the only copy. They are then rewritten.
func (l *commitLog) empty(f *logFile) error {
	if len(f.dirty) == 0 {
		return nil
	}
	if l.failures.Load() == f.failures {
		if err := syncFiles(l.fs, l.root, f.dirty); err != nil {
			l.failures.Add(1)
		} else if l.failures.Load() == f.failures {
			return nil
		}
	}
	records, err := readLog(f.file)
	if err != nil {
		return err
	}
	if _, err := restore(l.fs, l.root, records); err != nil {
		l.failures.Add(1)
		return err
	}
	return nil
}

// syncFiles makes files and their names durable. It skips missing files: they were synced
// before they were removed.
func syncFiles(fsys vfs.FS, root string, paths map[string]bool) error {
	if all, ok := fsys.(vfs.SyncerFS); ok && len(paths) > logFewFiles && oneDevice(fsys, root, paths) {
		if err := all.SyncFS(root); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	dirs := make(map[string]bool)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		file, err := fsys.Open(path, vfs.Change)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return fmt.Errorf("sync %s: %w", path, err)
		}
		dirs[filepath.Dir(path)] = true
	}
	for dir := range dirs {
		if err := fsys.SyncDir(dir); err != nil {
			return fmt.Errorf("sync %s: %w", dir, err)
		}
	}
	return nil
}

// oneDevice reports whether all files are on the same file system as root: a directory
// below root may be a link or a mount point.
func oneDevice(fsys vfs.FS, root string, paths map[string]bool) bool {
	home, err := fsys.Stat(root)
	if err != nil {
		return false
	}
	for path := range paths {
		info, err := fsys.Stat(path)
		if err == nil && info.Device != home.Device || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// checkpoint makes all files with bytes in the log durable and removes the log files, so
// that they retain no data. It also makes a broken log usable again.
func (l *commitLog) checkpoint() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == errLogClosed {
		return nil
	}
	l.emptying.Wait()
	for _, f := range []**logFile{&l.active, &l.spare} {
		if *f == nil {
			continue
		}
		if err := l.empty(*f); err != nil {
			return fmt.Errorf("empty commit log %s: %w", (*f).path, err)
		}
		err := errors.Join(l.fs.Remove((*f).path), (*f).file.Close())
		*f = nil
		if err != nil {
			return fmt.Errorf("remove commit log: %w", err)
		}
	}
	l.broken, l.emptyErr = nil, nil
	if _, err := l.fs.Stat(l.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return l.fs.SyncDir(l.dir)
}

// close checkpoints. If that fails, the log files are kept, and the next process that opens
// the home replays them.
func (l *commitLog) close() error {
	err := l.checkpoint()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range []*logFile{l.active, l.spare} {
		if f != nil {
			err = errors.Join(err, f.file.Close())
		}
	}
	l.active, l.spare, l.broken = nil, nil, errLogClosed
	return err
}

var errLogClosed = errors.New("the commit log is closed")
