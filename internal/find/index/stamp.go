package index

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"firn.dev/internal/disk/vfs"
)

// Stamper is a source with sessions that change without [Wrap] being told, such
// as mirrors of other tools' folders. Whenever that may have happened its stamp
// is another one; it must be cheap to get.
type Stamper interface {
	Stamp(ctx context.Context) (string, error)
}

// stampName is the file that has the stamp at the time when all sessions were
// last looked at. Without it they are looked at again.
const stampName = "sources"

// maxStamp bounds what is read of it.
const maxStamp = 1 << 20

// stamp asks the source for its stamp; none if it has no such thing.
func (c *Catalogue) stamp(ctx context.Context) (string, error) {
	s, ok := c.src.(Stamper)
	if !ok {
		return "", nil
	}
	return s.Stamp(ctx)
}

// stamped reports whether nothing has changed since all sessions were looked at
// that did not go through Wrap.
func (c *Catalogue) stamped(ctx context.Context) (bool, error) {
	now, err := c.stamp(ctx)
	if err != nil {
		return false, err
	}
	then, err := c.readStamp()
	return then == now, err
}

func (c *Catalogue) readStamp() (string, error) {
	file, err := c.fs.Open(filepath.Join(c.dir, stampName), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close() // only read
	data, err := io.ReadAll(io.LimitReader(file, maxStamp))
	return string(data), err
}

// setStamp notes the stamp that was taken before all sessions were looked at.
func (c *Catalogue) setStamp(stamp string) error {
	if then, err := c.readStamp(); err == nil && then == stamp {
		return nil
	}
	return vfs.WriteFile(c.fs, filepath.Join(c.dir, stampName), []byte(stamp))
}
