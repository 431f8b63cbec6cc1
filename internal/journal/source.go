package journal

import (
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
	// MaxLine is how long a line may be to be read, in bytes. A longer one is
	// yielded without its bytes; see Line.Gap. Zero means DefaultMaxLine, and
	// less than zero any length: then a line of more than 1 GB is ErrTooLarge.
	MaxLine int64
	// Long remembers where longer lines are; nil scans them each time.
	Long *LongLines
}

// DefaultMaxLine is how long a line may be to be read, unless another limit is
// set.
const DefaultMaxLine = 64_000_000

func (s Source) maxLine() int64 { return lineLimit(s.MaxLine) }

// lineLimit is the longest line that is read; readSizeMost is no limit.
func lineLimit(set int64) int64 {
	switch {
	case set == 0:
		return DefaultMaxLine
	case set < 0:
		return readSizeMost
	}
	return min(set, readSizeMost)
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
	// Gap is set if the bytes were not read and Data is empty: GapTooLong if the
	// line is longer than the limit, GapNUL for zero bytes that such a line begins
	// with. Behind those the line goes on at Next.
	Gap firn.GapKind
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
	f, err := lastFragment(file, size, s.maxLine())
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
	f := forward{file: file, part: p.Number, offset: offset, at: before, limit: s.maxLine(), long: s.Long.of(file, s.maxLine())}
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
	b := backward{file: file, part: p.Number, low: end, open: true, before: before, limit: s.maxLine(), long: s.Long.of(file, s.maxLine())}
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
