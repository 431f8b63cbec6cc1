package journal

import (
	"bytes"
	"fmt"
	"io"

	"firn"
	"firn/internal/rawjson"
)

// Repair tells what was done to the end of a part that a crash left behind.
type Repair struct {
	// Path is the part file, Offset where its unfinished line began.
	Path   string
	Offset int64
	// Cut is how many bytes were taken off; they are in the file SavedTo.
	Cut     int64
	SavedTo string
	// Finished is set if the line was whole and only got its newline.
	Finished bool
}

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

// repairTail makes the last part end in a newline, under the lock. A last line
// that ends in a whole JSON object gets its newline; anything behind the last
// whole object is saved in a side file and then cut off. Appending straight
// after it would lose the next line as well.
func (j *Journal) repairTail() error {
	if j.size == 0 {
		j.sealed = true
		return nil
	}
	fragment, offset, err := lastFragment(j.last, j.size)
	if err != nil {
		return fmt.Errorf("look at the end of %s: %w", j.path, err)
	}
	if len(fragment) == 0 {
		j.sealed = true
		return nil
	}
	repair := Repair{Path: j.path, Offset: offset}
	whole := wholeUpTo(fragment)
	if rest := fragment[whole:]; len(rest) > 0 {
		if err := j.cut(rest, offset+int64(whole), &repair); err != nil {
			return err
		}
	}
	if whole > 0 {
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

// wholeUpTo returns where the last whole JSON object of an unfinished line
// ends, with the white space behind it if nothing else is there; 0 if there is
// none.
func wholeUpTo(fragment []byte) int {
	end := 0
	for _, piece := range rawjson.Split(fragment) {
		if piece.Kind == rawjson.Whole {
			end = piece.Offset + len(piece.Bytes)
		}
	}
	if end > 0 && len(bytes.TrimSpace(fragment[end:])) == 0 {
		end = len(fragment)
	}
	return end
}

// cut saves the bytes at the end of the part, from an offset on, and takes
// them off.
func (j *Journal) cut(bytes []byte, offset int64, repair *Repair) error {
	saved, err := saveBeside(j.fs, fmt.Sprintf("%s.torn-%d", j.path, offset), newReader(bytes))
	if err != nil {
		return err
	}
	if err := j.last.Truncate(offset); err != nil {
		j.failed = fmt.Errorf("cut the torn end off %s: %w: %w", j.path, firn.ErrNotSaved, err)
		return j.failed
	}
	j.size = offset
	repair.Cut, repair.SavedTo = int64(len(bytes)), saved
	return nil
}

// lastFragment returns what stands after the last newline of a file, and where
// it begins.
func lastFragment(r io.ReaderAt, size int64) ([]byte, int64, error) {
	var last [1]byte
	if _, err := r.ReadAt(last[:], size-1); err != nil {
		return nil, 0, err
	}
	if last[0] == '\n' {
		return nil, size, nil
	}
	for span := int64(4 << 10); ; span *= 4 {
		span = min(span, size)
		buf := make([]byte, span)
		if _, err := r.ReadAt(buf, size-span); err != nil && err != io.EOF {
			return nil, 0, err
		}
		if i := bytes.LastIndexByte(buf, '\n'); i >= 0 || span == size {
			return buf[i+1:], size - span + int64(i+1), nil
		}
	}
}
