package adopt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"firn.dev/internal/disk/vfs"
)

// lockName is the file of a mirror that is locked while it is written to.
const lockName = "source.lock"

// lockPause is how long to wait before trying again for a lock that is taken.
const lockPause = 50 * time.Millisecond

// lock makes sure that nobody else writes to the mirror, waiting for who does.
// The lock is the kernel's, so that one who was killed holds none.
func (m *Mirror) lock(ctx context.Context) (release func() error, err error) {
	told := false
	for {
		f, err := m.tryLock()
		if err != nil {
			return nil, fmt.Errorf("lock the mirror %s: %w", m.Dir, err)
		}
		if f != nil {
			return f.Close, nil
		}
		if !told && m.Waiting != nil {
			m.Waiting()
		}
		told = true
		pause := time.NewTimer(lockPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, ctx.Err()
		case <-pause.C:
		}
	}
}

// tryLock takes the lock, or returns nothing if it is taken. A file that has no
// name any more, since somebody removed the mirror, locks nothing.
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
