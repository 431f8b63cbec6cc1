package gateway

import (
	"context"
	"errors"
	"slices"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
	"firn.dev/window"
)

// importReason is the reason of a head that an import keeps where it was.
const importReason = "imported messages are on another branch"

// keptHead is the head of a session that was continued in firn before a transcript is
// imported into it.
type keptHead struct {
	head firn.EntryID
	// own is the last message that is not of the tool; empty if there is none.
	own firn.EntryID
}

// headBeforeImport returns the head of a session, if it exists.
func (g *exchanger) headBeforeImport(ctx context.Context, id firn.ID, tool dialect.Name) (keptHead, error) {
	if tool == dialect.Native {
		return keptHead{}, nil // its transcript records where the head is
	}
	path, err := window.Collect(g.Store.ReadBack(ctx, id, store.End))
	if errors.Is(err, firn.ErrNotFound) {
		return keptHead{}, nil
	}
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

// keepHead moves the head back if an import moved it away from messages that were written in
// firn. It returns the end of the imported branch then.
func (g *exchanger) keepHead(ctx context.Context, id firn.ID, k keptHead, added int64) (branch firn.EntryID, err error) {
	if k.own == "" || added == 0 {
		return "", nil
	}
	path, err := window.Collect(g.Store.ReadBack(ctx, id, store.End))
	if err != nil || path.Head == k.head || slices.ContainsFunc(path.Entries, func(e firn.Entry) bool { return e.ID == k.own }) {
		return "", err
	}
	_, err = g.Store.Append(ctx, id, store.Any, firn.Entry{Parent: k.head, Body: &firn.Head{Reason: importReason}})
	return path.Head, err
}
