package firn

import (
	"errors"
	"fmt"
)

// The kinds of failure that a caller may want to distinguish with errors.Is. Every error of
// a store, a journal or a dialect wraps at most one of them, with the exceptions noted at
// ErrUnavailable and ErrUnknownOutcome.
var (
	// ErrNotFound means that a session, an entry or a key does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that the end of the session is no longer where the caller expected
	// it. Read the new entries and decide again.
	ErrConflict = errors.New("conflict")
	// ErrLocked means that another process held the lock until the wait timed out.
	ErrLocked = errors.New("locked")
	// ErrCorrupt means that stored data is damaged.
	ErrCorrupt = errors.New("corrupt")
	// ErrReplaced means that another program deleted, truncated or replaced a file during
	// writing. Nothing was acknowledged after that.
	ErrReplaced = errors.New("file changed underneath")
	// ErrNotSaved means that an append was not made durable. Unless the error is also an
	// ErrUnknownOutcome, nothing was written. The cause (a full disk, an I/O error) is
	// wrapped as well.
	ErrNotSaved = errors.New("not saved")
	// ErrUnknownOutcome means that an append may or may not have succeeded: the disk or the
	// cluster failed after receiving the bytes. Check before retrying. It is also an
	// ErrNotSaved.
	ErrUnknownOutcome = fmt.Errorf("%w for certain", ErrNotSaved)
	// ErrUnavailable means that the storage does not respond now: a cluster without a
	// quorum, a network that is down. The operation can be retried later. A failed write is
	// also an ErrNotSaved, or an ErrUnknownOutcome if it was sent.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooLarge means that a configured limit would be exceeded.
	ErrTooLarge = errors.New("too large")
	// ErrUnsupported means that this store, dialect or version does not support the
	// operation.
	ErrUnsupported = errors.New("unsupported")
	// ErrInvalid means that an argument is invalid.
	ErrInvalid = errors.New("invalid")
	// ErrClosed means that the object is already closed.
	ErrClosed = errors.New("closed")
)
