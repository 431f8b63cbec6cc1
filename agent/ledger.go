package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// ErrMoved means that the session was moved to another branch during a turn. The entries of
// the turn are on the branch it started on.
var ErrMoved = errors.New("the session was moved to another branch")

// ledger appends the entries of a turn to its session and detects entries of other writers.
// New messages of others are added to the turn; if another writer moved the head to a
// different branch, the turn ends.
type ledger struct {
	st store.Store
	id firn.ID
	// end is the assumed end of the session, head the last entry of our branch.
	end  firn.Pos
	head firn.EntryID
	// moved is the head set by another writer; empty if it is on our branch.
	moved firn.EntryID
	// newInput means that a user message was added since the window was built.
	newInput bool
	// own are the entries written by the turn. news are the entries, by any writer, that
	// the path does not contain yet; lost means that one of them could not be read.
	own, news []firn.Entry
	lost      bool
	// right is the write right of the turn.
	right writeRight
	// onForeign is called with each entry of another writer; may be nil.
	onForeign func(firn.Entry)
}

// fresh returns a ledger for the same session without any state.
func (l *ledger) fresh() ledger {
	return ledger{st: l.st, id: l.id, right: l.right, onForeign: l.onForeign}
}

// append appends entries durably.
func (l *ledger) append(ctx context.Context, entries ...firn.Entry) error {
	return l.write(ctx, l.st.Append, entries)
}

// appendDeferred appends entries that may be lost if the machine crashes.
func (l *ledger) appendDeferred(ctx context.Context, entries ...firn.Entry) error {
	if deferred, ok := store.As[store.Deferred](l.st); ok {
		return l.write(ctx, deferred.AppendDeferred, entries)
	}
	return l.append(ctx, entries...)
}

type appendFunc func(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (firn.Pos, error)

func (l *ledger) write(ctx context.Context, add appendFunc, entries []firn.Entry) error {
	for {
		err := l.tryAppend(ctx, add, entries)
		if !isConflict(err) {
			return err
		}
		if err := l.catchUp(ctx); err != nil {
			return err
		}
	}
}

// tryAppend appends entries at the known end. It fails with a conflict if another writer
// has appended.
func (l *ledger) tryAppend(ctx context.Context, add appendFunc, entries []firn.Entry) error {
	if l.moved != "" {
		return l.appendAfterMove(ctx, add, entries)
	}
	end, err := add(ctx, l.id, l.end, entries...)
	if err == nil {
		l.recordWrite(end, entries)
	}
	return err
}

// isConflict reports whether an append failed because another writer appended first.
func isConflict(err error) bool {
	var conflict *store.Conflict
	return errors.As(err, &conflict)
}

// recordWrite records entries that were appended, with the parents that the store assigned.
func (l *ledger) recordWrite(end firn.Pos, entries []firn.Entry) {
	l.end = end
	for i := range entries {
		if entries[i].ID == "" {
			continue // a header
		}
		if entries[i].Parent == "" {
			entries[i].Parent = l.head
		}
		l.head = entries[i].ID
		l.own, l.news = append(l.own, entries[i]), append(l.news, entries[i])
	}
}

// catchUp reads the entries of other writers and detects whether the head left our branch.
func (l *ledger) catchUp(ctx context.Context) error {
	head := l.head
	if l.moved != "" {
		head = l.moved
	}
	for rec, err := range l.st.Read(ctx, l.id, l.end) {
		if err != nil {
			return fmt.Errorf("read concurrent entries of session %s: %w", l.id, err)
		}
		if l.right.endedBy(&rec) {
			return l.fenced()
		}
		l.end = rec.Next
		g := &rec.Glance
		if rec.Gap != nil || g.ID == "" {
			l.lost = true
			continue
		}
		if l.moved != "" || g.Parent != head {
			l.moved = g.ID
		}
		head = g.ID
		l.recordForeign(&rec)
	}
	if l.moved == "" {
		l.head = head
	}
	return nil
}

// recordForeign records an entry of another writer and detects user messages.
func (l *ledger) recordForeign(rec *firn.Record) {
	entry, err := rec.Entry()
	if err != nil {
		l.lost = true
		return
	}
	l.news = append(l.news, entry)
	if l.onForeign != nil {
		l.onForeign(entry)
	}
	if _, isUser := messageWithRole(entry, firn.RoleUser); isUser {
		l.newInput = true
	}
}

// appendAfterMove appends entries to the branch of the turn and then restores the head that
// the other writer set.
func (l *ledger) appendAfterMove(ctx context.Context, add appendFunc, entries []firn.Entry) error {
	batch := append(make([]firn.Entry, 0, len(entries)+1), entries...)
	batch[0].Parent = l.head
	back := firn.NewEntry(&firn.Head{Reason: "a turn ended on the branch it began on"})
	for {
		back.Parent = l.moved
		_, err := add(ctx, l.id, l.end, append(batch, back)...)
		if err == nil {
			return fmt.Errorf("append to session %s: %w", l.id, ErrMoved)
		}
		if !isConflict(err) {
			return err
		}
		if err := l.catchUp(ctx); err != nil {
			return err
		}
	}
}

// cleanupTimeout is the time limit for recording the end of a turn.
const cleanupTimeout = 10 * time.Second

// cleanupContext returns a context for recording the end of a turn after ctx may have
// ended.
func cleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}
