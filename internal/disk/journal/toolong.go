package journal

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Lines over the limit are not held in memory: they are scanned in chunks and yielded as
// gaps. Zero bytes at the start of such a line, as left by a power cut, are a separate gap,
// so that a record written after them is still read.

// skipPiece is the chunk size for scanning a line over the limit.
const skipPiece = 256 << 10

// errTooLong returns the error for a line over the limit that must not be skipped.
func errTooLong(offset int64) error {
	return fmt.Errorf("line at %d: %w: over %d bytes", offset, firn.ErrTooLarge, readSizeMost)
}

// FirstTooLong returns the first line that exceeds the limit. It reads only parts that are
// larger than the limit.
func (s Source) FirstTooLong() (found Line, ok bool, err error) {
	parts, err := s.parts(0)
	for _, p := range parts {
		if p.Size <= s.maxLine() {
			continue
		}
		s.partLines(p, 0, Place(p.Number, 0), func(line Line, failed error) bool {
			found, ok, err = line, failed == nil && line.Gap != "", failed
			return !ok && err == nil
		})
		if ok || err != nil {
			return found, ok, err
		}
	}
	return Line{}, false, err
}

// tooLong returns the line at the current offset as a gap. rest is the data already read
// from there.
func (f *forward) tooLong(rest []byte) (Line, error) {
	if f.limit >= readSizeMost {
		return Line{}, errTooLong(f.offset)
	}
	if rest[0] == 0 {
		return f.zeros()
	}
	return f.skip(f.offset + int64(len(rest)))
}

// skip returns the line at the current offset as a gap. It has no newline before from.
func (f *forward) skip(from int64) (Line, error) {
	if i := bytes.IndexByte(f.buf[f.start:], '\n'); i >= 0 {
		from = f.offset + int64(i)
	}
	for {
		end, err := findByte(f.file, from, math.MaxInt64, '\n')
		if err != nil {
			return Line{}, err
		}
		next, finished, err := byteAt(f.file, end)
		switch {
		case err != nil:
			return Line{}, err
		case !finished:
			line := f.gap(firn.GapTooLong, end)
			line.Unfinished = true
			return line, nil
		case next == '\n':
			f.long.add(f.offset, end+1)
			return f.gap(firn.GapTooLong, end+1), nil
		}
		from = end // the file has grown since
	}
}

// zeros returns the zero bytes at the current offset as a gap, including a newline after
// them.
func (f *forward) zeros() (Line, error) {
	end, err := runOfZeros(f.file, f.offset)
	if err != nil {
		return Line{}, err
	}
	next, finished, err := byteAt(f.file, end)
	if err != nil {
		return Line{}, err
	}
	if next == '\n' {
		end++
	}
	line := f.gap(firn.GapNUL, end)
	line.Unfinished = !finished
	return line, nil
}

// gap returns the bytes between the current offset and end as a gap, and continues after
// it.
func (f *forward) gap(kind firn.GapKind, end int64) Line {
	line := Line{At: f.at, Start: Place(f.part, f.offset), Gap: kind}
	f.offset, f.clear = end, 0
	f.at = Place(f.part, f.offset)
	line.Next = f.at
	f.buf, f.start, f.eof = nil, 0, false // the buffer may be large
	return line
}

// tooLong returns the line at the end of the buffer as a gap. The zero bytes at its start
// may follow as another gap.
func (b *backward) tooLong() (Line, error) {
	end := b.low + int64(len(b.buf))
	open := b.open
	start, err := b.lineStart()
	if err != nil {
		return Line{}, err
	}
	if b.limit >= readSizeMost {
		return Line{}, errTooLong(start)
	}
	zeros, err := runOfZeros(b.file, start)
	if err != nil {
		return Line{}, err
	}
	zeros = min(zeros, end)
	if !open && zeros == end-1 { // only zeros and the newline
		zeros = end
	}
	first := Line{At: Place(b.part, start), Start: Place(b.part, start), Next: Place(b.part, zeros), Gap: firn.GapNUL, Unfinished: open && zeros == end}
	if start == 0 {
		first.At = b.before
	}
	if zeros == end {
		return first, nil
	}
	rest := Line{At: first.Next, Start: first.Next, Next: Place(b.part, end), Unfinished: open}
	if zeros == start {
		rest.At = first.At
	} else {
		b.queue = append(b.queue, first)
	}
	err = b.readRest(&rest, zeros, end)
	if err == nil && rest.Gap == firn.GapTooLong && zeros == start && !open {
		b.long.add(start, end)
	}
	return rest, err
}

// knownLong returns the line at the end of the buffer if it is cached as being over the
// limit.
func (b *backward) knownLong() (Line, bool) {
	end := b.low + int64(len(b.buf))
	start, ok := b.long.start(end)
	if !ok {
		return Line{}, false
	}
	line := Line{At: Place(b.part, start), Start: Place(b.part, start), Next: Place(b.part, end), Gap: firn.GapTooLong}
	if start == 0 {
		line.At = b.before
	}
	b.low, b.buf, b.breaks, b.open = start, nil, nil, true // continue as at the end of a file
	return line, true
}

// readRest reads the data after leading zero bytes unless it is too long.
func (b *backward) readRest(rest *Line, start, end int64) error {
	if !rest.Unfinished {
		end-- // the newline
	}
	if end-start > b.limit {
		rest.Gap = firn.GapTooLong
		return nil
	}
	rest.Data = make([]byte, end-start)
	if got, err := b.file.ReadAt(rest.Data, start); int64(got) < end-start {
		return fmt.Errorf("%w: the file was cut short: %w", firn.ErrReplaced, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// lineStart returns the start of the line at the end of the buffer, and leaves the bytes
// before it in the buffer.
func (b *backward) lineStart() (int64, error) {
	b.open = false
	if n := len(b.breaks); n > 0 {
		start := b.breaks[n-1] + 1
		b.buf = b.buf[:start]
		b.dropBreak()
		return b.low + int64(start), nil
	}
	b.buf, b.breaks, b.open = nil, nil, true // continue as at the end of a file
	low, err := lineStart(b.file, b.low, 0)
	if err != nil {
		return 0, err
	}
	b.low = low
	return low, nil
}

// lineStart returns the offset after the last newline before an offset, or floor if there is
// none from there on.
func lineStart(file vfs.File, low, floor int64) (int64, error) {
	piece := make([]byte, skipPiece)
	for low > floor {
		n := min(low-floor, skipPiece)
		if got, err := file.ReadAt(piece[:n], low-n); int64(got) < n {
			return 0, fmt.Errorf("%w: the file was cut short: %w", firn.ErrReplaced, cmp.Or(err, io.ErrUnexpectedEOF))
		}
		low -= n
		if i := bytes.LastIndexByte(piece[:n], '\n'); i >= 0 {
			return low + int64(i+1), nil
		}
	}
	return low, nil
}

// findByte returns the offset of the first byte with the given value from an offset on, or
// the end of the file, or an offset from until on.
func findByte(file vfs.File, offset, until int64, value byte) (int64, error) {
	return scan(file, offset, until, func(b []byte) int { return bytes.IndexByte(b, value) })
}

// byteAt returns the byte at an offset. It returns false at the end of the file.
func byteAt(file vfs.File, offset int64) (value byte, ok bool, err error) {
	var buf [1]byte
	n, err := file.ReadAt(buf[:], offset)
	if err == io.EOF {
		err = nil
	}
	return buf[0], n == 1, err
}

// runOfZeros returns the end of a run of zero bytes that starts at an offset.
func runOfZeros(file vfs.File, offset int64) (int64, error) {
	var zeros [4 << 10]byte
	return scan(file, offset, math.MaxInt64, func(b []byte) int {
		for at := 0; at < len(b); {
			n := min(len(zeros), len(b)-at)
			if !bytes.Equal(b[at:at+n], zeros[:n]) {
				for b[at] == 0 {
					at++
				}
				return at
			}
			at += n
		}
		return -1
	})
}

// scan reads a file from an offset on until find returns an index, and returns its offset,
// the end of the file, or an offset from until on.
func scan(file vfs.File, offset, until int64, find func([]byte) int) (int64, error) {
	piece := make([]byte, skipPiece)
	for {
		n, err := file.ReadAt(piece, offset)
		if i := find(piece[:n]); i >= 0 {
			return offset + int64(i), nil
		}
		offset += int64(n)
		if err == io.EOF || offset >= until {
			return offset, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
