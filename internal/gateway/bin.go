package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/find/witness"
	"firn.dev/internal/gateway/maintenance"
	"firn.dev/store"
	"firn.dev/wire"
)

// Bin lists the sessions in the trash bin, the most recently removed first.
func (g *sessionRemover) Bin(ctx context.Context) (wire.Bin, error) {
	all, err := g.binned(ctx)
	if err != nil {
		return wire.Bin{}, err
	}
	out := wire.Bin{Items: make([]wire.Binned, 0, len(all)), Total: len(all)}
	m := g.setup.Load().Maintenance
	for i := range all {
		out.Items = append(out.Items, inBin(&all[i], m))
		out.Bytes += all[i].Bytes
	}
	return out, nil
}

// binned returns the sessions in the store's bin.
func (g *sessionRemover) binned(ctx context.Context) ([]store.Binned, error) {
	binner, ok := store.As[store.Binner](g.Store)
	if !ok {
		return nil, &wire.Problem{Kind: wire.Unsupported, Message: "this store has no trash bin"}
	}
	return binner.Bin(ctx)
}

// binnedSession returns a session in the trash bin, or the error none.
func (g *sessionRemover) binnedSession(ctx context.Context, id firn.ID, none error) (wire.Session, error) {
	all, err := g.binned(ctx)
	if err != nil {
		return wire.Session{}, none
	}
	for i := range all {
		if b := &all[i]; b.ID == id {
			return wire.Session{ID: id, Agent: b.Agent, Key: b.Key, Title: b.Title, Bytes: b.Bytes}, nil
		}
	}
	return wire.Session{}, none
}

// inBin converts a session in the trash bin to the protocol.
func inBin(b *store.Binned, m maintenance.Settings) wire.Binned {
	out := wire.Binned{
		Session: b.ID, Agent: b.Agent, Key: b.Key, Title: cmp.Or(b.Title, b.Prompt), Removed: b.Removed, Reason: b.Reason,
		Updated: b.Updated, Bytes: b.Bytes, Fault: b.Fault,
	}
	if m.Enforce && m.BinRetention > 0 && !b.Removed.IsZero() {
		out.Erased = b.Removed.Add(m.BinRetention)
	}
	return out
}

// binLock is the lock held while sessions leave the trash bin, so that a session being restored
// is not erased.
const binLock = "bin"

// EmptyBin permanently erases sessions in the trash bin: the named ones or all, limited to those
// removed before a time. Each leaves a receipt. Notes made from them are kept, unlike those
// of a purged session.
func (g *sessionRemover) EmptyBin(ctx context.Context, e wire.EmptyBin) (wire.EmptiedBin, error) {
	out := wire.EmptiedBin{Plan: e.Plan, Items: []wire.Binned{}}
	if !e.Plan && !e.Sure {
		return out, &wire.Problem{Kind: wire.Invalid, Message: "emptying the trash bin cannot be undone, and sure is not set", Hint: "send sure: true, or plan: true to see what would be erased"}
	}
	remover, err := g.remover("")
	if err != nil {
		return out, err
	}
	all, err := g.binned(ctx)
	if err != nil {
		return out, err
	}
	for _, id := range e.Sessions {
		if !slices.ContainsFunc(all, func(b store.Binned) bool { return b.ID == id }) {
			return out, fmt.Errorf("session %.128s is not in the trash bin: %w", id, firn.ErrNotFound)
		}
	}
	many, finish := witness.Together(ctx)
	for i := range all {
		b := &all[i]
		if len(e.Sessions) > 0 && !slices.Contains(e.Sessions, b.ID) || !e.Before.IsZero() && (b.Removed.IsZero() || !b.Removed.Before(e.Before)) {
			out.Left++
			continue
		}
		one := inBin(b, maintenance.Settings{})
		if !e.Plan {
			if err := g.eraseBinned(many, remover, b.ID, cmp.Or(e.Reason, "the trash bin was emptied")); err != nil {
				one.Error = err.Error()
			}
		}
		if out.Items = append(out.Items, one); one.Error != "" {
			out.Failed, out.Left = out.Failed+1, out.Left+1
		} else {
			out.Erased, out.Bytes = out.Erased+1, out.Bytes+one.Bytes
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err := cmp.Or(finish(), ctx.Err()); err != nil {
		return out, fmt.Errorf("empty the trash bin: %w", err)
	}
	return out, nil
}

// eraseBinned erases a session in the trash bin. It returns [firn.ErrConflict] if the session
// was restored in the meantime.
func (g *sessionRemover) eraseBinned(ctx context.Context, remover store.Remover, id firn.ID, reason string) error {
	defer g.locks.lock(binLock)()
	switch err := g.CheckExists(ctx, id); {
	case err == nil:
		return fmt.Errorf("%w: it was restored meanwhile", firn.ErrConflict)
	case !errors.Is(err, firn.ErrNotFound):
		return err
	}
	_, err := remover.Purge(ctx, id, reason)
	if err == nil {
		err = g.Files.Remove(id)
	}
	g.forget(id)
	return err
}

// reportBin adds the contents of the trash bin to a report and returns them. A store without a
// bin has none.
func (g *sessionRemover) reportBin(ctx context.Context, report *wire.Maintenance) ([]store.Binned, error) {
	all, err := g.binned(ctx)
	if wire.KindOf(err) == wire.Unsupported {
		return nil, nil
	}
	report.BinSessions = len(all)
	files, sizeErr := g.Files.Sizes()
	err = errors.Join(err, sizeErr)
	for i := range all {
		all[i].Bytes += files[all[i].ID]
		report.BinBytes += all[i].Bytes
	}
	return all, err
}

// eraseDue erases the sessions in the trash bin that have passed their retention, or only adds
// them to the report.
func (g *sessionRemover) eraseDue(ctx context.Context, m maintenance.Settings, bin []store.Binned, report *wire.Maintenance, dryRun bool) error {
	actions := maintenance.PlanBin(report.At, bin, m)
	if !m.Enforce || dryRun || len(actions) == 0 {
		report.Actions = append(report.Actions, actions...)
		return nil
	}
	remover, err := g.remover("")
	many, finish := witness.Together(ctx)
	for i := range actions {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			break
		}
		a := &actions[i]
		switch err := g.eraseBinned(many, remover, a.Session, "maintenance: "+a.Why); {
		case err == nil:
			a.Outcome = wire.OutcomeDone
		case errors.Is(err, firn.ErrConflict):
			a.Outcome = wire.OutcomeSpared
		default:
			a.Outcome, a.Error = wire.OutcomeFailed, err.Error()
		}
	}
	report.Actions = append(report.Actions, actions...)
	return errors.Join(err, finish())
}
