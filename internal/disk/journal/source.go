package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Source reads the part files of the journal at Path. It never writes, takes no lock, and
// can be used during appends.
type Source struct {
	FS   vfs.FS
	Path string
	// MaxLine is the maximum length of a line in bytes. A longer line is yielded without
	// its bytes; see Line.Gap. Zero means DefaultMaxLine. A negative value means no limit;
	// a line over 1 GB then fails with ErrTooLarge.
	MaxLine int64
	// Long caches the offsets of longer lines; if nil, they are scanned each time.
	Long *LongLines
}

// DefaultMaxLine is the default maximum length of a line in bytes.
const DefaultMaxLine = 64_000_000

func (s Source) maxLine() int64 { return lineLimit(s.MaxLine) }

// lineLimit returns the maximum length of a line; readSizeMost stands for no limit.
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
	// At is the position before the line and Next the position after it. The Next of a line
	// is the At of the following one, also across parts.
	At, Next firn.Pos
	// Start is the position of the first byte. It differs from At only for the first line
	// of a later part, whose At is the end of the previous part.
	Start firn.Pos
	// Data is the line without its newline. It is valid until the next iteration.
	Data []byte
	// Unfinished is set if the line has no newline: it is unfinished or still being written.
	Unfinished bool
	// Gap is set if the bytes were not read and Data is empty: GapTooLong if the line
	// exceeds the limit, GapNUL for zero bytes at the start of such a line. The line then
	// continues at Next.
	Gap firn.GapKind
}

// Read sizes. They start small because most files are small and often only the newest lines
// are needed.
const (
	readSizeMin  = 16 << 10
	readSize     = 256 << 10
	backSizeMin  = 32 << 10
	backSizeMax  = 512 << 10
	readSizeMost = 1 << 30 // maximum length of any line
)

// End returns the position after the last byte. It fails with ErrNotFound if the journal
// does not exist.
func (s Source) End() (firn.Pos, error) {
	parts, err := s.parts(0)
	if err != nil {
		return 0, err
	}
	return endOf(parts), nil
}

// CompleteEnd returns the position after the last complete line: the End without an unfinished
// line that the next append will cut off.
func (s Source) CompleteEnd() (firn.Pos, error) {
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
	defer file.Close() // read-only
	f, err := lastFragment(file, size, s.maxLine())
	if err != nil {
		return 0, fmt.Errorf("read end of %s: %w", s.Path, err)
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

// Lines yields the lines after a position, oldest first, up to the end at the time it is
// reached. If the position is within a line, the rest of the line is yielded.
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

// partLines yields the lines of a part from an offset on, including an unfinished last one,
// and returns the offset that it reached. before is the position of the first line.
func (s Source) partLines(p Part, offset int64, before firn.Pos, yield func(Line, error) bool) (int64, bool) {
	file, err := s.FS.Open(p.Path, vfs.Read)
	if err != nil {
		return offset, yield(Line{}, fmt.Errorf("read part: %w", err))
	}
	defer file.Close() // read-only
	f := forward{file: file, part: p.Number, offset: offset, at: before, limit: s.maxLine(), long: s.Long.lookup(file, s.maxLine())}
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

// Back yields the lines before a position, newest first. It reads little more than it
// yields. If the position is within a line, the beginning of the line is yielded.
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
				if err := s.refreshPart(&parts[i-1]); err != nil {
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

// refreshPart stats a part again that is followed by another one. It may have received its
// last lines after it was first found but before the next part was created.
func (s Source) refreshPart(p *Part) (err error) {
	p.Info, err = s.FS.Stat(p.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read part %s: %w", p.Path, firn.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("read part: %w", err)
	}
	return nil
}

// endOf returns the position after the last byte of the parts.
func endOf(parts []Part) firn.Pos {
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i].Size > 0 {
			return Place(parts[i].Number, parts[i].Size)
		}
	}
	return 0
}

// partBack yields the lines of a part that end at or before an offset, newest first. before
// is the position of the first line of the part.
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
	defer file.Close() // read-only
	b := backward{file: file, part: p.Number, low: end, open: true, before: before, limit: s.maxLine(), long: s.Long.lookup(file, s.maxLine())}
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
