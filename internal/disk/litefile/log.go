package litefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"firn.dev"
)

// The sizes of headers in bytes: of a database, of a log and of a frame in a log.
const (
	headSize    = 100
	logHeadSize = 32
	frameSize   = 24
)

// dbName is the only file name in the file system that SQLite sees.
const dbName = "db"

// magic is the start of every SQLite database.
var magic = []byte("SQLite format 3\x00")

// pageSize returns the page size in a database header.
func pageSize(head []byte) int64 {
	size := int64(binary.BigEndian.Uint16(head[16:]))
	if size == 1 {
		return 65536
	}
	return size
}

// loadLog finds the committed pages in the log. A log that is empty, unfinished or left
// over from an earlier generation adds nothing from where it stops being valid, as in
// SQLite itself.
func (v *view) loadLog() error {
	if v.pageSize < 512 || v.pageSize > 65536 || v.pageSize&(v.pageSize-1) != 0 {
		return fmt.Errorf("read the database %s: %w: its page size is %d", v.name, firn.ErrCorrupt, v.pageSize)
	}
	if err := v.loadFrames(); err != nil {
		return err
	}
	return v.checkLength()
}

// checkLength fails with ErrCorrupt if the database is shorter than its header records.
// SQLite would read zeros in place of the missing end.
func (v *view) checkLength() error {
	head := appendStart(nil, v.db, headSize)
	if v.count > 0 || len(head) < headSize || string(head[24:28]) != string(head[92:96]) {
		return nil // the log or the file itself determines the size
	}
	size, err := v.size()
	if want := int64(binary.BigEndian.Uint32(head[28:])) * v.pageSize; err == nil && size < want {
		err = fmt.Errorf("read the database %s: %w: it has %d of %d bytes", v.name, firn.ErrCorrupt, size, want)
	}
	return err
}

// loadFrames reads the frames of the log.
func (v *view) loadFrames() error {
	if v.log == nil {
		return nil
	}
	head := make([]byte, logHeadSize)
	if _, err := v.log.ReadAt(head, 0); err != nil {
		return nil // shorter than a header: empty
	}
	sum, ok := logSum(head)
	if !ok || int64(binary.BigEndian.Uint32(head[8:])) != v.pageSize {
		return nil
	}
	v.pages = make(map[uint32]int64)
	pending := make(map[uint32]int64)
	frame := make([]byte, frameSize+v.pageSize)
	for at := int64(logHeadSize); ; at += int64(len(frame)) {
		if n, err := v.log.ReadAt(frame, at); n < len(frame) {
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		}
		sum.add(frame[:8])
		sum.add(frame[frameSize:])
		if string(frame[8:16]) != string(head[16:24]) || !sum.is(frame[16:24]) {
			return nil
		}
		pending[binary.BigEndian.Uint32(frame)] = at + frameSize
		if count := binary.BigEndian.Uint32(frame[4:]); count > 0 {
			v.count = count
			for page, place := range pending {
				v.pages[page] = place
			}
			clear(pending)
		}
	}
}

// checksum is the running checksum of a log.
type checksum struct {
	a, b  uint32
	order binary.ByteOrder
}

// logSum returns the checksum after a log's header, and false if the header is invalid.
func logSum(head []byte) (checksum, bool) {
	c := checksum{order: binary.LittleEndian}
	switch binary.BigEndian.Uint32(head) {
	case 0x377f0682:
	case 0x377f0683:
		c.order = binary.BigEndian
	default:
		return c, false
	}
	c.add(head[:24])
	return c, c.is(head[24:32])
}

// add adds data, a multiple of 8 bytes.
func (c *checksum) add(data []byte) {
	for i := 0; i+8 <= len(data); i += 8 {
		c.a += c.order.Uint32(data[i:]) + c.b
		c.b += c.order.Uint32(data[i+4:]) + c.a
	}
}

// is compares the checksum with a stored one.
func (c *checksum) is(stored []byte) bool {
	return c.a == binary.BigEndian.Uint32(stored) && c.b == binary.BigEndian.Uint32(stored[4:])
}

// ReadAt reads the committed state: pages from the log if it has them, otherwise from the
// database. The header is changed to that of a database without a log, because the log is
// already part of what is read.
func (v *view) ReadAt(p []byte, off int64) (int, error) {
	size, err := v.size()
	if err != nil {
		return 0, err
	}
	done := 0
	for done < len(p) && off < size {
		within := off % v.pageSize
		part := p[done:min(int64(len(p)), int64(done)+v.pageSize-within)]
		part = part[:min(int64(len(part)), size-off)]
		var from io.ReaderAt = v.db
		at := off
		if place, ok := v.pages[uint32(off/v.pageSize)+1]; ok {
			from, at = v.log, place+within
		}
		if n, err := from.ReadAt(part, at); n < len(part) {
			return done + n, err
		}
		for _, i := range []int64{18, 19} { // the versions for writing and reading
			if i >= off && i < off+int64(len(part)) && part[i-off] == 2 {
				part[i-off] = 1
			}
		}
		done += len(part)
		off += int64(len(part))
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

// size returns the size of the committed state.
func (v *view) size() (int64, error) {
	if v.count > 0 {
		return int64(v.count) * v.pageSize, nil
	}
	info, err := v.db.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// single is a file system with one file, the committed state of a database.
type single struct{ v *view }

// Open implements [fs.FS].
func (s single) Open(name string) (fs.File, error) {
	if name != dbName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	size, err := s.v.size()
	if err != nil {
		return nil, err
	}
	return &committed{io.NewSectionReader(s.v, 0, size), size}, nil
}

// committed is that file.
type committed struct {
	*io.SectionReader
	bytes int64
}

// Stat implements [fs.File].
func (c *committed) Stat() (fs.FileInfo, error) { return fileInfo{c.bytes}, nil }

// Close implements [fs.File]; the view closes its files itself.
func (c *committed) Close() error { return nil }

// fileInfo describes that file.
type fileInfo struct{ bytes int64 }

// Name implements [fs.FileInfo].
func (fileInfo) Name() string { return dbName }

// Size implements [fs.FileInfo].
func (f fileInfo) Size() int64 { return f.bytes }

// Mode implements [fs.FileInfo].
func (fileInfo) Mode() fs.FileMode { return 0o400 }

// ModTime implements [fs.FileInfo].
func (fileInfo) ModTime() time.Time { return time.Time{} }

// IsDir implements [fs.FileInfo].
func (fileInfo) IsDir() bool { return false }

// Sys implements [fs.FileInfo].
func (fileInfo) Sys() any { return nil }

// isDamage reports whether SQLite rejected the contents of a file.
func isDamage(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR:
		return true
	}
	return false
}
