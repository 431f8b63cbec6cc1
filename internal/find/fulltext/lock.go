package fulltext

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Several processes may have the index open. A writer holds one lock and a builder of a new
// index another, so that the index can be updated during a rebuild. Replacing the index
// takes both. The locks of a process that dies are released.
const (
	lockName      = "words.lock"
	freshLockName = "words-new.lock"
	// lockTime is how long to wait for another process, lockPoll the polling interval.
	lockTime = 10 * time.Second
	lockPoll = 5 * time.Millisecond
)

// lock acquires the named lock. It waits up to limit, or until the context ends if limit is
// zero.
func (x *Index) lock(ctx context.Context, name string, limit time.Duration) (func(), error) {
	file, err := x.openLock(name)
	if err != nil {
		return nil, err
	}
	var late <-chan time.Time
	if limit > 0 {
		deadline := time.NewTimer(limit)
		defer deadline.Stop()
		late = deadline.C
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		got, err := file.TryLock()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock the word index: %w", err), file.Close())
		}
		if got {
			return func() { file.Close() }, nil // releases the lock
		}
		select {
		case <-tick.C:
		case <-late:
			return nil, errors.Join(fmt.Errorf("lock the word index: %w: another process is busy with it", firn.ErrLocked), file.Close())
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		}
	}
}

func (x *Index) openLock(name string) (vfs.File, error) {
	if err := x.fs.MkdirAll(x.dir); err != nil {
		return nil, fmt.Errorf("lock the word index: %w", err)
	}
	file, err := x.fs.Open(filepath.Join(x.dir, name), vfs.Update)
	if err != nil {
		return nil, fmt.Errorf("lock the word index: %w", err)
	}
	return file, nil
}

// building reports whether there is an unfinished new index.
func (x *Index) building() bool {
	_, err := x.fs.Stat(filepath.Join(x.dir, freshName))
	return !errors.Is(err, fs.ErrNotExist)
}

// clear deletes an unfinished new index whose builder died.
func (x *Index) clear() (err error) {
	if !x.building() {
		return nil
	}
	file, err := x.openLock(freshLockName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if got, err := file.TryLock(); err != nil || !got {
		return err // its builder is running
	}
	return removeFiles(x.fs, filepath.Join(x.dir, freshName))
}
