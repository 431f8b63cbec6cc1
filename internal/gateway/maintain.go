package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/maintenance"
	"firn.dev/store"
	"firn.dev/wire"
)

// Maintain applies the retention settings. If they are not enforced, or with dryRun, it only
// reports exactly what it would do. Sessions of idle sub-agents are archived even if the
// settings are not enforced, except with dryRun. Protected sessions are never touched: running
// and pinned ones, main conversations and groups, and sessions that their key points at.
// Removed sessions are in the trash bin, from which [Gateway.Restore] restores them. A session
// used in the meantime is spared. Sessions are erased from the trash bin only if a setting
// requires it; those removed in this run are not erased in the same run.
func (g *maintainer) Maintain(ctx context.Context, m maintenance.Settings, dryRun bool) (wire.Maintenance, error) {
	report := wire.Maintenance{Mode: m.Mode(), At: g.now(), Actions: []wire.Action{}, Protected: make(map[string]int)}
	if err := m.Check(); err != nil {
		return report, err
	}
	unlock := g.locks.lock("maintenance")
	defer unlock()
	all, err := g.retentionStates(ctx)
	if err != nil {
		return report, fmt.Errorf("plan maintenance: %w", err)
	}
	actions, err := g.planMaintenance(ctx, report.At, all, m)
	if err != nil {
		return report, fmt.Errorf("plan maintenance: %w", err)
	}
	bin, err := g.remover.reportBin(ctx, &report)
	if err != nil {
		return report, fmt.Errorf("plan maintenance: %w", err)
	}
	report.Actions = append(report.Actions, actions...)
	for i := range all {
		report.Sessions++
		report.Bytes += all[i].Bytes
		if why := all[i].Protection(report.At); why != "" {
			report.Protected[why]++
		}
	}
	if !dryRun {
		report.Done = m.Enforce
		err = g.enforce(ctx, all, &report)
	}
	if err == nil {
		err = g.remover.eraseDue(ctx, m, bin, &report, dryRun)
	}
	countActions(&report)
	report.Kept = maintenance.CountProtected(report.At, all, m)
	report.Exceeded = maintenance.Exceeded(all, &report, m)
	return report, err
}

// retentionStates returns the retention state of all sessions, without reading them.
func (g *maintainer) retentionStates(ctx context.Context) ([]maintenance.Session, error) {
	keyed, err := g.keyed()
	if err != nil {
		return nil, err
	}
	files, err := g.Files.Sizes()
	if err != nil {
		return nil, err
	}
	var all []maintenance.Session
	current := make(map[firn.ID]bool)
	asked := make(map[string]bool)
	for info, err := range g.Every(ctx, store.Query{}) {
		if err != nil {
			return nil, err
		}
		info.Bytes += files[info.ID] // contents of files that its tools changed
		s := maintenance.Session{Info: info, Open: g.isOpen(info.ID)}
		if info.Key != "" {
			s.Kind, s.Main = g.kindOf(info.Key)
			s.Child = s.Kind == route.KindSubagent
		}
		if info.Key != "" && !asked[info.Key] {
			asked[info.Key] = true
			id, err := keyed.Lookup(ctx, info.Key)
			if err != nil && !errors.Is(err, firn.ErrNotFound) {
				return nil, err
			}
			current[id] = true
		}
		all = append(all, s)
	}
	for i := range all {
		all[i].Current = current[all[i].ID]
	}
	return all, nil
}

// kindOf returns the kind of a key and whether it is that of an agent's main conversation.
func (g *maintainer) kindOf(key string) (kind route.Kind, isMain bool) {
	k, err := g.canonical(key)
	if err != nil {
		return route.KindOther, false
	}
	return k.Kind(), k.Kind() == route.KindMain || k.Kind() == route.KindGlobal || g.setup.Load().Route.IsMain(k)
}

// isOpen reports whether a session is in use: a turn is running or queued, or it has
// listeners.
func (g *maintainer) isOpen(id firn.ID) bool { return g.lanes.running(id) || g.events.hasListeners(id) }

// hasListeners reports whether a session has listeners of its own.
func (h *hub) hasListeners(id firn.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners[id]) > 0
}

// planMaintenance plans the actions. It checks the chosen sessions for pins, which requires
// reading them, and plans again until no unchecked session is chosen.
func (g *maintainer) planMaintenance(ctx context.Context, now time.Time, all []maintenance.Session, m maintenance.Settings) ([]wire.Action, error) {
	asked := make(map[firn.ID]bool)
	at := make(map[firn.ID]*maintenance.Session, len(all))
	for i := range all {
		at[all[i].ID] = &all[i]
	}
	for {
		actions := maintenance.Plan(now, all, m)
		asking := slices.DeleteFunc(slices.Clone(actions), func(a wire.Action) bool { return asked[a.Session] })
		if len(asking) == 0 {
			return actions, nil
		}
		for _, a := range asking {
			asked[a.Session] = true
			if err := g.checkPinned(ctx, at[a.Session]); err != nil {
				return nil, err
			}
		}
	}
}

// checkPinned sets whether a session is pinned. An unreadable session gets a fault, which
// protects it.
func (g *maintainer) checkPinned(ctx context.Context, s *maintenance.Session) (err error) {
	s.Pinned, err = g.isPinned(ctx, s.ID)
	if err != nil && ctx.Err() == nil {
		s.Fault, err = err.Error(), nil
	}
	return err
}

// isPinned reports whether an entry of the session has the label pin.
func (g *maintainer) isPinned(ctx context.Context, id firn.ID) (bool, error) {
	decided := make(map[firn.EntryID]bool)
	for rec, err := range g.Store.ReadBack(ctx, id, store.End) {
		if err != nil {
			return false, fmt.Errorf("find pin in session %s: %w", id, err)
		}
		if rec.Gap != nil || rec.Glance.Kind != firn.KindLabel || decided[rec.Glance.Target] {
			continue
		}
		decided[rec.Glance.Target] = true // later labels take precedence
		entry, err := rec.Entry()
		if err != nil {
			continue
		}
		if l, ok := entry.Body.(*firn.Label); ok && (l.Name == "pin" || l.Name == "pinned") {
			return true, nil
		}
	}
	return false, nil
}

// enforce executes the plan. Idle sub-agents are archived in every mode, because that loses
// nothing.
func (g *maintainer) enforce(ctx context.Context, all []maintenance.Session, report *wire.Maintenance) error {
	remover, ok := store.As[store.Remover](g.Store)
	if !ok {
		return fmt.Errorf("remove sessions: not supported by the store: %w", firn.ErrUnsupported)
	}
	ends := make(map[firn.ID]firn.Pos, len(all))
	current := make(map[firn.ID]bool)
	for i := range all {
		ends[all[i].ID] = all[i].End
		current[all[i].ID] = all[i].Current
	}
	for i := range report.Actions {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("remove sessions: %w", err)
		}
		a := &report.Actions[i]
		if !report.Done && a.Do != wire.ActionArchive {
			continue
		}
		g.applyAction(ctx, remover, a, ends[a.Session], current[a.Session])
	}
	return nil
}

// applyAction executes one action unless the session was used since it was chosen.
func (g *maintainer) applyAction(ctx context.Context, remover store.Remover, a *wire.Action, end firn.Pos, current bool) {
	if a.Key != "" {
		unlock := g.locks.lock(a.Key)
		defer unlock()
	}
	if used, err := g.usedSince(ctx, a, end, current); err != nil {
		a.Outcome, a.Error = wire.OutcomeFailed, err.Error()
		return
	} else if used {
		a.Outcome = wire.OutcomeSpared
		return
	}
	err := error(nil)
	if a.Do == wire.ActionArchive {
		err = remover.Archive(ctx, a.Session)
	} else {
		err = remover.Remove(ctx, a.Session, "maintenance: "+a.Why)
	}
	if err != nil {
		a.Outcome, a.Error = wire.OutcomeFailed, err.Error()
		return
	}
	a.Outcome = wire.OutcomeDone
	if a.Do == wire.ActionRemove {
		g.forget(a.Session)
	}
	g.events.publish(event(wire.SessionUpdated, a.Session, nil))
}

// usedSince reports whether a session was used, or its key was pointed at it, since it was
// chosen.
func (g *maintainer) usedSince(ctx context.Context, a *wire.Action, end firn.Pos, current bool) (bool, error) {
	if g.isOpen(a.Session) {
		return true, nil
	}
	if _, err := g.Store.Append(ctx, a.Session, end); err != nil { // an empty append only checks the end
		if errors.Is(err, firn.ErrConflict) {
			return true, nil
		}
		return false, err
	}
	keyed, err := g.keyed()
	if err != nil || a.Key == "" || current {
		return false, err
	}
	id, err := keyed.Lookup(ctx, a.Key)
	if errors.Is(err, firn.ErrNotFound) {
		err = nil
	}
	return id == a.Session, err
}

// countActions counts the actions: the completed ones, or all if none was attempted.
func countActions(r *wire.Maintenance) {
	for _, a := range r.Actions {
		switch {
		case a.Outcome == wire.OutcomeSpared:
			r.Spared++
		case a.Outcome == wire.OutcomeFailed:
			r.Failed++
		case r.Done && a.Outcome != wire.OutcomeDone: // interrupted before this action
		case a.Do == wire.ActionArchive:
			r.Archived++
		case a.Do == wire.ActionErase:
			r.Erased++
			r.BytesErased += a.Bytes
		default:
			r.Removed++
			r.BytesBinned += a.Bytes
		}
	}
}

// MaintainNow runs Maintain with the current settings. With enforce it applies them
// regardless of their mode, otherwise it is a dry run.
func (g *maintainer) MaintainNow(ctx context.Context, enforce bool) (wire.Maintenance, error) {
	m := g.setup.Load().Maintenance
	m.Enforce = m.Enforce || enforce
	return g.Maintain(ctx, m, !enforce)
}
