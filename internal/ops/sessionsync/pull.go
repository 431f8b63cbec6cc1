package sessionsync

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// listed is a manifest on the target.
type listed struct {
	manifest
	at place
}

// pull imports all entries on the target that this home lacks.
func (r *run) pull(ctx context.Context) error {
	r.waiting = nil
	clear(r.failed)
	machines, err := r.machines(ctx)
	if err != nil {
		return err
	}
	var all []listed
	for _, machine := range machines {
		unread, err := r.unread(ctx, machine)
		if err != nil {
			return err
		}
		all = append(all, unread...)
	}
	if err := r.checkOwnPieces(ctx); err != nil {
		return err
	}
	// Parents were usually published before their children. Where clocks are wrong, children
	// wait for their parents.
	slices.SortStableFunc(all, func(a, b listed) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Counter, b.Counter))
	})
	var done, total int64
	for _, m := range all {
		for _, p := range m.Pieces {
			total += p.Size
		}
	}
	for _, m := range all {
		imported := r.report.Imported
		for _, p := range m.Pieces {
			r.Progress("importing", done, total)
			if err := r.readPiece(ctx, m, p); err != nil {
				return err
			}
			done += p.Size
		}
		r.close(m)
		if r.report.Imported > imported {
			if err := r.save(); err != nil {
				return err
			}
		}
	}
	r.Progress("importing", total, total)
	if err := r.retryWaiting(ctx); err != nil {
		return err
	}
	for _, m := range all {
		r.close(m)
	}
	r.st.ReadAgain = false
	return nil
}

// fail records that a manifest could not be imported completely, so that it is read again.
func (r *run) fail(machine string, counter int) {
	r.failed[place{machine: machine, counter: counter}] = true
	r.st.Machines[machine].leaveOpen(counter)
}

// close records that a manifest was imported, unless a part of it failed or waits.
func (r *run) close(m listed) {
	waits := slices.ContainsFunc(r.waiting, func(w waitingGroup) bool { return w.from.Machine == m.Machine && w.from.Counter == m.Counter })
	if waits || r.failed[place{machine: m.Machine, counter: m.Counter}] {
		return
	}
	seen := r.st.Machines[m.Machine]
	seen.Open = slices.DeleteFunc(seen.Open, func(n int) bool { return n == m.Counter })
}

// places lists the manifests of a machine by number.
func (r *run) places(ctx context.Context, machine string) ([]place, error) {
	files, err := r.Target.List(ctx, manifestDir+"/"+machine)
	if errors.Is(err, firn.ErrCorrupt) {
		r.problem("%v; skipped", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []place
	for _, file := range files {
		p, ok := parsePlace(machine, file)
		if !ok {
			r.problem("%s/%s/%s on the target is not firn's; skipped", manifestDir, machine, file)
			continue
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Or(cmp.Compare(a.counter, b.counter), cmp.Compare(a.name, b.name)) })
	return all, nil
}

// readPiece imports a piece. A piece that is missing or damaged is reported and skipped.
func (r *run) readPiece(ctx context.Context, m listed, ref pieceRef) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	content, err := r.fetchPiece(ctx, ref)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if concernsAll(err) {
			return err
		}
		if !r.superseded(m) || !isLost(err) {
			r.problem("piece %s of machine %s: %v; skipped", ref.Name[:12], m.Name, err)
			r.fail(m.Machine, m.Counter)
		}
		return nil
	}
	for _, g := range content.groups {
		if err := r.importGroup(ctx, m, g); err != nil {
			return err
		}
	}
	for _, mark := range content.marks {
		r.marks.merge(mark)
	}
	return r.importNotes(ctx, m, content.notes)
}

func (r *run) fetchPiece(ctx context.Context, ref pieceRef) (piece, error) {
	sealed, err := r.Target.Get(ctx, piecePath(ref.Name))
	if errors.Is(err, firn.ErrNotFound) {
		return piece{}, failure.Of(firn.ErrNotFound, "it is not on the target (yet)")
	}
	if err != nil {
		return piece{}, err
	}
	plain, err := r.Identity.open(ref.Name, sealed)
	if err != nil {
		return piece{}, err
	}
	return decodePiece(plain)
}
