package compact

import (
	"context"
	"fmt"
	"time"

	"firn"
	"firn/store"
	"firn/window"
)

// Past is a compaction of a session's branch.
type Past struct {
	ID firn.EntryID
	// At is the position before it.
	At   firn.Pos
	Time time.Time
	// FirstKept is the first entry it kept; its own id if none.
	FirstKept firn.EntryID
	// Before and After are the tokens of the window before and after it; After
	// is zero if it was not recorded.
	Before, After int64
	Strategy      Strategy
	Reason        Reason
	Model         string
	// Line is the first line of the summary that says something.
	Line string
	// Undone says that it is hidden; By are the tombstones that hide it.
	Undone bool
	By     []firn.EntryID
	// Counts says that it is the one in force.
	Counts bool
}

// List tells all compactions on the branch of the head, oldest first, undone
// or not. It reads the whole session.
func List(ctx context.Context, st store.Store, id firn.ID) ([]Past, error) {
	return nil, fmt.Errorf("list compactions of session %s: %w", id, firn.ErrUnsupported)
}

// Undo hides a compaction, so that the window is again what it was before it,
// and returns the tombstone. An empty target means the one in force; without
// one the error is ErrNothing.
func Undo(ctx context.Context, st store.Store, id firn.ID, target firn.EntryID) (firn.Entry, error) {
	return firn.Entry{}, fmt.Errorf("undo a compaction of session %s: %w", id, ErrNothing)
}

// Redo takes back the undoing of a compaction and returns the tombstones that
// do so. An empty target means the latest that was undone.
func Redo(ctx context.Context, st store.Store, id firn.ID, target firn.EntryID) ([]firn.Entry, error) {
	return nil, fmt.Errorf("redo a compaction of session %s: %w", id, ErrNothing)
}

// Difference is how one window differs from another.
type Difference struct {
	// In are the entries that are only in the later one, Out those only in the
	// earlier one, in the order of their windows.
	In, Out []firn.EntryID
	// Before and After are the tokens of the windows.
	Before, After int64
}

// Diff tells which entries came into a window and which went out of it.
func Diff(before, after window.Window) Difference {
	return Difference{}
}
