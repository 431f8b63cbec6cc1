package filehistory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Recorded is a change that was found after it was made, with the contents that are known.
type Recorded struct {
	Change
	Old, New []byte
}

// Record records changes that were found after they were made, together. A state without
// its content is omitted: a rewind names the file and leaves it alone.
func (h *History) Record(id firn.ID, changes []Recorded) error {
	if err := checkID(id); err != nil {
		return err
	}
	dir := h.sessionDir(id)
	if err := h.fs.MkdirAll(dir); err != nil {
		return err
	}
	var lines bytes.Buffer
	lines.WriteByte('\n') // ends a line that a crash cut short
	encoder, now := json.NewEncoder(&lines), h.now().UTC()
	for _, c := range changes {
		if c.After == nil {
			return fmt.Errorf("%w change of %s: it has no state after it", firn.ErrInvalid, c.Path)
		}
		if err := errors.Join(h.store(dir, c.Before, c.Old), h.store(dir, *c.After, c.New)); err != nil {
			return fmt.Errorf("keep the content of %s: %w", c.Path, err)
		}
		if err := h.mark(id, c.Path); err != nil {
			return err
		}
		c.Time = now
		if err := encoder.Encode(c.Change); err != nil {
			return err
		}
	}
	f, err := h.fs.Open(filepath.Join(dir, journalName), vfs.Append)
	if err != nil {
		return err
	}
	if _, err = f.Write(lines.Bytes()); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
