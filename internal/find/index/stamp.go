package index

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"firn.dev/internal/disk/vfs"
)

// Stamper is a source with sessions that can change without going through [Wrap], such as
// mirrors of other tools' folders. Its stamp must differ whenever that may have happened,
// and must be cheap to compute.
type Stamper interface {
	Stamp(ctx context.Context) (string, error)
}

// stampName is the file with the stamp of the last complete survey. Without it all sessions
// are examined again.
const stampName = "sources"

// maxStamp is the maximum size of the file.
const maxStamp = 1 << 20

// stamp returns the stamp of the source; empty if it is not a [Stamper].
func (c *Catalogue) stamp(ctx context.Context) (string, error) {
	s, ok := c.src.(Stamper)
	if !ok {
		return "", nil
	}
	return s.Stamp(ctx)
}

// stampUnchanged reports whether no session has changed outside of Wrap since the last
// complete survey.
func (c *Catalogue) stampUnchanged(ctx context.Context) (bool, error) {
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

// setStamp saves the stamp taken before a complete survey.
func (c *Catalogue) setStamp(stamp string) error {
	if then, err := c.readStamp(); err == nil && then == stamp {
		return nil
	}
	return vfs.WriteFile(c.fs, filepath.Join(c.dir, stampName), []byte(stamp))
}
