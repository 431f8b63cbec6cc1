package sessionsync

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"firn.dev"
)

// maxGap is the number of missing manifests that are recorded between two that are there. A
// larger gap means that a machine skipped numbers.
const maxGap = 1000

// census lists a machine's manifests on the target. Names prove nothing, since
// anyone who can write to the target chooses them: only manifests that were opened count.
type census struct {
	// names counts the names on the target by their number.
	names map[int]int
	// opened are the manifests that were opened, by number; count counts them.
	opened []listed
	count  map[int]int
	// faults are those that could not be opened.
	faults []fault
}

// fault is a manifest that could not be opened.
type fault struct {
	at  place
	err error
}

// machines returns the machines on the target and those that were there before.
func (r *run) machines(ctx context.Context) ([]string, error) {
	names, err := r.Target.List(ctx, manifestDir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range names {
		if !isMachine(name) {
			r.problem("%s/%s on the target is not firn's; skipped", manifestDir, name)
			continue
		}
		all = append(all, name)
	}
	if own := r.Config.Machine; r.st.Counter > 0 && r.st.Machines[own] == nil {
		r.st.Machines[own] = &seenMachine{Name: r.Config.Name, Highest: r.st.Counter, Hash: r.st.Latest}
	}
	all = slices.AppendSeq(all, maps.Keys(r.st.Machines))
	slices.Sort(all)
	return slices.Compact(all), nil
}

// unread returns the manifests of a machine that were not imported completely, and compares
// the files on the target with the remembered ones.
func (r *run) unread(ctx context.Context, machine string) ([]listed, error) {
	places, err := r.places(ctx, machine)
	if err != nil {
		return nil, err
	}
	var seen seenMachine
	if known := r.st.Machines[machine]; known != nil {
		seen = *known
	}
	r.checkLoss(machine, &seen, places)
	before, open := seen.Highest, seen.Open
	if r.st.ReadAgain {
		before, open = 0, nil
	}
	found, err := r.openAll(ctx, places, func(p place, names int) bool {
		return p.counter > before || names > 1 && p.counter >= seen.Base || slices.Contains(open, p.counter)
	})
	if err != nil {
		return nil, err
	}
	for _, m := range found.opened {
		if m.Counter > seen.Highest {
			seen.Highest, seen.Hash, seen.Name, seen.Time = m.Counter, m.at.name, m.Name, m.Time
		}
		seen.Base = max(seen.Base, m.Base)
	}
	label := cmp.Or(seen.Name, machine)
	r.reportTwice(label, &seen, found)
	all := slices.DeleteFunc(found.opened, func(m listed) bool {
		return m.Counter <= before && found.count[m.Counter] == 1 && !slices.Contains(open, m.Counter)
	})
	seen.Open = nil
	for _, m := range all {
		seen.leaveOpen(m.Counter) // until it is imported
	}
	r.reportFaults(&seen, found)
	r.reportMissing(label, &seen, found, func(n int) bool { return n > before || slices.Contains(open, n) })
	if seen.Highest > 0 || r.st.Machines[machine] != nil {
		r.st.Machines[machine] = &seen
	}
	return all, nil
}

// openAll opens the manifests that the caller wants to read.
func (r *run) openAll(ctx context.Context, places []place, wanted func(p place, names int) bool) (census, error) {
	found := census{names: make(map[int]int), count: make(map[int]int)}
	for _, p := range places {
		found.names[p.counter]++
	}
	for _, p := range places {
		if !wanted(p, found.names[p.counter]) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return found, err
		}
		sealed, err := r.Target.Get(ctx, p.path())
		var m manifest
		if err == nil {
			m, err = r.Identity.decodeManifest(p, sealed)
		}
		switch {
		case err == nil:
			found.opened = append(found.opened, listed{m, p})
			found.count[p.counter]++
		case ctx.Err() != nil:
			return found, ctx.Err()
		case concernsAll(err):
			return found, err
		default:
			found.faults = append(found.faults, fault{p, err})
		}
	}
	return found, nil
}

// reportTwice reports two manifests of one number: two homes have the same machine ID.
func (r *run) reportTwice(label string, seen *seenMachine, found census) {
	for _, m := range found.opened {
		if m.Counter >= seen.Base && found.count[m.Counter] > 1 {
			r.problem("two homes publish as machine %s: in one of them, remove sync/config.json and add the targets again", label)
			return
		}
	}
}

// reportFaults reports manifests that could not be opened, except lost ones before the base.
// Those after the latest one are tried again by every sync anyway.
func (r *run) reportFaults(seen *seenMachine, found census) {
	for _, f := range found.faults {
		if f.at.counter < seen.Base && isLost(f.err) {
			continue
		}
		r.problem("manifest %s: %v; skipped", f.at.path(), f.err)
		if f.at.counter <= seen.Highest && found.count[f.at.counter] == 0 {
			seen.leaveOpen(f.at.counter)
		}
	}
}

// reportMissing reports manifests before the latest one that are not there, if they were not
// imported before.
func (r *run) reportMissing(label string, seen *seenMachine, found census, wanted func(n int) bool) {
	var missing []int
	next := max(seen.Base, 1)
	for _, n := range slices.Sorted(maps.Keys(found.names)) {
		if n > seen.Highest {
			break
		}
		for lost := max(next, n-maxGap); lost < n; lost++ {
			if wanted(lost) {
				missing = append(missing, lost)
				seen.leaveOpen(lost)
			}
		}
		next = max(next, n+1)
	}
	switch len(missing) {
	case 0:
	case 1:
		r.problem("manifest %d of machine %s is not on the target (yet)", missing[0], label)
	default:
		r.problem("%d manifests of machine %s from %d to %d are not on the target (yet)", len(missing), label, missing[0], missing[len(missing)-1])
	}
}

// leaveOpen records that a manifest must be read again.
func (s *seenMachine) leaveOpen(counter int) {
	if at, known := slices.BinarySearch(s.Open, counter); !known {
		s.Open = slices.Insert(s.Open, at, counter)
	}
}

// isLost reports whether an error means that a file is missing or damaged, as opposed to one
// that could not be read now and may be readable later.
func isLost(err error) bool {
	return errors.Is(err, firn.ErrNotFound) || errors.Is(err, firn.ErrCorrupt)
}

// superseded reports whether later manifests contain everything that the machine of a
// manifest publishes, so that a part of it may be missing.
func (r *run) superseded(m listed) bool { return m.Counter < r.st.Machines[m.Machine].Base }

// checkLoss compares the manifests of a machine with the latest that was seen. If it is gone,
// the target was replaced by an older copy, or the files were deleted: everything here is
// published again.
func (r *run) checkLoss(machine string, seen *seenMachine, places []place) {
	if seen.Highest == 0 {
		return
	}
	there := make(map[int]bool)
	first := max(seen.Base, 1)
	lost, latest := seen.Highest-first+1, false
	for _, p := range places {
		if p.counter <= seen.Highest && !there[p.counter] {
			there[p.counter] = true
			if p.counter >= first {
				lost--
			}
		}
		latest = latest || p.counter == seen.Highest && p.name == seen.Hash
	}
	label := cmp.Or(seen.Name, machine)
	switch {
	case len(places) == 0:
		r.problem("all manifests of machine %s are gone from the target; everything here is published again", label)
	case !latest:
		r.problem("the target was rolled back: machine %s had published %d manifests, of which %d are there; everything here is published again",
			label, seen.Highest, min(len(there), seen.Highest-1))
	case machine == r.Config.Machine && lost > 0:
		r.problem("%d of %d manifests of this machine are gone from the target; everything here is published again", lost, seen.Highest-first+1)
		r.st.Republish = true
		return
	default:
		return
	}
	r.st.Republish = true
	seen.Highest, seen.Hash, seen.Base, seen.Open = 0, "", 0, nil // the remaining manifests are read again; nothing is imported twice
}

// checkOwnPieces looks for the pieces of this machine. If some are gone, everything is
// published again.
func (r *run) checkOwnPieces(ctx context.Context) error {
	if r.st.Republish {
		return nil
	}
	byDir := make(map[string][]string)
	for _, name := range r.st.Pieces {
		if !isName(name) {
			continue
		}
		byDir[name[:2]] = append(byDir[name[:2]], name)
	}
	lost := 0
	for dir, names := range byDir {
		there, err := r.Target.List(ctx, pieceDir+"/"+dir)
		if err != nil && !errors.Is(err, firn.ErrCorrupt) {
			return err
		}
		for _, name := range names {
			if !slices.Contains(there, name) {
				lost++
			}
		}
	}
	if lost > 0 {
		r.problem("%d of %d pieces of this machine are gone from the target; everything here is published again", lost, len(r.st.Pieces))
		r.st.Republish = true
	}
	return nil
}
