package firn

import (
	"errors"
	"fmt"
)

// The kinds of failure that a caller may want to tell apart. Every error of a
// store, a journal or a dialect wraps at most one of them, but for what
// ErrUnavailable and ErrUnknownOutcome say; use errors.Is.
var (
	// ErrNotFound says that a session, an entry or a key does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that the session moved on: its end is no longer where
	// the caller expected it. Read again and decide anew.
	ErrConflict = errors.New("conflict")
	// ErrLocked says that another process owns the thing for longer than we wait.
	ErrLocked = errors.New("locked")
	// ErrCorrupt says that stored bytes are not what was written.
	ErrCorrupt = errors.New("corrupt")
	// ErrReplaced says that a file was deleted, cut short or swapped by somebody
	// else while we were writing to it. Nothing was acknowledged after that.
	ErrReplaced = errors.New("file changed underneath")
	// ErrNotSaved says that an append was not made durable. Unless it is an
	// ErrUnknownOutcome too, nothing was written. The cause (a full disk, an I/O
	// error) is wrapped as well.
	ErrNotSaved = errors.New("not saved")
	// ErrUnknownOutcome says that an append may or may not be there now and after
	// a crash: the disk or the cluster failed after it was given the bytes. Look
	// before doing it again. It is an ErrNotSaved as well.
	ErrUnknownOutcome = fmt.Errorf("%w for certain", ErrNotSaved)
	// ErrUnavailable says that who keeps the sessions does not answer now: a
	// cluster without a quorum, a network that is down. Trying the same again later
	// makes sense. If something was to be written it is an ErrNotSaved as well, or
	// an ErrUnknownOutcome if it was sent.
	ErrUnavailable = errors.New("unavailable")
	// ErrTooLarge says that a limit somebody set would be passed.
	ErrTooLarge = errors.New("too large")
	// ErrUnsupported says that this store, dialect or version cannot do that.
	ErrUnsupported = errors.New("unsupported")
	// ErrInvalid says that what the caller passed makes no sense.
	ErrInvalid = errors.New("invalid")
	// ErrClosed says that the thing was closed before.
	ErrClosed = errors.New("closed")
)
