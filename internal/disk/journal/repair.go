package journal

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Repair describes the repair of a part whose end was damaged by a crash.
type Repair struct {
	// Path is the part file and Offset the start of its unfinished line.
	Path   string
	Offset int64
	// Cut is the number of bytes removed; they were saved to the file SavedTo.
	Cut     int64
	SavedTo string
	// Finished is set if the line was complete except for its newline, which was added.
	Finished bool
}

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

// repairTail makes the last part end in a newline. The lock must be held. If the last line
// ends in a complete JSON object, it gets its newline. Anything after the last complete
// object is saved in a side file and then cut off, because appending after it would corrupt
// the next line as well.
func (j *Journal) repairTail() error {
	if j.size == 0 {
		j.sealed = true
		return nil
	}
	f, err := lastFragment(j.last, j.size, lineLimit(j.opts.MaxLine))
	if err != nil {
		return fmt.Errorf("read end of %s: %w", j.path, err)
	}
	if f.length == 0 {
		j.sealed = true
		return nil
	}
	repair := Repair{Path: j.path, Offset: f.offset}
	if f.whole < f.length {
		if err := j.cut(f.offset+f.whole, &repair); err != nil {
			return err
		}
	}
	if f.whole > 0 {
		repair.Finished = true
		if err := j.write([]byte{'\n'}); err != nil {
			return err
		}
	}
	if err := j.state.force(); err != nil {
		j.failed = fmt.Errorf("sync %s after repair: %w: %w", j.path, firn.ErrNotSaved, err)
		return j.failed
	}
	j.sealed = true
	if j.opts.Report != nil {
		j.opts.Report(repair)
	}
	return nil
}

// CompleteEnd returns the end of the last complete JSON object in an unfinished line,
// including trailing white space if nothing else follows. It returns 0 if there is none.
func CompleteEnd(fragment []byte) int {
	end := 0
	for _, piece := range rawjson.Split(fragment) {
		if piece.Kind == rawjson.Complete {
			end = piece.Offset + len(piece.Bytes)
		}
	}
	if end > 0 && rawjson.IsBlank(fragment[end:]) {
		end = len(fragment)
	}
	return end
}

// cut saves the bytes of the part from an offset on and removes them.
func (j *Journal) cut(offset int64, repair *Repair) error {
	rest := io.NewSectionReader(j.last, offset, j.size-offset)
	saved, err := saveSideFile(j.fs, fmt.Sprintf("%s.torn-%d", j.path, offset), rest)
	if err != nil {
		return err
	}
	if err := j.last.Truncate(offset); err != nil {
		j.failed = fmt.Errorf("cut the torn end off %s: %w: %w", j.path, firn.ErrNotSaved, err)
		return j.failed
	}
	repair.Cut, repair.SavedTo = j.size-offset, saved
	j.size = offset
	return nil
}

// fragment is the data after the last newline of a file.
type fragment struct {
	offset, length int64
	whole          int64 // length of its complete records; see CompleteEnd
}

// lastFragment finds the data after the last newline of a file. It does not examine a
// fragment longer than the line limit.
func lastFragment(r io.ReaderAt, size, limit int64) (fragment, error) {
	var buf []byte
	offset := size
	for span := int64(1); offset > 0; span = min(max(span*4, 4<<10), 1<<20) {
		n := min(span, offset)
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		if got, err := r.ReadAt(buf[:n], offset-n); int64(got) < n {
			return fragment{}, cmp.Or(err, io.ErrUnexpectedEOF)
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			offset += int64(i+1) - n
			break
		}
		offset -= n
	}
	f := fragment{offset: offset, length: size - offset}
	if f.length == 0 || f.length > limit {
		return f, nil
	}
	line := make([]byte, f.length)
	if got, err := r.ReadAt(line, offset); int64(got) < f.length {
		return fragment{}, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	f.whole = int64(CompleteEnd(line))
	return f, nil
}

// SideFile reports whether name is the name of a side file, which holds data saved from a
// part, and returns the name of the part.
func SideFile(name string) (part string, ok bool) {
	for _, mark := range []string{".torn-", ".rescued-"} {
		if i := strings.LastIndex(name, mark); i > 0 {
			numbers := name[i+len(mark):]
			if numbers != "" && strings.Trim(numbers, "0123456789-") == "" {
				return name[:i], true
			}
		}
	}
	return "", false
}
