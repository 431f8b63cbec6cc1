package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// Remove hides a session from lists, or with Bin moves its files to the trash bin, which is
// rejected while a turn is running. No data is lost; [Gateway.Restore] undoes it. Removing
// a hidden session is not an error.
func (g *sessionRemover) Remove(ctx context.Context, id firn.ID, r wire.Remove) (wire.Removed, error) {
	s, err := g.reader.session(ctx, id)
	if err != nil {
		return wire.Removed{}, err
	}
	out := wire.Removed{Session: id, Title: s.Title, Bin: r.Bin, Parts: s.Parts, Files: s.Files, Bytes: s.Bytes}
	if !r.Bin {
		if _, err := g.editor.setHidden(ctx, id, firn.EntryID(id), true, r.Reason); err != nil {
			return wire.Removed{}, err
		}
		s.Hidden = true
		g.events.publish(event(wire.SessionUpdated, id, s))
		return out, nil
	}
	if err := g.lanes.mustBeIdle(id, "remove"); err != nil {
		return wire.Removed{}, err
	}
	remover, err := g.remover(id)
	if err != nil {
		return wire.Removed{}, err
	}
	if err := remover.Remove(ctx, id, r.Reason); err != nil {
		return wire.Removed{}, err
	}
	g.forget(id)
	return out, nil
}

// removed reports whether a session was hidden and no key was pointed at it since. Such a
// conversation is not continued.
func (g *sessionRemover) removed(ctx context.Context, id firn.ID) (bool, error) {
	path, err := g.Path(ctx, id)
	if err != nil {
		return false, err
	}
	hidden := path.Hides(firn.EntryID(id))
	if !hidden && path.Start != store.Start { // it may have been hidden before the live part
		info, err := g.Info(ctx, id)
		if err != nil {
			return false, err
		}
		hidden = info.Hidden
	}
	for _, e := range slices.Backward(path.Entries) {
		if stone, ok := e.Body.(*firn.Tombstone); !hidden || ok && stone.Target == firn.EntryID(id) {
			break
		}
		if mark, ok := readReset(e); ok && mark.Resumed {
			return false, nil
		}
	}
	return hidden, nil
}

// removedFor reports whether a session was removed and does not hold a message. A retry
// must not go to another session.
func (g *sessionRemover) removedFor(ctx context.Context, id firn.ID, message firn.EntryID) (bool, error) {
	if away, err := g.removed(ctx, id); err != nil || !away {
		return false, err
	}
	held, err := g.hasMessage(ctx, id, message)
	return !held, err
}

// remover returns the store's interface for removing sessions.
func (g *sessionRemover) remover(id firn.ID) (store.Remover, error) {
	remover, ok := store.As[store.Remover](g.Store)
	if !ok {
		return nil, fmt.Errorf("remove session %s: not supported by the store: %w", id, firn.ErrUnsupported)
	}
	return remover, nil
}

// Restore undoes [Gateway.Remove]. A session in the trash bin must be named by its full ID.
func (g *sessionRemover) Restore(ctx context.Context, id firn.ID) (wire.Session, error) {
	err := g.CheckExists(ctx, id)
	if errors.Is(err, firn.ErrNotFound) {
		remover, unable := g.remover(id)
		if unable != nil {
			return wire.Session{}, err
		}
		if restoreErr := g.restoreFromBin(ctx, remover, id); restoreErr == nil {
			err = nil
		} else if !errors.Is(restoreErr, firn.ErrNotFound) {
			err = restoreErr
		}
	}
	if err != nil {
		return wire.Session{}, err
	}
	if _, err := g.editor.setHidden(ctx, id, firn.EntryID(id), false, ""); err != nil {
		return wire.Session{}, err
	}
	return g.reader.updated(g.reader.session(ctx, id))
}

// restoreFromBin restores a session from the trash bin.
func (g *sessionRemover) restoreFromBin(ctx context.Context, remover store.Remover, id firn.ID) error {
	defer g.locks.lock(binLock)()
	return remover.Restore(ctx, id)
}

// Purge permanently erases a session or some of its entries, given as references. Sure must
// be the session ID, unless only a plan is requested. It is rejected while a turn is
// running. Copies of the entries are erased too, see [erasure]. The input history of this
// home is erased first. Notes learned only from the erased content are removed twice:
// before, so that an interrupted purge can be repeated, and after, for notes made in the
// meantime. Compaction summaries and forks keep their content; the receipt names them.
func (g *sessionRemover) Purge(ctx context.Context, id firn.ID, e wire.Erase) (wire.Receipt, error) {
	if err := id.Check(); err != nil {
		return wire.Receipt{}, g.CheckExists(ctx, id)
	}
	if e.Plan {
		return g.planPurge(ctx, id, e)
	}
	if e.Sure != id {
		return wire.Receipt{}, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("purging session %s cannot be undone, and is not confirmed", id), Hint: "to confirm, repeat the full id of the session"}
	}
	if err := g.lanes.mustBeIdle(id, "purge"); err != nil {
		return wire.Receipt{}, err
	}
	remover, err := g.remover(id)
	if err != nil {
		return wire.Receipt{}, err
	}
	plan, forks, err := g.planPurged(ctx, id, e.Entries)
	if err != nil {
		return wire.Receipt{}, err
	}
	typed, err := g.eraseTyped(plan.typed)
	if err == nil && len(e.Entries) == 0 && g.Approved != nil {
		err = g.Approved.Forget(id)
	}
	if err == nil && g.EraseConflicts != nil {
		err = g.EraseConflicts(id, plan.entries...)
	}
	if err == nil && plan.counts { // new counters replace the erased ones
		err = g.storeCounters(ctx, id, plan.names)
	}
	if err != nil {
		return wire.Receipt{}, err
	}
	notes, err := g.notes.eraseNotes(ctx, id, plan.entries)
	if err != nil {
		return wire.Receipt{}, err
	}
	began := g.now()
	receipt, err := remover.Purge(ctx, id, e.Reason, plan.entries...)
	if err == nil {
		err = g.Files.Remove(id, plan.entries...)
	}
	if err == nil {
		var late int
		late, err = g.notes.eraseNotes(ctx, id, plan.entries)
		notes += late
	}
	g.forget(id)
	return wire.Receipt{
		Session: receipt.Session, Entries: receipt.Entries, Reason: receipt.Reason, Begun: receipt.Begun, Done: receipt.Done,
		Bytes: receipt.Bytes, Files: receipt.Files, Notes: notes, Typed: typed, Unread: plan.unread, Forks: forks, Summaries: plan.summaries,
		Already: err == nil && len(plan.entries) == 0 && receipt.Done.Before(began),
	}, err
}

// planPurged plans the erasure of entries, or of the whole session, and finds its forks.
func (g *sessionRemover) planPurged(ctx context.Context, id firn.ID, entries []firn.EntryID) (plan erasure, forks []firn.ID, err error) {
	if len(entries) > 0 {
		plan, err = g.planErasure(ctx, id, entries)
	} else {
		plan, err = g.planEraseAll(ctx, id)
	}
	if err == nil {
		forks, err = g.forksOf(ctx, id)
	}
	return plan, forks, err
}

// planPurge returns the receipt that [Gateway.Purge] would return, or its error, without
// changing anything. Notes and input history are not counted. For entries, Files contains
// only files that are erased as a whole, which are those of mirrors.
func (g *sessionRemover) planPurge(ctx context.Context, id firn.ID, e wire.Erase) (wire.Receipt, error) {
	s, err := g.reader.session(ctx, id)
	if errors.Is(err, firn.ErrNotFound) && len(e.Entries) == 0 {
		s, err = g.binnedSession(ctx, id, err)
	}
	if err != nil {
		return wire.Receipt{}, err
	}
	if _, err := g.remover(id); err != nil {
		return wire.Receipt{}, err
	}
	plan, forks, err := g.planPurged(ctx, id, e.Entries)
	if err != nil {
		return wire.Receipt{}, err
	}
	out := wire.Receipt{Session: id, Reason: e.Reason, Entries: plan.entries, Unread: plan.unread, Forks: forks, Summaries: plan.summaries}
	out.Files, out.Bytes, err = g.erasedFiles(ctx, s, len(e.Entries) == 0)
	if s.Source == "" { // otherwise they are part of the mirror's file
		out.Bytes += plan.bytes
	}
	return out, err
}

// erasedFiles returns the files that are erased as a whole with a session, or with some of
// its entries, and their size in bytes.
func (g *sessionRemover) erasedFiles(ctx context.Context, s wire.Session, whole bool) (files []string, bytes int64, err error) {
	files = []string{}
	weigher, ok := store.As[store.Weigher](g.Store)
	if !ok {
		if whole {
			bytes = s.Bytes
		}
		return files, bytes, nil
	}
	names, bytes, err := weigher.Weigh(ctx, s.ID, whole)
	if errors.Is(err, firn.ErrNotFound) && whole { // a store that cannot inspect its trash bin
		return files, s.Bytes, nil
	}
	return append(files, names...), bytes, err
}

// eraseTyped removes texts from the input history of this home.
func (g *sessionRemover) eraseTyped(texts []string) (int, error) {
	if g.EraseTyped == nil || len(texts) == 0 {
		return 0, nil
	}
	n, err := g.EraseTyped(texts)
	if err != nil {
		err = fmt.Errorf("nothing was erased yet: %w", err)
	}
	return n, err
}

func (g *sessionRemover) forksOf(ctx context.Context, id firn.ID) ([]firn.ID, error) {
	var forks []firn.ID
	for fork, err := range g.reader.forks(ctx, id) {
		if err != nil {
			return nil, fmt.Errorf("find forks of session %s: %w", id, err)
		}
		forks = append(forks, fork)
	}
	return forks, nil
}
