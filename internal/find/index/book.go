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

// The file of the catalogue is a head of fixed length and behind it one line a
// row. Of several lines of a session the last one counts.
//
// The head says how far the lines reach. It is written after them, so what
// stands behind that place is either being written or was left by a crash, and
// nobody reads it; and a file that does not reach so far was cut short.
//
// Lines stand in the order of a list turned round, as far as they were written
// together: the newest at the end, and behind them those with a fault. What is
// added later may be out of order, so each line says what the latest key before
// it is.

// format is the version of the file. It must grow also when [store.Gist], or
// what a source makes of it, tells other things of the same session.
const format = 6

// headLen is the length of the head, with its newline.
const headLen = 256

// head is what the file says of itself.
type head struct {
	// size is where the lines end, lines how many there are.
	size  int64
	lines int
	// rows is how many sessions there were when the file was written anew:
	// so many lines stand in order.
	rows int
	// newest is the latest key of all lines.
	newest time.Time
}

func (h head) encode() []byte {
	b := make([]byte, 0, headLen)
	b = append(b, sealBlank...)
	b = strconv.AppendInt(append(b, `"catalogue":`...), format, 10)
	b = strconv.AppendInt(append(b, `,"size":`...), h.size, 10)
	b = strconv.AppendInt(append(b, `,"lines":`...), int64(h.lines), 10)
	b = strconv.AppendInt(append(b, `,"rows":`...), int64(h.rows), 10)
	b = appendTime(b, `,"newest":`, h.newest)
	b = append(b, '}')
	for len(b) < headLen-1 {
		b = append(b, ' ')
	}
	seal(b)
	return append(b, '\n')
}

func parseHead(b []byte) (head, error) {
	var h head
	if len(b) != headLen || b[headLen-1] != '\n' {
		return h, fmt.Errorf("%w: the head is not whole", firn.ErrCorrupt)
	}
	if err := unseal(b[:headLen-1]); err != nil {
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
		return h, fmt.Errorf("%w: the head makes no sense", firn.ErrCorrupt)
	}
	if version != format {
		return h, fmt.Errorf("%w version %d", firn.ErrUnsupported, version)
	}
	return h, nil
}

// book is the file of the catalogue, open to be read as it was at that time.
// Somebody may replace it meanwhile: this one stays as it was.
type book struct {
	file vfs.File
	info vfs.Info
	head head
}

// headTries is how often a head is read that is not whole: it may be just
// being written.
const headTries = 3

// openBook opens the file. One that is damaged is an ErrCorrupt, or an
// ErrUnsupported if it is of another version.
func openBook(fsys vfs.FS, path string) (*book, error) {
	file, err := fsys.Open(path, vfs.Read)
	if err != nil {
		return nil, err
	}
	b := &book{file: file}
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

func (b *book) readHead() error {
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

func (b *book) close() {
	if b != nil {
		b.file.Close() // only read
	}
}

// follows reports whether the book is an earlier one with nothing done to it
// but lines added.
func (b *book) follows(earlier *book) bool {
	return b != nil && earlier != nil && b.info.Same(earlier.info) && b.head.size >= earlier.head.size
}

// all reads every row.
func (b *book) all() (map[firn.ID]*row, error) {
	rows := make(map[firn.ID]*row, b.head.rows+1)
	lines, err := b.from(headLen, rows)
	if err == nil && lines != b.head.lines {
		err = fmt.Errorf("%w: it has %d lines and should have %d", firn.ErrCorrupt, lines, b.head.lines)
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// bookChunk is how much is read at once.
const bookChunk = 64 << 10

// from reads the lines from an offset on into rows, and counts them.
func (b *book) from(offset int64, rows map[firn.ID]*row) (lines int, err error) {
	buf, common := make([]byte, 0, bookChunk), make(interned)
	for offset < b.head.size || len(buf) > 0 {
		if offset == b.head.size {
			return lines, fmt.Errorf("%w: the last line is not whole", firn.ErrCorrupt)
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

// readAt fills p. A file that is shorter than its head says was cut meanwhile.
func (b *book) readAt(p []byte, offset int64) error {
	n, err := b.file.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return fmt.Errorf("%w: it was cut short", firn.ErrCorrupt)
	}
	return err
}

// backReader reads the rows of a book from its end, newest line first. Lines
// that a later one of the same session replaces are left out.
type backReader struct {
	book *book
	// buf holds the bytes from low on that were not returned yet.
	buf  []byte
	low  int64
	seen map[firn.ID]bool
	// bound is the latest key that a row still to come can have.
	bound  time.Time
	done   bool
	common interned
}

func (b *book) back() *backReader {
	return &backReader{book: b, low: b.head.size, seen: make(map[firn.ID]bool), common: make(interned), bound: b.head.newest}
}

// next returns the next row, or nil at the beginning of the file.
func (b *backReader) next() (*row, error) {
	for {
		line, err := b.line()
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

// line returns the line before the last one returned; nil at the beginning.
func (b *backReader) line() ([]byte, error) {
	for {
		if n := len(b.buf); n > 0 {
			if b.buf[n-1] != '\n' {
				return nil, fmt.Errorf("%w: a line has no end", firn.ErrCorrupt)
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

// fill reads the piece before what is in the buffer: at first as much as a
// page of a list needs.
func (b *backReader) fill() error {
	n := int(min(b.low-headLen, int64(max(bookChunk/2, min(2*cap(b.buf), 16*bookChunk)))))
	buf := make([]byte, n+len(b.buf))
	copy(buf[n:], b.buf)
	if err := b.book.readAt(buf[:n], b.low-int64(n)); err != nil {
		return err
	}
	b.buf = buf
	b.low -= int64(n)
	return nil
}
