package journal

import (
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Span is a range of bytes within one line and their replacement.
type Span struct {
	At firn.Pos
	// Data has the length of the bytes that it replaces and contains no newline.
	Data []byte
}

// Erase overwrites spans in place, under the lock of the journal at base, and makes that
// durable. It is the only operation that changes written bytes, for erasing data
// irrevocably. Lengths do not change, so all positions remain valid. It can be repeated
// after an interruption.
func Erase(fsys vfs.FS, base string, spans []Span) (err error) {
	lock, err := fsys.Open(base, vfs.Extend)
	if err != nil {
		return fmt.Errorf("erase in %s: %w", base, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("erase in %s: %w", base, err)
	}
	for len(spans) > 0 {
		part, _ := Split(spans[0].At)
		n := 1
		for n < len(spans) && Place(part, 0) <= spans[n].At && spans[n].At < Place(part+1, 0) {
			n++
		}
		if err := eraseInPart(fsys, PartPath(base, part), spans[:n]); err != nil {
			return fmt.Errorf("erase in %s: %w", base, err)
		}
		spans = spans[n:]
	}
	return nil
}

func eraseInPart(fsys vfs.FS, path string, spans []Span) (err error) {
	file, err := fsys.Open(path, vfs.Change)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, span := range spans {
		_, offset := Split(span.At)
		if _, err := file.WriteAt(span.Data, offset); err != nil {
			return err
		}
	}
	return file.Sync()
}
