package gateway

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
	"firn.dev/window"
)

// importReason is the reason of a head that an import keeps where it was.
const importReason = "imported messages are on another branch"

// keepTimeout limits the time to move the head back after an import.
const keepTimeout = 30 * time.Second

// keepTries is the number of times that an import tries to move the head back while others
// write to the session.
const keepTries = 8

// keptHead is the head of a session as it was before the last entries of a tool in it.
type keptHead struct {
	head firn.EntryID
	// own is the last message before it that is not of the tool; empty if there is none.
	own firn.EntryID
}

// headBeforeImport returns the head of a session, if it exists.
func (g *exchanger) headBeforeImport(ctx context.Context, id firn.ID, tool dialect.Name) (keptHead, error) {
	if tool == dialect.Native {
		return keptHead{}, nil // its transcript records where the head is
	}
	k, err := g.headBefore(ctx, id, tool, store.End)
	if errors.Is(err, firn.ErrNotFound) {
		return keptHead{}, nil
	}
	return k, err
}

// headBefore returns the head before the entries of a tool at the end of the session. They
// may be left by an interrupted import, and do not count as the place of the conversation.
func (g *exchanger) headBefore(ctx context.Context, id firn.ID, tool dialect.Name, end firn.Pos) (keptHead, error) {
	path, err := window.Collect(beforeEntriesOf(tool, g.Store.ReadBack(ctx, id, end)))
	if err != nil {
		return keptHead{}, err
	}
	k := keptHead{head: path.Head}
	for _, e := range path.Entries {
		if from, _ := dialect.CarriedBy(e); from != tool && e.Body.Kind() == firn.KindMessage {
			k.own = e.ID
		}
	}
	return k, nil
}

// beforeEntriesOf returns the records, newest first, from the last one that an import of a
// tool's transcript did not write.
func beforeEntriesOf(tool dialect.Name, back iter.Seq2[firn.Record, error]) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		begun := false
		for record, err := range back {
			begun = begun || err != nil || !isImported(tool, record)
			if begun && !yield(record, err) {
				return
			}
		}
	}
}

// isImported reports whether a record is an entry that an import of a tool's transcript wrote.
func isImported(tool dialect.Name, record firn.Record) bool {
	if record.Gap != nil {
		return false
	}
	e, err := record.Entry()
	if err != nil {
		return false
	}
	from, _ := dialect.CarriedBy(e)
	return from == tool || convert.IsReimportTombstone(e)
}

// keepHead moves the head back if an import moved it away from messages that were written in
// firn, before the import or during it. It returns the end of the imported branch then. It
// runs even if the import was canceled: the entries that were added by then stay.
func (g *exchanger) keepHead(ctx context.Context, id firn.ID, tool dialect.Name, before keptHead) (branch firn.EntryID, err error) {
	if before.own == "" {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	for range keepTries {
		branch, err = g.tryKeepHead(ctx, id, tool, before)
		if !errors.Is(err, firn.ErrConflict) {
			break
		}
	}
	return branch, err
}

// tryKeepHead moves the head back unless the session has grown since it was read: a message
// that was just sent is then considered too.
func (g *exchanger) tryKeepHead(ctx context.Context, id firn.ID, tool dialect.Name, before keptHead) (branch firn.EntryID, err error) {
	info, err := g.Info(ctx, id)
	if err != nil {
		return "", err
	}
	kept, err := g.headBefore(ctx, id, tool, info.End)
	if err != nil {
		return "", err
	}
	if kept.own == "" {
		kept = before
	}
	path, err := window.Collect(g.Store.ReadBack(ctx, id, info.End))
	if err != nil || path.Head == kept.head || slices.ContainsFunc(path.Entries, func(e firn.Entry) bool { return e.ID == kept.own }) {
		return "", err
	}
	_, err = g.Store.Append(ctx, id, info.End, firn.Entry{Parent: kept.head, Body: &firn.Head{Reason: importReason}})
	return path.Head, err
}
