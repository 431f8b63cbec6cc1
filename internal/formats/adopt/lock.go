package adopt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"firn.dev/internal/disk/vfs"
)

// lockName is the file of a mirror that is locked during writes.
const lockName = "source.lock"

// lockPause is the delay before retrying a lock that is held.
const lockPause = 50 * time.Millisecond

// lock acquires exclusive write access to the mirror, waiting if necessary. The lock is the
// kernel's, so a killed process does not keep it.
func (m *Mirror) lock(ctx context.Context) (release func() error, err error) {
	reported := false
	for {
		f, err := m.tryLock()
		if err != nil {
			return nil, fmt.Errorf("lock the mirror %s: %w", m.Dir, err)
		}
		if f != nil {
			return f.Close, nil
		}
		if !reported && m.Waiting != nil {
			m.Waiting()
		}
		reported = true
		pause := time.NewTimer(lockPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, ctx.Err()
		case <-pause.C:
		}
	}
}

// tryLock acquires the lock, or returns nil if it is held. A lock on a file that was
// deleted, because the mirror was removed, does not count.
func (m *Mirror) tryLock() (vfs.File, error) {
	if err := m.FS.MkdirAll(m.Dir); err != nil {
		return nil, err
	}
	name := filepath.Join(m.Dir, lockName)
	f, err := m.FS.Open(name, vfs.Update)
	if err != nil {
		return nil, err
	}
	taken, err := f.TryLock()
	if err != nil || !taken {
		return nil, errors.Join(err, f.Close())
	}
	held, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if named, err := m.FS.Stat(name); err != nil || !named.Same(held) {
		return nil, f.Close()
	}
	return f, nil
}
