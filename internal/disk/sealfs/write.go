package sealfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"

	"firn.dev/internal/disk/vfs"
)

// Write implements [vfs.File]. It appends whole records with one system call. If no caller
// holds the lock of the file, it takes it meanwhile, because two writers must not continue
// the file at the same offset.
func (f *file) Write(p []byte) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.checkWritable("write"); err != nil {
		return 0, err
	}
	if f.appends && !f.locked {
		if err := f.inner.Lock(); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, f.inner.Unlock()) }()
	}
	if !f.appends {
		n, err = f.writeAt(p, f.pos)
		f.pos += int64(n)
		return n, err
	}
	if err := f.prepare(); err != nil {
		return 0, err
	}
	n, err = f.extend(p)
	f.pos = f.size
	return n, err
}

// prepare makes the file ready for a change: it completes an interrupted one and finds the
// end of the file.
func (f *file) prepare() error {
	if err := f.examine(); err != nil {
		return err
	}
	if f.codec == nil {
		return nil
	}
	redo, err := f.fs.readRedo(f.codec)
	if err != nil || redo == nil {
		return err
	}
	f.known = false
	if err := f.apply(redo); err != nil {
		return err
	}
	f.known = false
	return f.examine()
}

// extend appends plain bytes to the examined file.
func (f *file) extend(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := f.examine(); err != nil {
		return 0, err
	}
	if f.raw > f.rawEnd { // a record that was cut off
		if err := f.inner.Truncate(f.rawEnd); err != nil {
			return 0, err
		}
		f.known = false
	}
	codec := f.codec
	if codec == nil || f.rawEnd == 0 {
		var err error
		if codec, err = newFileCodec(f.fs.key); err != nil {
			return 0, err
		}
	}
	sealed, ends, err := codec.appendPieces(f.scratch(), p, f.rawEnd, f.size)
	if err != nil {
		return 0, err
	}
	n, err := f.put(sealed)
	f.keepScratch(sealed)
	f.known = false
	if err != nil || n < len(sealed) {
		return plainPart(ends, n), errors.Join(err, shortWrite(err))
	}
	f.codec = codec
	f.rawEnd += int64(n)
	f.size += int64(len(p))
	f.extended()
	return len(p), nil
}

// put writes bytes at the end of the file.
func (f *file) put(b []byte) (int, error) {
	if f.appends {
		return f.inner.Write(b)
	}
	return f.inner.WriteAt(b, f.rawEnd)
}

// plainPart returns the number of plain bytes in the records that were written completely.
func plainPart(ends []recordEnd, raw int) int {
	n := 0
	for _, e := range ends {
		if e.raw <= raw {
			n = e.plain
		}
	}
	return n
}

func shortWrite(err error) error {
	if err == nil {
		return io.ErrShortWrite
	}
	return nil
}

// extended records the state of the file after an append, so that the next one need not
// read it.
func (f *file) extended() {
	info, err := f.inner.Stat()
	f.tail, f.recent, f.buf = numbered{}, numbered{}, nil // a writer rarely reads
	if err != nil || info.Size != f.rawEnd {
		return // the next call examines the file
	}
	f.raw, f.modified, f.known = info.Size, info.ModTime, true
	f.fs.sizes.put(info, f.size)
}

// maxScratch is the capacity of the largest buffer that a file keeps.
const maxScratch = 16 << 10

func (f *file) scratch() []byte {
	b := f.sealed
	f.sealed = nil
	return b[:0]
}

func (f *file) keepScratch(b []byte) {
	if cap(b) <= maxScratch {
		f.sealed = b
	}
}

// WriteAt implements [vfs.File].
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.checkWritable("write"); err != nil {
		return 0, err
	}
	if f.appends || off < 0 {
		return 0, &fs.PathError{Op: "write", Path: f.path, Err: fs.ErrInvalid}
	}
	return f.writeAt(p, off)
}

func (f *file) writeAt(p []byte, off int64) (int, error) {
	if err := f.prepare(); err != nil {
		return 0, err
	}
	if err := f.fill(off); err != nil {
		return 0, err
	}
	done := 0
	for done < len(p) && off+int64(done) < f.size {
		n, err := f.overwrite(p[done:], off+int64(done))
		done += n
		if err != nil {
			return done, err
		}
	}
	n, err := f.extend(p[done:])
	return done + n, err
}

// fill appends zero bytes up to a size.
func (f *file) fill(size int64) error {
	for f.size < size {
		if _, err := f.extend(make([]byte, min(size-f.size, 1<<20))); err != nil {
			return err
		}
	}
	return nil
}

// overwrite replaces bytes within one slot and returns their number.
func (f *file) overwrite(p []byte, off int64) (int, error) {
	if err := errors.Join(f.examine(), f.loadTail()); err != nil {
		return 0, err
	}
	plain, start, index, err := f.content(off)
	if err != nil {
		return 0, err
	}
	n := min(len(p), len(plain)-int(off-start))
	into := plain[off-start:][:n]
	if bytes.Equal(into, p[:n]) {
		return n, f.rewrite(index)
	}
	copy(into, p)
	return n, f.replace(index, plain, start, index < f.tail.index)
}

// content returns a copy of the content of the slot that contains an offset, up to the next
// slot, with the offset of its start and its number. Damaged bytes are zero.
func (f *file) content(off int64) (plain []byte, start, index int64, err error) {
	s, err := f.locate(off)
	if err != nil {
		return nil, 0, 0, err
	}
	if s.slot != nil {
		start, index, plain = s.start, s.index, bytes.Clone(s.plain)
	}
	end, err := f.next(index)
	if err != nil {
		return nil, 0, 0, err
	}
	if s.slot == nil {
		end = min(end, f.tail.start)
	}
	if missing := end - start - int64(len(plain)); missing > 0 {
		if int64(len(plain))+missing > slotRoom {
			return nil, 0, 0, f.damaged() // whole slots are missing
		}
		plain = append(plain, make([]byte, missing)...)
	}
	return plain, start, index, nil
}

// rewrite writes the bytes of a slot again, unchanged. After a failed sync, this makes the
// system write them again.
func (f *file) rewrite(index int64) error {
	raw, err := f.readRaw(index)
	if err != nil {
		return err
	}
	_, err = f.inner.WriteAt(raw, index*slotSize)
	f.known = false
	return err
}

// replace seals a slot with new content. full means that other slots follow; otherwise the
// file ends with this slot.
func (f *file) replace(index int64, plain []byte, start int64, full bool) error {
	slot, err := f.codec.slotWith(plain, start, full)
	if err != nil {
		return err
	}
	r := &redo{at: index * slotSize, size: -1, slot: slot}
	if !full {
		r.size = r.at + int64(len(slot))
	}
	if !f.fs.derived(f.path) {
		if err := f.fs.writeRedo(f.codec, r); err != nil {
			return err
		}
	}
	f.known = false
	return f.apply(r)
}

// Truncate implements [vfs.File].
func (f *file) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.checkWritable("truncate"); err != nil {
		return err
	}
	if size < 0 {
		return &fs.PathError{Op: "truncate", Path: f.path, Err: fs.ErrInvalid}
	}
	if err := f.prepare(); err != nil {
		return err
	}
	f.known = false
	switch {
	case size == 0:
		return f.inner.Truncate(0)
	case size == f.size:
		return f.inner.Truncate(f.rawEnd)
	case size > f.size:
		return f.fill(size)
	}
	return f.cut(size)
}

// cut removes everything after an offset within the file.
func (f *file) cut(size int64) error {
	if err := f.loadTail(); err != nil {
		return err
	}
	s, err := f.locate(size - 1)
	if err != nil {
		return err
	}
	if s.slot != nil {
		for _, e := range s.ends {
			if s.start+int64(e.plain) == size {
				return f.inner.Truncate(s.index*slotSize + int64(e.raw))
			}
		}
	}
	plain, start, index, err := f.content(size - 1)
	if err != nil {
		return err
	}
	return f.replace(index, plain[:size-start], start, false)
}

// changer returns a handle of the file that can write at offsets, and a function that
// releases it.
func (f *file) changer() (vfs.File, func() error, error) {
	if !f.appends {
		return f.inner, func() error { return nil }, nil
	}
	ours, err := f.inner.Stat()
	if err != nil {
		return nil, nil, err
	}
	other, err := f.fs.inner.Open(f.path, vfs.Change)
	if err != nil {
		return nil, nil, err
	}
	theirs, err := other.Stat()
	if err == nil && !theirs.Same(ours) {
		err = f.errMoved()
	}
	if err != nil {
		return nil, nil, errors.Join(err, other.Close())
	}
	return other, other.Close, nil
}
