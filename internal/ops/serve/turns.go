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

// Commands that work on a home without a gateway have no lane in common. So that
// each gets the answer to what it asked, they take turns: who runs a turn of a
// session has a lock on a file that is named after it. It keeps nobody from
// appending, and the kernel frees it when the process dies.
type turns struct {
	fs  vfs.FS
	dir string
}

// turnsDir is where the locks of turns are, below the home.
const turnsDir = "gateway/turns"

// How often it is asked whether a turn of somebody else is over.
const (
	shortestPause = time.Millisecond
	longestPause  = 25 * time.Millisecond
)

// enter waits until nobody else runs a turn of a session; if it must wait,
// waits is called. Who entered must leave.
func (t *turns) enter(ctx context.Context, id firn.ID, waits func()) (leave func(), err error) {
	if err := id.Check(); err != nil {
		return nil, err
	}
	if err := t.fs.MkdirAll(t.dir); err != nil {
		return nil, fmt.Errorf("wait for the turns of session %s: %w", id, err)
	}
	path := filepath.Join(t.dir, string(id))
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		file, err := t.try(path)
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

// try takes the lock; the file is nil if somebody else has it. A lock on a file
// that was taken away meanwhile is worth nothing.
func (t *turns) try(path string) (vfs.File, error) {
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

// leave lets the next one in. The file goes first: a lock on it would be worth
// nothing then. One that cannot be taken away can be locked again.
func (t *turns) leave(path string, f vfs.File) {
	_ = t.fs.Remove(path)
	_ = f.Close() // which frees the lock
}
