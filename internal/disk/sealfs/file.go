package sealfs

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/vfs"
)

// file is an open encrypted file. Like the files of the operating system, it does not exclude
// writers of other processes: those that append in parts hold its lock.
type file struct {
	fs       *FS
	path     string
	inner    vfs.File
	appends  bool // it was opened for appending
	readOnly bool

	mu     sync.Mutex
	locked bool  // by a caller
	pos    int64 // of Read
	buf    []byte
	sealed []byte // for encoding

	// codec is nil while the file is empty. raw and modified describe the file when it was
	// last examined: size is the size of its content, rawEnd the end of its last record, and
	// tail its last slot, which loadTail reads again after an append.
	codec    *codec
	known    bool
	raw      int64
	modified time.Time
	rawEnd   int64
	size     int64
	tail     numbered
	recent   numbered // the slot that was read last
	pending  *redo    // an interrupted change
}

// numbered is an opened slot and its number; without a slot, it is not usable.
type numbered struct {
	*slot
	index int64
}

var _ vfs.File = (*file)(nil)

// examine finds the end of the file, if the file has changed since it did so last.
func (f *file) examine() error {
	info, err := f.inner.Stat()
	if err != nil {
		return err
	}
	if f.known && info.Size == f.raw && info.ModTime.Equal(f.modified) {
		return nil
	}
	return f.examineAgain(info)
}

func (f *file) examineAgain(info vfs.Info) error {
	f.known, f.recent, f.tail, f.pending = false, numbered{}, numbered{}, nil
	f.size, f.rawEnd = 0, 0
	if info.Size == 0 {
		f.codec = nil
	} else if err := f.findCodec(info.Size); err != nil {
		return err
	}
	if f.codec != nil {
		if err := f.findEnd(info.Size); err != nil {
			return err
		}
	}
	if f.fs.strict {
		if err := f.checkWhole(info.Size); err != nil {
			return err
		}
	}
	f.raw, f.modified, f.known = info.Size, info.ModTime, true
	f.fs.sizes.put(info, f.size)
	return nil
}

// checkWhole returns an error unless every byte of the file belongs to an intact record, to the
// header of a slot or to padding, and the records are complete and in order.
func (f *file) checkWhole(raw int64) error {
	if f.pending != nil && f.pending.size >= 0 {
		raw = f.pending.size
	}
	end := int64(0)
	for i := int64(0); i*slotSize < raw; i++ {
		b, err := f.readRaw(i)
		if err != nil {
			return err
		}
		if f.pending != nil && f.pending.at == i*slotSize {
			b = f.pending.slot
		}
		b = b[:min(int64(len(b)), raw-i*slotSize)]
		var s *slot
		if f.codec != nil {
			s = f.codec.openSlot(b, i)
		}
		switch {
		case s != nil && len(s.lost) == 0 && s.start == end && isZero(b[s.used():]):
			end = s.end()
		case s == nil && (isZero(b) || f.codec != nil && f.codec.isHead(b) && isZero(b[headSize:])): // no records
		default:
			return f.damaged()
		}
	}
	if end != f.size {
		return f.damaged()
	}
	return nil
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// findEnd finds the last slot with records. A change that was interrupted counts as done.
func (f *file) findEnd(raw int64) (err error) {
	if f.pending, err = f.fs.readRedo(f.codec); err != nil {
		return err
	}
	if f.pending != nil && f.pending.size >= 0 {
		raw = f.pending.size
	}
	for i := (raw - 1) / slotSize; i >= 0; i-- {
		s, err := f.readSlot(i)
		if err != nil {
			return err
		}
		if s != nil {
			f.tail = numbered{s, i}
			f.rawEnd, f.size = i*slotSize+int64(s.used()), s.end()
			break
		}
	}
	return nil
}

// loadTail reads the last slot of the examined file, if it is not in memory.
func (f *file) loadTail() error {
	if f.tail.slot != nil || f.size == 0 {
		return nil
	}
	i := (f.rawEnd - 1) / slotSize
	s, err := f.readSlot(i)
	if err == nil && s == nil {
		err = f.damaged()
	}
	f.tail = numbered{s, i}
	return err
}

// findCodec reads the ID of the file from the first slot that has one. A file without any is
// the remains of a first write, and counts as empty.
func (f *file) findCodec(raw int64) error {
	var head [headSize]byte
	for at := int64(0); at < raw; at += slotSize {
		n, err := f.inner.ReadAt(head[:min(int64(headSize), raw-at)], at)
		if err != nil && err != io.EOF {
			return err
		}
		id, ok := headID(head[:n])
		if !ok {
			continue
		}
		if f.codec != nil && f.codec.id == id {
			return nil
		}
		c, err := newCodec(f.fs.key, id)
		if err != nil {
			return err
		}
		if c.isHead(head[:n]) {
			f.codec = c
			return nil
		}
		if at == 0 {
			return &fs.PathError{Op: "open", Path: f.path, Err: ErrWrongKey}
		}
	}
	f.codec = nil
	return nil
}

// readSlot reads and opens a slot. It returns nil if the slot has no records.
func (f *file) readSlot(i int64) (*slot, error) {
	if f.pending != nil && f.pending.at == i*slotSize {
		return f.codec.openSlot(f.pending.slot, i), nil
	}
	raw, err := f.readRaw(i)
	if err != nil {
		return nil, err
	}
	s := f.codec.openSlot(raw, i)
	if s != nil && len(s.lost) == 0 {
		return s, nil
	}
	// Another process may be replacing the slot.
	redo, err := f.fs.readRedo(f.codec)
	if err != nil || redo == nil || redo.at != i*slotSize {
		return s, err
	}
	return f.codec.openSlot(redo.slot, i), nil
}

// readRaw reads the bytes of a slot. They are valid until the next call.
func (f *file) readRaw(i int64) ([]byte, error) {
	if cap(f.buf) < slotSize {
		f.buf = make([]byte, slotSize)
	}
	raw := f.buf[:slotSize]
	n, err := f.inner.ReadAt(raw, i*slotSize)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return raw[:n], nil
}

// slotAt returns a slot of the examined file; nil if it has no records.
func (f *file) slotAt(i int64) (*slot, error) {
	switch {
	case f.tail.slot != nil && f.tail.index == i:
		return f.tail.slot, nil
	case f.recent.slot != nil && f.recent.index == i:
		return f.recent.slot, nil
	}
	s, err := f.readSlot(i)
	if err == nil && s != nil {
		f.recent = numbered{s, i}
	}
	return s, err
}

// locate returns the last slot that begins at or before an offset less than the size. The
// slot is empty if there is none.
func (f *file) locate(offset int64) (numbered, error) {
	if offset >= f.tail.start {
		return f.tail, nil
	}
	best, low, high := numbered{}, int64(-1), f.tail
	if r := f.recent; r.slot != nil && r.start <= offset {
		best, low = r, r.index
		if offset < r.end() {
			return best, nil
		}
	}
	for step := 0; high.index-low > 1; step++ {
		from := int64(0)
		if best.slot != nil {
			from = best.start
		}
		i := low + 1
		if step == 0 && low >= 0 {
			// Most reads continue with the next slot.
		} else if step%2 == 0 {
			i = low + (high.index-low)/2
		} else if span := high.start - from; span > 0 {
			i = low + int64(float64(offset-from)/float64(span)*float64(high.index-low))
		}
		i = min(max(i, low+1), high.index-1)
		s, err := f.slotAt(i)
		switch {
		case err != nil:
			return numbered{}, err
		case s == nil:
			low = i // a damaged slot is as good as none
		case s.start <= offset:
			best, low = numbered{s, i}, i
			if offset < s.end() {
				return best, nil
			}
		default:
			high = numbered{s, i}
		}
	}
	return best, nil
}

// next returns the start of the first usable slot after one. If there is none, it returns the
// size of the file.
func (f *file) next(after int64) (int64, error) {
	for i := after + 1; i < f.tail.index; i++ {
		s, err := f.slotAt(i)
		if err != nil {
			return 0, err
		}
		if s != nil {
			return s.start, nil
		}
	}
	if after < f.tail.index {
		return f.tail.start, nil
	}
	return f.size, nil
}

// ReadAt implements [vfs.File].
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: fs.ErrInvalid}
	}
	if err := f.examine(); err != nil {
		return 0, err
	}
	return f.readAt(p, off)
}

func (f *file) readAt(p []byte, off int64) (int, error) {
	if err := f.loadTail(); err != nil {
		return 0, err
	}
	done := 0
	for done < len(p) {
		at := off + int64(done)
		if at >= f.size {
			return done, io.EOF
		}
		s, err := f.locate(at)
		if err != nil {
			return done, err
		}
		if s.slot != nil && at < s.end() {
			n := copy(p[done:], s.plain[at-s.start:])
			if s.damagedIn(at, at+int64(n)) && !f.fs.tolerant(f.path) {
				return done, f.damaged()
			}
			done += n
			continue
		}
		if !f.fs.tolerant(f.path) {
			return done, f.damaged()
		}
		index := int64(-1)
		if s.slot != nil {
			index = s.index
		}
		end, err := f.next(index)
		if err != nil {
			return done, err
		}
		n := int(min(int64(len(p)-done), max(end-at, 1)))
		clear(p[done : done+n])
		done += n
	}
	return done, nil
}

// damaged is the error for bytes that cannot be opened.
func (f *file) damaged() error {
	return &fs.PathError{Op: "read", Path: f.path, Err: failure.Of(firn.ErrCorrupt, "the encrypted data was changed or damaged")}
}

// Read implements [vfs.File].
func (f *file) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.examine(); err != nil || len(p) == 0 {
		return 0, err
	}
	n, err := f.readAt(p, f.pos)
	f.pos += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Stat implements [vfs.File].
func (f *file) Stat() (vfs.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := f.inner.Stat()
	if err != nil {
		return info, err
	}
	if !f.known || info.Size != f.raw || !info.ModTime.Equal(f.modified) {
		if err := f.examineAgain(info); err != nil {
			return vfs.Info{}, err
		}
	}
	info.Size = f.size
	return info, nil
}

// Sync implements [vfs.File].
func (f *file) Sync() error { return f.inner.Sync() }

// Close implements [vfs.File].
func (f *file) Close() error { return f.inner.Close() }

// Lock implements [vfs.File].
func (f *file) Lock() error {
	err := f.inner.Lock()
	f.setLocked(err == nil)
	return err
}

// TryLock implements [vfs.File].
func (f *file) TryLock() (bool, error) {
	ok, err := f.inner.TryLock()
	if ok && err == nil {
		f.setLocked(true)
	}
	return ok, err
}

// Unlock implements [vfs.File].
func (f *file) Unlock() error {
	f.setLocked(false)
	return f.inner.Unlock()
}

func (f *file) setLocked(locked bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locked = locked
}

// checkWritable returns an error for a file that was opened for reading.
func (f *file) checkWritable(op string) error {
	if f.readOnly {
		return &fs.PathError{Op: op, Path: f.path, Err: fs.ErrPermission}
	}
	return nil
}

// errMoved means that a file is no longer at its path, so that it cannot be opened again.
func (f *file) errMoved() error {
	return fmt.Errorf("change %s: %w", f.path, firn.ErrReplaced)
}
