package sessionsync

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/store"
	"firn.dev/wire"
)

// waitingGroup holds entries whose parents or targets are not here yet.
type waitingGroup struct {
	from listed
	group
}

// attempts is how often an import is tried if other writers append meanwhile.
const attempts = 4

// importGroup adds the entries of a session that this home lacks.
func (r *run) importGroup(ctx context.Context, from listed, g group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h, exists := r.holdings[g.ID]
	r.noteThere(g)
	if exists && h.Receipt != nil {
		return nil
	}
	if exists && h.Removed {
		before := r.st.Sessions[g.ID]
		before.Removed = true
		r.st.Sessions[g.ID] = before // read again when the session is restored
		return nil
	}
	for range attempts {
		err := r.importOnce(ctx, from, g, exists)
		if err == nil {
			return nil
		}
		r.cached = nil
		switch kind := wire.KindOf(err); {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, firn.ErrConflict) || kind == wire.Conflict:
			exists = true // another writer was faster
			continue
		case errors.Is(err, firn.ErrUnavailable) || errors.Is(err, firn.ErrNotSaved):
			return err
		}
		r.problem("session %s: %v; its entries of machine %s are added by a later sync", g.ID, err, from.Name)
		r.fail(from.Machine, from.Counter)
		return nil
	}
	r.problem("session %s is being written to; its entries of machine %s are added by a later sync", g.ID, from.Name)
	r.fail(from.Machine, from.Counter)
	return nil
}

// noteThere records that entries are on the target.
func (r *run) noteThere(g group) {
	ids := r.there[g.ID]
	if ids == nil {
		ids = make(map[firn.EntryID]bool)
		r.there[g.ID] = ids
	}
	for _, line := range g.lines {
		if it, _, _, err := decodeLine(line); err == nil {
			ids[it.id] = true
		}
	}
}

// load returns the copy of a session in this home; an empty one if there is none.
func (r *run) load(ctx context.Context, id firn.ID, exists bool) (*copyOf, error) {
	if r.cached != nil && r.cachedID == id {
		return r.cached, nil
	}
	r.cached, r.cachedID, r.end = nil, id, store.Start
	if !exists {
		c, err := readCopy(id, func(func([]byte, error) bool) {})
		r.cached = c
		return c, err
	}
	end, err := r.Local.End(ctx, id) // before reading, so that later entries are a conflict
	if err != nil {
		return nil, err
	}
	c, err := readCopy(id, r.Local.Lines(ctx, id))
	if err != nil {
		return nil, err
	}
	r.cached, r.end = c, end
	return c, nil
}

// importOnce adds the entries of a session that the copy lacks.
func (r *run) importOnce(ctx context.Context, from listed, g group, exists bool) error {
	c, err := r.load(ctx, g.ID, exists)
	if err != nil {
		return err
	}
	if ok, err := r.sameHeader(from, c, g); err != nil || !ok {
		return err
	}
	local := r.localHead(c, g)
	d := decide(g, c)
	for _, other := range d.conflicts {
		if err := r.keepConflict(from, g.ID, other); err != nil {
			return err
		}
	}
	if d.invalid > 0 {
		r.problem("session %s: machine %s published %s that cannot be read; skipped", g.ID, from.Name, prose.Plural(d.invalid, "line"))
	}
	if len(d.wait) > 0 {
		r.waiting = append(r.waiting, waitingGroup{from, group{ID: g.ID, Header: g.Header, Head: g.Head, lines: d.wait}})
	}
	_, interrupted := r.st.Importing[g.ID]
	head := r.chooseHead(c, g, from, local)
	if len(d.add) == 0 && !interrupted {
		return nil
	}
	if exists && local != "" && !interrupted {
		r.st.Importing[g.ID] = local
		if err := r.save(); err != nil {
			return err
		}
	}
	var body bytes.Buffer
	if !exists {
		body.Write(append(bytes.TrimSpace(g.Header), '\n'))
	}
	for _, line := range d.add {
		body.Write(append(line[:len(line):len(line)], '\n'))
	}
	r.cached = nil
	if _, err := r.Local.Merge(ctx, g.ID, wire.Merge{Expect: r.end, Head: head}, &body); err != nil {
		return err
	}
	delete(r.st.Importing, g.ID)
	r.holdings[g.ID] = store.Holding{ID: g.ID}
	r.report.Imported += len(d.add)
	for _, line := range d.add {
		if it, _, _, err := decodeLine(line); err == nil {
			r.changes.addEntry(g.ID, false, &it)
		}
	}
	r.touched[g.ID] = true
	return nil
}

// localHead returns the head of a session before the import. If an import was interrupted,
// entries of the target may be at the end of the file; the head is then the recorded one.
func (r *run) localHead(c *copyOf, g group) firn.EntryID {
	head := c.realHead()
	recorded, interrupted := r.st.Importing[g.ID]
	if _, known := c.at[recorded]; interrupted && known && r.there[g.ID][head] {
		return recorded
	}
	return head
}

// sameHeader compares the header of a session with that of the copy. Different headers mean
// that two sessions have the same ID.
func (r *run) sameHeader(from listed, c *copyOf, g group) (bool, error) {
	if c.header == nil {
		it, e, _, err := decodeLine(g.Header)
		if h, ok := e.Body.(*firn.Header); err != nil || !ok || h.Session != g.ID {
			r.problem("session %s: machine %s published no valid header; skipped", g.ID, from.Name)
			return false, nil
		}
		if len(c.items) == 0 {
			c.header = it.line
		}
		return true, nil
	}
	ours, err := sumOf(c.header)
	if err != nil {
		return false, err
	}
	theirs, err := sumOf(g.Header)
	if err == nil && ours == theirs {
		return true, nil
	}
	return false, r.keepConflict(from, g.ID, item{id: "header", line: g.Header, sum: theirs})
}

// decision is what an import does with the lines of a group.
type decision struct {
	// add are the lines to append, in order; wait those whose parents are missing.
	add, wait [][]byte
	// conflicts are entries that have the ID of another entry.
	conflicts []item
	invalid   int
}

// decide compares the lines of a group with a copy. The lines to add are added to the copy.
func decide(g group, c *copyOf) decision {
	var d decision
	rest := g.lines
	for {
		var wait [][]byte
		for _, line := range rest {
			it, e, _, err := decodeLine(line)
			if err != nil || e.Body.Kind() == firn.KindHeader {
				d.invalid++
				continue
			}
			if i, known := c.at[it.id]; known {
				ours := &c.items[i]
				if ours.sum != it.sum && !ours.erased && !it.erased {
					d.conflicts = append(d.conflicts, it)
				}
				continue
			}
			if !c.hasReferences(g.ID, &it) {
				wait = append(wait, line)
				continue
			}
			d.add = append(d.add, it.line)
			c.at[it.id] = len(c.items)
			c.items = append(c.items, it)
		}
		if len(wait) == len(rest) || len(wait) == 0 {
			d.wait = wait
			return d
		}
		rest = wait
	}
}

// hasReferences reports whether the parent and the targets of an entry are in the copy.
func (c *copyOf) hasReferences(session firn.ID, it *item) bool {
	known := func(id firn.EntryID) bool {
		_, ok := c.at[id]
		return ok || id == firn.EntryID(session)
	}
	return (it.parent == "" || known(it.parent)) && !slices.ContainsFunc(it.refs, func(id firn.EntryID) bool { return !known(id) })
}

// chooseHead returns the head of a session after the import. If the other machine continued
// the conversation from here, that is its head. Otherwise the head stays, and that of the other machine is
// recorded if it is on another branch.
func (r *run) chooseHead(c *copyOf, g group, from listed, local firn.EntryID) firn.EntryID {
	other := c.real(g.Head)
	if _, known := c.at[other]; !known {
		other = ""
	}
	heads := r.st.Heads[g.ID]
	delete(heads, from.Machine)
	switch {
	case local == "" && other == "" && len(c.items) > 0:
		return c.realHead()
	case local == "" || other != "" && c.follows(other, c.withoutRecords(local)):
		for machine, entry := range heads {
			if c.follows(other, entry) {
				delete(heads, machine)
			}
		}
		return other
	case from.Machine != r.Config.Machine:
		r.noteHead(c, g.ID, from.Machine, c.grown(other), local)
	}
	return local
}

// noteHead records the end of a branch of another machine, unless it is in the branch of this
// one or in a recorded one. Ends that are in the new one are dropped.
func (r *run) noteHead(c *copyOf, id firn.ID, machine string, end, local firn.EntryID) {
	heads := r.st.Heads[id]
	if end == "" || c.follows(local, end) {
		return
	}
	for other, entry := range heads {
		if c.follows(entry, end) {
			return
		}
		if c.follows(end, entry) {
			delete(heads, other)
		}
	}
	if heads == nil {
		heads = make(map[string]firn.EntryID)
		r.st.Heads[id] = heads
	}
	heads[machine] = end
}

// dropHeads forgets the heads of other machines that are in the branch of this one, because
// the user chose them.
func (r *run) dropHeads(id firn.ID, c *copyOf) {
	local := c.realHead()
	maps.DeleteFunc(r.st.Heads[id], func(_ string, entry firn.EntryID) bool { return c.follows(local, entry) })
}

// Open returns the heads of other machines that are not in the branch of this one, without those
// of sessions that are in the trash bin or purged. It reads the sessions; a session that cannot
// be read keeps its heads.
func Open(ctx context.Context, local Local, heads []OtherHead) []OtherHead {
	copies := make(map[firn.ID]*copyOf)
	gone := make(map[firn.ID]bool)
	if all, err := local.Holdings(ctx); err == nil {
		for _, h := range all {
			gone[h.ID] = isGone(h)
		}
	}
	return slices.DeleteFunc(slices.Clone(heads), func(h OtherHead) bool {
		if gone[h.Session] {
			return true
		}
		c, known := copies[h.Session]
		if !known {
			var err error
			if c, err = readCopy(h.Session, local.Lines(ctx, h.Session)); err != nil {
				c = nil
			}
			copies[h.Session] = c
		}
		return c != nil && c.follows(c.realHead(), h.Entry)
	})
}

// heads lists the heads of other machines, without those of sessions that are in the trash bin
// or purged.
func (r *run) heads() []OtherHead {
	var all []OtherHead
	for id, heads := range r.st.Heads {
		if isGone(r.holdings[id]) {
			continue
		}
		for machine, entry := range heads {
			all = append(all, OtherHead{id, r.st.label(machine, r.Config), entry})
		}
	}
	slices.SortFunc(all, func(a, b OtherHead) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Machine, b.Machine))
	})
	return all
}

// retryWaiting imports entries that waited for others until no more can be imported.
func (r *run) retryWaiting(ctx context.Context) error {
	for len(r.waiting) > 0 {
		before, retry := r.report.Imported, r.waiting
		r.waiting = nil
		for _, w := range retry {
			if err := r.importGroup(ctx, w.from, w.group); err != nil {
				return err
			}
		}
		if r.report.Imported == before {
			break
		}
	}
	lacking := make(map[string]int)
	for _, w := range r.waiting {
		if r.superseded(w.from) {
			continue // a later manifest has copies of what it waits for
		}
		lacking[fmt.Sprintf("session %s of machine %s", w.ID, w.from.Name)] += len(w.lines)
		r.fail(w.from.Machine, w.from.Counter)
	}
	for what, n := range lacking {
		r.problem("%s: %s for others that are not on the target (yet)", what, prose.Count(n, "entry waits", "entries wait"))
	}
	slices.Sort(r.report.Problems)
	return nil
}
