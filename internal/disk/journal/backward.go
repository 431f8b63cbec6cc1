package journal

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// backward splits one part into lines, starting at its end. The buffer holds the bytes from
// low on that were read but not yet returned. breaks are the offsets of its newlines, found
// by scanning forward, which is several times faster than scanning backward.
type backward struct {
	file   vfs.File
	part   int
	low    int64 // offset of buf[0] in the part
	buf    []byte
	breaks []int
	open   bool     // no line was returned yet, so the last one may lack its newline
	before firn.Pos // position of the first line
	limit  int64    // maximum length of a line
	queue  []Line   // lines to return next
	long   *longLines
}

// next returns the line before the last one returned, or io.EOF.
func (b *backward) next() (Line, error) {
	if n := len(b.queue); n > 0 {
		line := b.queue[0]
		b.queue = b.queue[1:]
		return line, nil
	}
	if line, ok := b.knownLong(); ok {
		return line, nil
	}
	if b.open && len(b.buf) == 0 {
		if err := b.fill(); err != nil {
			return Line{}, err
		}
		if n := len(b.buf); n > 0 && b.buf[n-1] == '\n' {
			b.dropBreak()
			b.open = false
		}
	}
	for len(b.breaks) == 0 && b.low > 0 {
		if b.overLimit(0) {
			return b.tooLong()
		}
		if err := b.fill(); err != nil {
			return Line{}, err
		}
	}
	start := 0
	if n := len(b.breaks); n > 0 {
		start = b.breaks[n-1] + 1
	} else if len(b.buf) == 0 && b.low == 0 {
		return Line{}, io.EOF
	}
	if b.overLimit(start) {
		return b.tooLong()
	}
	return b.take(start), nil
}

// overLimit reports whether the line from start to the end of the buffer, with or without a
// newline, exceeds the limit.
func (b *backward) overLimit(start int) bool {
	n := len(b.buf) - start
	if !b.open {
		n--
	}
	return int64(n) > b.limit
}

// dropBreak removes the newline at the end of the buffer. It terminates the line that is
// returned next.
func (b *backward) dropBreak() {
	b.breaks = b.breaks[:len(b.breaks)-1]
}

// take returns the line from start to the end of the buffer.
func (b *backward) take(start int) Line {
	data := b.buf[start:]
	line := Line{Start: Place(b.part, b.low+int64(start)), Next: Place(b.part, b.low+int64(len(b.buf))), Unfinished: b.open}
	if line.At = line.Start; b.low == 0 && start == 0 {
		line.At = b.before
	}
	if !b.open {
		data = data[:len(data)-1]
	}
	line.Data = data
	b.open = false
	b.buf = b.buf[:start]
	if start > 0 {
		b.dropBreak()
	}
	return line
}

// fill reads the bytes before the buffer.
func (b *backward) fill() error {
	left := len(b.buf)
	n := max(min(max(2*cap(b.buf), backSizeMin), backSizeMax), left)
	n = min(n, max(backSizeMax, int(b.limit)+2-left)) // not more than is kept
	n = int(min(b.low, int64(n)))
	exact := left >= exactFrom
	if exact {
		start, err := lineStart(b.file, b.low, max(b.low-(b.limit+2-int64(left)), 0))
		if err != nil {
			return err
		}
		n = int(b.low - max(start-1, 0)) // with the newline before it
	}
	buf := b.buf[:0]
	if cap(buf) < n+left || exact {
		buf = make([]byte, n+left)
	}
	buf = buf[:n+left]
	copy(buf[n:], b.buf[:left])
	if got, err := b.file.ReadAt(buf[:n], b.low-int64(n)); got < n {
		return fmt.Errorf("%w: the file was cut short: %w", firn.ErrReplaced, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	b.low -= int64(n)
	b.buf = buf
	b.breaks = b.breaks[:0]
	for at := 0; at < n; {
		i := bytes.IndexByte(buf[at:n], '\n')
		if i < 0 {
			break
		}
		b.breaks = append(b.breaks, at+i)
		at += i + 1
	}
	return nil
}
