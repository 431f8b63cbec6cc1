package fulltext

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"firn"
	"firn/internal/vfs"
)

// Several processes may have the index open. Who changes it has one lock, who
// builds another one beside it has another, so that the index can be kept up to
// date meanwhile; to put the new one in its place takes both. A process that
// dies frees its locks.
const (
	lockName      = "words.lock"
	freshLockName = "words-new.lock"
	// lockTime is how long another process may be busy with the index, lockPoll
	// how often that is looked at.
	lockTime = 10 * time.Second
	lockPoll = 5 * time.Millisecond
)

// lock keeps other processes from what a lock is for. It waits for so long, or
// if that is zero until the context ends.
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
			return nil, errors.Join(fmt.Errorf("lock the index of words: %w", err), file.Close())
		}
		if got {
			return func() { file.Close() }, nil // which frees the lock
		}
		select {
		case <-tick.C:
		case <-late:
			return nil, errors.Join(fmt.Errorf("lock the index of words: %w: another process is busy with it", firn.ErrLocked), file.Close())
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		}
	}
}

func (x *Index) openLock(name string) (vfs.File, error) {
	if err := x.fs.MkdirAll(x.dir); err != nil {
		return nil, fmt.Errorf("lock the index of words: %w", err)
	}
	file, err := x.fs.Open(filepath.Join(x.dir, name), vfs.Update)
	if err != nil {
		return nil, fmt.Errorf("lock the index of words: %w", err)
	}
	return file, nil
}

// building reports whether there is a new index that is not finished.
func (x *Index) building() bool {
	_, err := x.fs.Stat(filepath.Join(x.dir, freshName))
	return !errors.Is(err, fs.ErrNotExist)
}

// clear throws away a new index whose builder died.
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
		return err // somebody builds it
	}
	return removeFiles(x.fs, filepath.Join(x.dir, freshName))
}
