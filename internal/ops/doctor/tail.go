package doctor

import (
	"context"
	"errors"
	"time"

	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
)

// fragment is the unterminated last line of a transcript, as a writer will handle it.
type fragment struct {
	// offset is its start in the last part; size is its length, zero if there is none.
	offset, size int64
	// keep is the number of bytes that are kept and terminated: up to the end of the last
	// complete object.
	keep int64
}

// readFragment classifies an unterminated line as the journal does when it is opened for
// appending.
func readFragment(line journal.Line, offset int64) fragment {
	return fragment{offset: offset, size: int64(line.Next - line.Start), keep: int64(journal.CompleteEnd(line.Data))}
}

// cuts reports whether a writer will truncate the data at an offset of the last part.
func (f fragment) cuts(offset int64) bool {
	return f.size > f.keep && offset >= f.offset+f.keep
}

// cut returns the number of bytes that a writer will truncate and save.
func (f fragment) cut() int64 { return f.size - f.keep }

// Limits of the wait for the lock of a transcript. Writers hold it for microseconds only.
const (
	lockTries = 50
	lockPause = 10 * time.Millisecond
)

// lock locks out writers and returns the function that releases the lock. It returns nil if
// another process keeps holding it, and an error if locks are not supported.
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
			return file.Close, nil // releases the lock
		}
		if pause(e.w.ctx, lockPause) != nil {
			break
		}
	}
	return nil, file.Close()
}

// pause waits for d or until the context is done.
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
