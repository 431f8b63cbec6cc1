package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"firn"
	"firn/internal/vfs"
)

// Source reads the part files of the journal at Path. It never writes, takes
// no lock, and can be used while others append.
type Source struct {
	FS   vfs.FS
	Path string
}

// Line is one line of a journal.
type Line struct {
	// At is the position before the line, Next the one after it. The line after
	// Next is At there, also across parts.
	At, Next firn.Pos
	// Start is where the first byte is: At, but for the first line of a later
	// part, whose At is the end of the part before.
	Start firn.Pos
	// Data is the line without its newline. It is valid until the next step.
	Data []byte
	// Open is set if the line has no newline: it is unfinished, or still being
	// written.
	Open bool
}

// Sizes of the pieces that are read. Reading begins small, as most files are,
// and as often only the newest lines are wanted.
const (
	readSizeMin  = 16 << 10
	readSize     = 256 << 10
	backSizeMin  = 32 << 10
	backSizeMax  = 512 << 10
	readSizeMost = 1 << 30 // a line longer than this is not a line
)

// End returns the position after the last byte. It is ErrNotFound if there is
// no journal.
func (s Source) End() (firn.Pos, error) {
	parts, err := s.parts(0)
	if err != nil {
		return 0, err
	}
	return endOf(parts), nil
}

// Settled returns the position after the last line that is whole: the End, less
// an unfinished line that whoever appends next will cut off.
func (s Source) Settled() (firn.Pos, error) {
	end, err := s.End()
	if err != nil {
		return 0, err
	}
	part, size := Split(end)
	if size == 0 {
		return end, nil
	}
	file, err := s.FS.Open(PartPath(s.Path, part), vfs.Read)
	if err != nil {
		return 0, fmt.Errorf("read part: %w", err)
	}
	defer file.Close() // only read
	f, err := lastFragment(file, size)
	if err != nil {
		return 0, fmt.Errorf("look at the end of %s: %w", s.Path, err)
	}
	return Place(part, f.offset+f.whole), nil
}

func (s Source) parts(first int) ([]Part, error) {
	parts, err := partsFrom(s.FS, s.Path, first)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 && first == 0 {
		return nil, fmt.Errorf("read %s: %w", s.Path, firn.ErrNotFound)
	}
	return parts, nil
}

// Lines yields the lines after a position, oldest first, up to the end at the
// time it gets there. A position within a line gives the rest of the line.
func (s Source) Lines(after firn.Pos) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		first, offset := Split(after)
		parts, err := s.parts(first)
		if err != nil {
			yield(Line{}, err)
			return
		}
		before := after
		for _, p := range parts {
			if p.Number != first {
				offset = 0
			}
			end, ok := s.partLines(p, offset, before, yield)
			if !ok {
				return
			}
			if end > 0 {
				before = Place(p.Number, end)
			}
		}
	}
}

// partLines yields the lines of a part from an offset on, the unfinished last
// one too, and returns the offset it got to. Before is the position of the
// first of them.
func (s Source) partLines(p Part, offset int64, before firn.Pos, yield func(Line, error) bool) (int64, bool) {
	file, err := s.FS.Open(p.Path, vfs.Read)
	if err != nil {
		return offset, yield(Line{}, fmt.Errorf("read part: %w", err))
	}
	defer file.Close() // only read
	f := forward{file: file, part: p.Number, offset: offset, at: before}
	for {
		line, err := f.next()
		if err == io.EOF {
			return f.offset, true
		}
		if err != nil {
			return f.offset, yield(Line{}, fmt.Errorf("read %s: %w", p.Path, err))
		}
		if !yield(line, nil) {
			return f.offset, false
		}
	}
}

// forward cuts one part into lines.
type forward struct {
	file   vfs.File
	part   int
	offset int64    // of buf[start] in the part
	at     firn.Pos // the position there
	buf    []byte
	start  int
	eof    bool
}

// next returns the next line; the unfinished last one is Open. Then io.EOF.
func (f *forward) next() (Line, error) {
	scanned := 0
	for {
		rest := f.buf[f.start:]
		if i := bytes.IndexByte(rest[scanned:], '\n'); i >= 0 {
			return f.take(scanned+i, 1), nil
		}
		scanned = len(rest)
		if f.eof {
			if len(rest) == 0 {
				return Line{}, io.EOF
			}
			line := f.take(len(rest), 0)
			line.Open = true
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

// fill reads more behind what is left in the buffer.
func (f *forward) fill() error {
	left := len(f.buf) - f.start
	if left > readSizeMost {
		return fmt.Errorf("line at %d: %w: over %d bytes", f.offset, firn.ErrTooLarge, readSizeMost)
	}
	buf := f.buf[:0]
	piece := min(max(2*cap(f.buf), readSizeMin), readSize)
	if need := left + max(piece, left); cap(buf) < need { // at least double, so that long lines take linear time
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

// Back yields the lines before a position, newest first. It reads about as
// much as is asked of it. A position within a line gives the beginning of it.
func (s Source) Back(before firn.Pos) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		last, offset := Split(before)
		parts, err := s.parts(0)
		if err != nil {
			yield(Line{}, err)
			return
		}
		for i := len(parts) - 1; i >= 0; i-- {
			p := parts[i]
			end := p.Size
			if p.Number > last {
				continue
			}
			if p.Number == last {
				end = min(end, offset)
			}
			if i > 0 {
				if err := s.lookAgain(&parts[i-1]); err != nil {
					yield(Line{}, err)
					return
				}
			}
			if !s.partBack(p, end, endOf(parts[:i]), yield) {
				return
			}
		}
	}
}

// lookAgain looks at a part that has another one behind it: it got its last
// lines before that one was begun, but perhaps after the first look.
func (s Source) lookAgain(p *Part) (err error) {
	p.Info, err = s.FS.Stat(p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read part %s: %w", p.Path, firn.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("read part: %w", err)
	}
	return nil
}

// endOf is the position after the last byte of some parts.
func endOf(parts []Part) firn.Pos {
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i].Size > 0 {
			return Place(parts[i].Number, parts[i].Size)
		}
	}
	return 0
}

// partBack yields the lines of a part that end at or before an offset. Before
// is the position of the first of them.
func (s Source) partBack(p Part, end int64, before firn.Pos, yield func(Line, error) bool) bool {
	if end == 0 {
		return true
	}
	file, err := s.FS.Open(p.Path, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return yield(Line{}, fmt.Errorf("read part %s: %w", p.Path, firn.ErrNotFound))
	}
	if err != nil {
		return yield(Line{}, fmt.Errorf("read part: %w", err))
	}
	defer file.Close() // only read
	b := backward{file: file, part: p.Number, low: end, open: true, before: before}
	for {
		line, err := b.next()
		if err == io.EOF {
			return true
		}
		if err != nil {
			return yield(Line{}, fmt.Errorf("read %s: %w", p.Path, err))
		}
		if !yield(line, nil) {
			return false
		}
	}
}

// backward cuts one part into lines from its end. The buffer holds the bytes
// from low on that were read and not yet returned; breaks are the places of
// the newlines in it, found by scanning forwards, which is several times
// faster than scanning backwards.
type backward struct {
	file   vfs.File
	part   int
	low    int64 // offset in the part of buf[0]
	buf    []byte
	breaks []int
	open   bool     // nothing was returned yet: the last line may lack its newline
	before firn.Pos // the position of the first line
}

// next returns the line before the last one returned. Then io.EOF.
func (b *backward) next() (Line, error) {
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
	return b.take(start), nil
}

// dropBreak takes the newline off that ends the buffer: it belongs to the line
// that will be returned next.
func (b *backward) dropBreak() {
	b.breaks = b.breaks[:len(b.breaks)-1]
}

// take returns the line that begins at start and ends with the buffer.
func (b *backward) take(start int) Line {
	data := b.buf[start:]
	line := Line{Start: Place(b.part, b.low+int64(start)), Next: Place(b.part, b.low+int64(len(b.buf))), Open: b.open}
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

// fill reads the piece before what is in the buffer.
func (b *backward) fill() error {
	left := len(b.buf)
	if left > readSizeMost {
		return fmt.Errorf("line before %d: %w: over %d bytes", b.low, firn.ErrTooLarge, readSizeMost)
	}
	n := int(min(b.low, int64(max(min(max(2*cap(b.buf), backSizeMin), backSizeMax), left))))
	buf := b.buf[:0]
	if cap(buf) < n+left {
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
