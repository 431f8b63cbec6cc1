package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"firn.dev/internal/disk/vfs"
)

// Replayed describes the effect of replaying a commit log on a file.
type Replayed struct {
	Path string
	// Restored is the number of acknowledged bytes that were missing.
	Restored int64
	// Skipped is the reason why a record was not replayed, if any; its bytes were then
	// saved to the side file SavedTo.
	Skipped, SavedTo string
	// Unusable is set if the file could not be opened. The log is kept until it can be.
	Unusable bool
}

// lockName is the file in the commit log directory whose lock is held while checking which
// logs belong to dead processes.
const lockName = "lock"

// logged is a record of a commit log.
type logged struct {
	path   string
	offset int64
	data   []byte
}

// Replay restores data in journal files that was lost in a power cut and is still in a
// commit log below root. It skips logs of running processes and excludes concurrent
// replays. It must be called before journals below root are opened.
func Replay(fsys vfs.FS, root string) ([]Replayed, error) {
	dir := filepath.Join(root, "commit")
	if _, err := fsys.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("replay commit logs: %w", err)
	}
	lock, err := fsys.Open(filepath.Join(dir, lockName), vfs.Update)
	if err != nil {
		return nil, fmt.Errorf("replay commit logs: %w", err)
	}
	defer lock.Close() // releases the lock; nothing was written
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("replay commit logs: %w", err)
	}
	return replayAll(fsys, root, dir)
}

func replayAll(fsys vfs.FS, root, dir string) (done []Replayed, err error) {
	names, err := logNames(fsys, dir)
	if err != nil {
		return nil, err
	}
	var records []logged
	var dead []vfs.File
	defer func() {
		for _, f := range dead {
			err = errors.Join(err, f.Close())
		}
	}()
	var paths []string
	for _, name := range names {
		path := filepath.Join(dir, name)
		file, err := fsys.Open(path, vfs.Update)
		if err != nil {
			return nil, fmt.Errorf("replay commit log: %w", err)
		}
		dead = append(dead, file)
		if ok, err := file.TryLock(); err != nil {
			return nil, fmt.Errorf("replay commit log %s: %w", path, err)
		} else if !ok {
			continue // its owner is running
		}
		more, err := readLog(file)
		if err != nil {
			return nil, fmt.Errorf("replay commit log %s: %w", path, err)
		}
		records = append(records, more...)
		paths = append(paths, path)
	}
	done, err = restore(fsys, root, records)
	if err != nil || slices.ContainsFunc(done, func(r Replayed) bool { return r.Unusable }) {
		return done, err
	}
	return done, removeLogs(fsys, dir, paths)
}

// PendingLogs returns the number of commit logs below root that wait to be replayed,
// without changing anything. It tests their locks, so it blocks replays while it runs: a
// replay that found a log locked would take its owner for running.
func PendingLogs(fsys vfs.FS, root string) (n int, err error) {
	dir := filepath.Join(root, "commit")
	names, err := logNames(fsys, dir)
	if err != nil || len(names) == 0 {
		return 0, err
	}
	lock, err := fsys.Open(filepath.Join(dir, lockName), vfs.Read)
	if err == nil {
		defer lock.Close() // releases the lock; nothing was written
		err = lock.Lock()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // if the lock file is missing, there has never been a replay
		return 0, fmt.Errorf("read commit logs: %w", err)
	}
	for _, name := range names {
		dead, err := isDead(fsys, filepath.Join(dir, name))
		if err != nil {
			return n, fmt.Errorf("read commit log %s: %w", name, err)
		}
		if dead {
			n++
		}
	}
	return n, nil
}

// isDead reports whether the lock of a log is free.
func isDead(fsys vfs.FS, path string) (bool, error) {
	file, err := fsys.Open(path, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) { // replayed or emptied in the meantime
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ok, err := file.TryLock()
	return ok, errors.Join(err, file.Close())
}

func logNames(fsys vfs.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list commit logs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".log") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func removeLogs(fsys vfs.FS, dir string, paths []string) error {
	for _, path := range paths {
		if err := fsys.Remove(path); err != nil {
			return fmt.Errorf("remove replayed commit log: %w", err)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return fsys.SyncDir(dir)
}

// readLog returns the records of a log up to the first with a wrong checksum.
func readLog(file vfs.File) ([]logged, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.NewSectionReader(file, 0, info.Size))
	if err != nil {
		return nil, err
	}
	return parseLog(b), nil
}

// parseLog parses the bytes of a log. It accepts any input.
func parseLog(b []byte) []logged {
	if len(b) < logHeaderSize || string(b[:8]) != logMagic {
		return nil // its first record was never written
	}
	epoch := binary.BigEndian.Uint64(b[8:])
	b = b[logHeaderSize:]
	var records []logged
	for len(b) >= logRecordSize {
		length := int64(binary.BigEndian.Uint32(b[4:]))
		pathLen := int64(binary.BigEndian.Uint16(b[16:]))
		if length < 10+pathLen || length > int64(len(b))-8 ||
			binary.BigEndian.Uint32(b) != checksum(epoch, b[4:8+length]) {
			break
		}
		records = append(records, logged{
			offset: int64(binary.BigEndian.Uint64(b[8:])),
			path:   string(b[18 : 18+pathLen]),
			data:   b[18+pathLen : 8+length],
		})
		b = b[8+length:]
	}
	return records
}

// restore writes records into their files, ordered by offset within a file, and makes them
// durable.
func restore(fsys vfs.FS, root string, records []logged) ([]Replayed, error) {
	slices.SortStableFunc(records, func(a, b logged) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.offset, b.offset))
	})
	var done []Replayed
	for len(records) > 0 {
		n := 1
		for n < len(records) && records[n].path == records[0].path {
			n++
		}
		r, err := restoreFile(fsys, root, records[:n])
		if err != nil {
			return done, err
		}
		if r.Restored > 0 || r.Skipped != "" {
			done = append(done, r)
		}
		records = records[n:]
	}
	return done, nil
}

func restoreFile(fsys vfs.FS, root string, records []logged) (done Replayed, err error) {
	rel := filepath.FromSlash(records[0].path)
	if !filepath.IsLocal(rel) {
		return Replayed{Path: rel, Skipped: "the path is not below the home"}, nil
	}
	path := filepath.Join(root, rel)
	done.Path = path
	if _, err := fsys.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if gone, err := wasRemoved(fsys, root, rel); gone || err != nil {
			done.Skipped = "the session was removed"
			return done, err
		}
		if records[0].offset > 0 {
			done.Skipped = "the file is gone"
			return done, nil
		}
		if err := fsys.MkdirAll(filepath.Dir(path)); err != nil {
			return done, fmt.Errorf("restore %s: %w", path, err)
		}
	}
	file, err := fsys.Open(path, vfs.Update)
	if isUnusable(err) { // It must not keep the other sessions from being opened.
		done.Skipped, done.Unusable = err.Error(), true
		return done, nil
	}
	if err != nil {
		return done, fmt.Errorf("restore %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, r := range records {
		n, other, err := restoreRecord(file, r)
		if err == nil && other != nil {
			err = done.skip(fsys, r, other)
		}
		if err != nil {
			return done, fmt.Errorf("restore %s: %w", path, err)
		}
		done.Restored += n
	}
	if err := file.Sync(); err != nil {
		return done, fmt.Errorf("restore %s: %w", path, err)
	}
	return done, fsys.SyncDir(filepath.Dir(path))
}

// isUnusable reports whether a file cannot be opened because of its type or owner, and not
// because of an I/O error.
func isUnusable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ELOOP)
}

// skip handles a record whose place in the file holds other bytes. If a purge replaced
// them, nothing needs to be done. Otherwise both were acknowledged, and the record is saved
// to a side file.
func (done *Replayed) skip(fsys vfs.FS, r logged, other []byte) error {
	done.Skipped = fmt.Sprintf("other bytes are at %d", r.offset)
	if isPurged(r.data, other) {
		return nil
	}
	saved, err := rescue(fsys, done.Path, newReader(r.data), r.offset)
	done.SavedTo = saved
	return err
}

// isPurged reports whether the bytes differ from those written because a purge has left its
// gap there.
func isPurged(written, found []byte) bool {
	if bytes.Contains(found, []byte(`{"type":"erased"`)) {
		return true
	}
	for i := range found {
		if found[i] != written[i] && found[i] != ' ' {
			return false
		}
	}
	return true
}

// wasRemoved reports whether a session's file is missing on purpose, because the trash bin or a
// receipt has its name. While the first part exists, the other parts count as not trashed,
// regardless of what an interrupted removal or restore left in the trash bin. The layout is
// that of the file store.
func wasRemoved(fsys vfs.FS, root, rel string) (bool, error) {
	if base := BasePath(rel); base != rel {
		if _, err := fsys.Stat(filepath.Join(root, base)); err == nil {
			return false, nil
		}
	}
	stem, _ := cutExt(filepath.Base(BasePath(rel)))
	for _, mark := range []string{filepath.Join("bin", stem), filepath.Join("receipts", stem+".json")} {
		_, err := fsys.Stat(filepath.Join(root, mark))
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("restore %s: %w", rel, err)
		}
	}
	return false, nil
}

// restoreRecord writes a record even if all of its bytes can be read, because readable
// bytes need not be on disk. It replaces existing bytes only if they are zero, as left by a
// power cut. Other bytes were written later, for example by a purge, and are returned.
func restoreRecord(file vfs.File, r logged) (restored int64, other []byte, err error) {
	have := make([]byte, len(r.data))
	n, err := file.ReadAt(have, r.offset)
	if err != nil && err != io.EOF {
		return 0, nil, err
	}
	for i := range n {
		if have[i] != r.data[i] {
			if have[i] != 0 {
				return 0, have[:n], nil
			}
			restored++
		}
	}
	if _, err := file.WriteAt(r.data, r.offset); err != nil {
		return 0, nil, err
	}
	return restored + int64(len(r.data)-n), nil, nil
}
