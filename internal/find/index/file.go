package index

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/disk/vfs"
)

// The catalog file has a header of fixed length, followed by one line per row. If a
// session has several lines, the last one counts.
//
// The header contains the end of the lines and is written after them. Bytes after that end
// are either being written or were left by a crash, and are ignored; a shorter file was
// truncated.
//
// Lines written together are in reverse list order: newest last, followed by rows with a
// fault. Lines added later may be out of order, so each line records the latest key before
// it.

// format is the version of the file. It must also change when [store.Gist] or a source
// computes different infos for the same session.
const format = 8

// headLen is the length of the header, including its newline.
const headLen = 256

// head is the header of the file.
type head struct {
	// size is the end of the lines, lines their number.
	size  int64
	lines int
	// rows is the number of sessions when the file was last rewritten: so many lines are in
	// order.
	rows int
	// newest is the latest key of all lines.
	newest time.Time
}

func (h head) encode() []byte {
	b := make([]byte, 0, headLen)
	b = append(b, checksumBlank...)
	b = strconv.AppendInt(append(b, `"catalogue":`...), format, 10)
	b = strconv.AppendInt(append(b, `,"size":`...), h.size, 10)
	b = strconv.AppendInt(append(b, `,"lines":`...), int64(h.lines), 10)
	b = strconv.AppendInt(append(b, `,"rows":`...), int64(h.rows), 10)
	b = appendTime(b, `,"newest":`, h.newest)
	b = append(b, '}')
	for len(b) < headLen-1 {
		b = append(b, ' ')
	}
	writeChecksum(b)
	return append(b, '\n')
}

func parseHead(b []byte) (head, error) {
	var h head
	if len(b) != headLen || b[headLen-1] != '\n' {
		return h, fmt.Errorf("%w: the header is incomplete", firn.ErrCorrupt)
	}
	if err := verifyChecksum(b[:headLen-1]); err != nil {
		return h, fmt.Errorf("the head: %w", err)
	}
	version := int64(0)
	p := lineParser{Reader: rawjson.New(b)}
	if p.Object() {
		for p.Member() {
			switch string(p.Key()) {
			case "catalogue":
				version = p.int()
			case "size":
				h.size = p.int()
			case "lines":
				h.lines = int(p.int())
			case "rows":
				h.rows = int(p.int())
			case "newest":
				h.newest = p.time()
			default:
				p.Skip()
			}
		}
	}
	if err := p.End(); err != nil || p.bad || h.size < headLen {
		return h, fmt.Errorf("%w: the header is invalid", firn.ErrCorrupt)
	}
	if version != format {
		return h, fmt.Errorf("%w version %d", firn.ErrUnsupported, version)
	}
	return h, nil
}

// catalogFile is the open catalog file as of the time it was opened. If the file is
// replaced, this one stays unchanged.
type catalogFile struct {
	file vfs.File
	info vfs.Info
	head head
}

// headTries is how often an invalid header is read again: it may be just being written.
const headTries = 3

// openCatalogueFile opens the file. It returns ErrCorrupt if the file is damaged,
// ErrUnsupported if it has another version.
func openCatalogueFile(fsys vfs.FS, path string) (*catalogFile, error) {
	file, err := fsys.Open(path, vfs.Read)
	if err != nil {
		return nil, err
	}
	b := &catalogFile{file: file}
	for range headTries {
		if err = b.readHead(); !errors.Is(err, firn.ErrCorrupt) {
			break
		}
	}
	if err != nil {
		file.Close() // only read
		return nil, err
	}
	return b, nil
}

func (b *catalogFile) readHead() error {
	buf := make([]byte, headLen)
	n, err := b.file.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if b.head, err = parseHead(buf[:n]); err != nil {
		return err
	}
	if b.info, err = b.file.Stat(); err != nil {
		return err
	}
	if b.info.Size < b.head.size {
		return fmt.Errorf("%w: it was cut short", firn.ErrCorrupt)
	}
	return nil
}

func (b *catalogFile) close() {
	if b != nil {
		b.file.Close() // only read
	}
}

// extends reports whether b is the same file as earlier, with at most lines added.
func (b *catalogFile) extends(earlier *catalogFile) bool {
	return b != nil && earlier != nil && b.info.Same(earlier.info) && b.head.size >= earlier.head.size
}

// readAll reads every row.
func (b *catalogFile) readAll() (map[firn.ID]*row, error) {
	rows := make(map[firn.ID]*row, b.head.rows+1)
	lines, err := b.readFrom(headLen, rows)
	if err == nil && lines != b.head.lines {
		err = fmt.Errorf("%w: it has %d lines, expected %d", firn.ErrCorrupt, lines, b.head.lines)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// readChunk is the size of a read.
const readChunk = 64 << 10

// readFrom reads the lines from an offset on into rows, and returns their number.
func (b *catalogFile) readFrom(offset int64, rows map[firn.ID]*row) (lines int, err error) {
	buf, common := make([]byte, 0, readChunk), make(interned)
	for offset < b.head.size || len(buf) > 0 {
		if offset == b.head.size {
			return lines, fmt.Errorf("%w: the last line is incomplete", firn.ErrCorrupt)
		}
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
		n := int(min(int64(cap(buf)-len(buf)), b.head.size-offset))
		if err := b.readAt(buf[len(buf):len(buf)+n], offset); err != nil {
			return lines, err
		}
		offset += int64(n)
		buf = buf[:len(buf)+n]
		rest := buf
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			r, _, err := parseLine(rest[:i], common)
			if err != nil {
				return lines, err
			}
			rows[r.info.ID] = r
			lines++
			rest = rest[i+1:]
		}
		buf = buf[:copy(buf, rest)]
	}
	return lines, nil
}

// readAt fills p. It returns ErrCorrupt if the file is shorter than its header says.
func (b *catalogFile) readAt(p []byte, offset int64) error {
	n, err := b.file.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return fmt.Errorf("%w: it was cut short", firn.ErrCorrupt)
	}
	return err
}

// backReader reads the rows of a file from the end, skipping lines replaced by a later line
// of the same session.
type backReader struct {
	book *catalogFile
	// buf holds the bytes from low on that were not returned yet.
	buf  []byte
	low  int64
	seen map[firn.ID]bool
	// bound is the latest key that a remaining row can have.
	bound  time.Time
	done   bool
	common interned
}

func (b *catalogFile) readBack() *backReader {
	return &backReader{book: b, low: b.head.size, seen: make(map[firn.ID]bool), common: make(interned), bound: b.head.newest}
}

// next returns the next row, or nil at the beginning of the file.
func (b *backReader) next() (*row, error) {
	for {
		line, err := b.prevLine()
		if err != nil || line == nil {
			b.done = true
			return nil, err
		}
		r, before, err := parseLine(line, b.common)
		if err != nil {
			return nil, err
		}
		b.bound = before
		if !b.seen[r.info.ID] {
			b.seen[r.info.ID] = true
			return r, nil
		}
	}
}

// latest returns the latest key that a remaining row can have.
func (b *backReader) latest() time.Time { return b.bound }

// atEnd reports whether the beginning of the file was reached.
func (b *backReader) atEnd() bool { return b.done }

// prevLine returns the line before the last one returned; nil at the beginning.
func (b *backReader) prevLine() ([]byte, error) {
	for {
		if n := len(b.buf); n > 0 {
			if b.buf[n-1] != '\n' {
				return nil, fmt.Errorf("%w: a line has no newline", firn.ErrCorrupt)
			}
			if i := bytes.LastIndexByte(b.buf[:n-1], '\n'); i >= 0 || b.low == headLen {
				line := b.buf[i+1 : n-1]
				b.buf = b.buf[:i+1]
				return line, nil
			}
		}
		if b.low == headLen {
			return nil, nil
		}
		if err := b.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads the bytes before the buffer. The first read is about as large as needed for
// one page of a list.
func (b *backReader) fill() error {
	n := int(min(b.low-headLen, int64(max(readChunk/2, min(2*cap(b.buf), 16*readChunk)))))
	buf := make([]byte, n+len(b.buf))
	copy(buf[n:], b.buf)
	if err := b.book.readAt(buf[:n], b.low-int64(n)); err != nil {
		return err
	}
	b.buf = buf
	b.low -= int64(n)
	return nil
}
