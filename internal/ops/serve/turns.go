package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Commands that work on a home without a gateway share no queue. To keep their turns apart,
// each turn of a session locks a file named after the session. The lock does not prevent
// appends, and the kernel releases it when the process ends.
type turns struct {
	fs  vfs.FS
	dir string
}

// turnsDir is the directory of the turn locks, relative to the home.
const turnsDir = "gateway/turns"

// Bounds of the interval at which a lock is retried.
const (
	shortestPause = time.Millisecond
	longestPause  = 25 * time.Millisecond
)

// enter waits until no other process runs a turn of the session. waits is called if it has
// to wait. The caller must call leave.
func (t *turns) enter(ctx context.Context, id firn.ID, waits func()) (leave func(), err error) {
	if err := id.Check(); err != nil {
		return nil, err
	}
	if err := t.fs.MkdirAll(t.dir); err != nil {
		return nil, fmt.Errorf("wait for the turns of session %s: %w", id, err)
	}
	path := filepath.Join(t.dir, string(id))
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		file, err := t.tryLock(path)
		if err != nil {
			return nil, fmt.Errorf("wait for the turns of session %s: %w", id, err)
		}
		if file != nil {
			return func() { t.leave(path, file) }, nil
		}
		if pause == shortestPause {
			waits()
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// tryLock takes the lock. The file is nil if another process holds it. A lock on a file
// that was removed meanwhile does not count.
func (t *turns) tryLock(path string) (vfs.File, error) {
	f, err := t.fs.Open(path, vfs.Update)
	if err != nil {
		return nil, err
	}
	taken, err := f.TryLock()
	if err == nil && taken {
		var ours, there vfs.Info
		if ours, err = f.Stat(); err == nil {
			if there, err = t.fs.Stat(path); err == nil && ours.Same(there) {
				return f, nil
			}
			err = nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// leave releases the lock. The file is removed first, which invalidates the lock. If that
// fails, the file can be locked again.
func (t *turns) leave(path string, f vfs.File) {
	_ = t.fs.Remove(path)
	_ = f.Close() // releases the lock
}
