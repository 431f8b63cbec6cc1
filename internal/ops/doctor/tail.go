package doctor

import (
	"context"
	"errors"
	"time"

	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
)

// fragment is the open last line of a transcript, as a writer will take it.
type fragment struct {
	// offset is where in the last part it begins, size how long it is; zero if
	// there is none.
	offset, size int64
	// keep is how many bytes of it stay and get a newline: up to the end of the
	// last whole object.
	keep int64
}

// readFragment judges an open line as the journal does when it is opened to be
// appended to.
func readFragment(line journal.Line, offset int64) fragment {
	return fragment{offset: offset, size: int64(line.Next - line.Start), keep: int64(journal.WholeUpTo(line.Data))}
}

// cuts reports whether a writer will cut off what is at an offset of the last
// part.
func (f fragment) cuts(offset int64) bool {
	return f.size > f.keep && offset >= f.offset+f.keep
}

// cut is how many bytes a writer will take off and save.
func (f fragment) cut() int64 { return f.size - f.keep }

// Taking the lock of a transcript only to look at it: a writer holds it for
// microseconds, so it is not waited for long.
const (
	lockTries = 50
	lockPause = 10 * time.Millisecond
)

// lock keeps writers out and returns what lets them in again; nil if somebody
// else holds the lock all the time. An error says that there are no locks here.
func (e *exam) lock() (free func() error, err error) {
	file, err := e.w.fs.Open(e.base, vfs.Read)
	if err != nil {
		return nil, err
	}
	for range lockTries {
		ok, err := file.TryLock()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if ok {
			return file.Close, nil // which frees the lock
		}
		if pause(e.w.ctx, lockPause) != nil {
			break
		}
	}
	return nil, file.Close()
}

// pause waits, or until the context is done.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
