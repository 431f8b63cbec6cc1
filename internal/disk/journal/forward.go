package journal

import (
	"bytes"
	"io"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// forward splits one part into lines.
type forward struct {
	file   vfs.File
	part   int
	offset int64    // of buf[start] in the part
	at     firn.Pos // position at offset
	buf    []byte
	start  int
	eof    bool
	limit  int64 // maximum length of a line
	// clear is the offset before which the line at offset is known to have no newline and
	// to be too long; zero if unknown.
	clear int64
	long  *longLines // cached lines over the limit
}

// next returns the next line, or io.EOF. Open is set on an unfinished last line.
func (f *forward) next() (Line, error) {
	if f.clear > f.offset {
		return f.skip(f.clear)
	}
	if end, ok := f.long.end(f.offset); ok {
		return f.gap(firn.GapTooLong, end), nil
	}
	scanned := 0
	for {
		rest := f.buf[f.start:]
		i := bytes.IndexByte(rest[scanned:], '\n')
		if i >= 0 && int64(scanned+i) <= f.limit {
			return f.take(scanned+i, 1), nil
		}
		scanned = len(rest)
		if i >= 0 || int64(scanned) > f.limit {
			return f.tooLong(rest)
		}
		if f.eof {
			if len(rest) == 0 {
				return Line{}, io.EOF
			}
			line := f.take(len(rest), 0)
			line.Unfinished = true
			return line, nil
		}
		if err := f.fill(); err != nil {
			return Line{}, err
		}
	}
}

func (f *forward) take(n, newline int) Line {
	line := Line{At: f.at, Start: Place(f.part, f.offset), Data: f.buf[f.start : f.start+n]}
	f.start += n + newline
	f.offset += int64(n + newline)
	f.at = Place(f.part, f.offset)
	line.Next = f.at
	return line
}

// exactFrom is the length from which the end of a line is located before it is read, so
// that the buffer is no larger than the line.
const exactFrom = 1 << 20

// fill reads more data after the unread part of the buffer.
func (f *forward) fill() error {
	left := len(f.buf) - f.start
	buf := f.buf[:0]
	end := int64(-1) // of the line, if it is very long
	if left >= exactFrom {
		var err error
		if end, err = findByte(f.file, f.offset+int64(left), f.offset+f.limit+2, '\n'); err != nil {
			return err
		}
	}
	piece := min(max(2*cap(f.buf), readSizeMin), readSize)
	need := left + max(piece, left)                    // at least double, so that long lines take linear time
	need = min(need, max(int(f.limit), left)+readSize) // but not more than is kept
	if end >= 0 {
		need = int(end-f.offset) + 1
	}
	if cap(buf) < need || end >= 0 {
		buf = make([]byte, 0, need)
	}
	buf = append(buf, f.buf[f.start:]...)
	n, err := f.file.ReadAt(buf[left:cap(buf)], f.offset+int64(left))
	f.buf, f.start = buf[:left+n], 0
	if err == io.EOF {
		f.eof = true
		return nil
	}
	return err
}
