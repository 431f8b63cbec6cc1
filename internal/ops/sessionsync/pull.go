package sessionsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
)

// listed is a manifest on the target.
type listed struct {
	manifest
	at place
}

// pull imports all entries on the target that this home lacks.
func (r *run) pull(ctx context.Context) error {
	machines, err := r.Target.List(ctx, manifestDir)
	if err != nil {
		return err
	}
	var all []listed
	for _, machine := range machines {
		if !isMachine(machine) {
			r.problem("%s/%s on the target is not firn's; skipped", manifestDir, machine)
			continue
		}
		unread, err := r.unread(ctx, machine)
		if err != nil {
			return err
		}
		all = append(all, unread...)
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

// unread returns the manifests of a machine that were not imported completely, and compares
// the list with the previous one.
func (r *run) unread(ctx context.Context, machine string) ([]listed, error) {
	places, err := r.places(ctx, machine)
	if err != nil || len(places) == 0 {
		return nil, err
	}
	seen := r.st.Machines[machine]
	if seen == nil {
		seen = &seenMachine{}
		r.st.Machines[machine] = seen
	}
	r.checkRollback(machine, seen, places)
	open := seen.Open
	last := places[len(places)-1]
	before := seen.Highest
	seen.Open, seen.Highest, seen.Hash = nil, last.counter, last.name
	var all []listed
	there := make(map[int]int)
	for _, p := range places {
		there[p.counter]++
	}
	for _, p := range places {
		twice := there[p.counter] > 1
		if twice {
			r.problem("two homes publish as machine %s: in one of them, remove sync/config.json and add the targets again", cmp.Or(seen.Name, machine))
		}
		if p.counter <= before && !twice && !slices.Contains(open, p.counter) {
			continue
		}
		m, ok, err := r.readManifest(ctx, p)
		if err != nil {
			return nil, err
		}
		seen.leaveOpen(p.counter) // until it is imported
		if !ok {
			r.fail(machine, p.counter)
			continue
		}
		seen.Name, seen.Time = m.Name, m.Time
		all = append(all, listed{m, p})
	}
	return r.dropSuperseded(machine, seen, all, there, before, open), nil
}

// dropSuperseded removes manifests before the latest base, and records those that are missing.
func (r *run) dropSuperseded(machine string, seen *seenMachine, all []listed, there map[int]int, before int, open []int) []listed {
	base := 1
	for _, m := range all {
		base = max(base, m.Base)
	}
	seen.Open = slices.DeleteFunc(seen.Open, func(n int) bool { return n < base })
	for n := base; n <= seen.Highest; n++ {
		if there[n] == 0 && (n > before || slices.Contains(open, n)) {
			r.problem("manifest %d of machine %s is not on the target (yet)", n, cmp.Or(seen.Name, machine))
			r.fail(machine, n)
		}
	}
	return slices.DeleteFunc(all, func(m listed) bool { return m.Counter < base })
}

// leaveOpen records that a manifest must be read again.
func (s *seenMachine) leaveOpen(counter int) {
	if !slices.Contains(s.Open, counter) {
		s.Open = append(s.Open, counter)
		slices.Sort(s.Open)
	}
}

// places lists the manifests of a machine by number.
func (r *run) places(ctx context.Context, machine string) ([]place, error) {
	files, err := r.Target.List(ctx, manifestDir+"/"+machine)
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

// checkRollback compares the manifests of a machine with the latest that was seen. If it is
// gone, the target was replaced by an older copy: everything is published again.
func (r *run) checkRollback(machine string, seen *seenMachine, places []place) {
	if seen.Highest == 0 || slices.ContainsFunc(places, func(p place) bool { return p.counter == seen.Highest && p.name == seen.Hash }) {
		return
	}
	last := places[len(places)-1].counter
	r.problem("the target was rolled back: machine %s had published %d manifests, of which %d are there; everything here is published again",
		cmp.Or(seen.Name, machine), seen.Highest, min(last, seen.Highest-1))
	r.st.Republish = true
	seen.Open = slices.DeleteFunc(seen.Open, func(n int) bool { return n > last })
	seen.Highest = 0 // what is there is read again, which imports nothing twice
}

// readManifest reads a manifest. It returns false if it must be skipped.
func (r *run) readManifest(ctx context.Context, p place) (manifest, bool, error) {
	sealed, err := r.Target.Get(ctx, p.path())
	if err == nil {
		m, failed := r.Identity.decodeManifest(p, sealed)
		if failed == nil {
			return m, true, nil
		}
		err = failed
	}
	if ctx.Err() != nil {
		return manifest{}, false, ctx.Err()
	}
	r.problem("manifest %s: %v; skipped", p.path(), err)
	return manifest{}, false, nil
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
		r.problem("piece %s of machine %s: %v; skipped", ref.Name[:12], m.Name, err)
		r.fail(m.Machine, m.Counter)
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
	return nil
}

func (r *run) fetchPiece(ctx context.Context, ref pieceRef) (piece, error) {
	sealed, err := r.Target.Get(ctx, piecePath(ref.Name))
	if errors.Is(err, firn.ErrNotFound) {
		return piece{}, fmt.Errorf("it is not on the target (yet)")
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
