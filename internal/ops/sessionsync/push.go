package sessionsync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/find/election"
	"firn.dev/internal/render/prose"
	"firn.dev/store"
	"firn.dev/wire"
)

// Limits of pieces and manifests: a piece is closed when its text exceeds pieceBytes, and a
// manifest is written when its pieces exceed commitBytes. An interrupted sync repeats at most
// that much work.
const (
	pieceBytes  = 4 << 20
	commitBytes = 64 << 20
)

// outbox collects records and writes them to the target. It is the only place where sessions
// leave the machine.
type outbox struct {
	r *run
	// text is the current piece, session the session of its last record.
	text    []byte
	session firn.ID
	// pieces are written but not in a manifest yet, size is their size.
	pieces []pieceRef
	size   int64
	// sent are the sessions and marks that are complete with the next manifest.
	sent  map[firn.ID]published
	marks map[firn.ID]string
	notes map[noteID]string
	// base is the number of the first manifest, if everything is published again.
	base int
}

// push publishes the entries of this home that are not on the target.
func (r *run) push(ctx context.Context) error {
	if err := r.hold(ctx); err != nil {
		return err
	}
	o := &outbox{r: r, sent: make(map[firn.ID]published), marks: make(map[firn.ID]string), notes: make(map[noteID]string)}
	if r.st.Republish {
		o.base = r.nextCounter()
		r.st.Pieces = nil
		clear(r.st.Marks)
		clear(r.st.Notes)
		for id, p := range r.st.Sessions { // the list of excluded sessions stays
			r.st.Sessions[id] = published{Excluded: p.Excluded, Removed: p.Removed, Names: p.Names}
		}
		clear(r.there) // a base must contain everything
	}
	changed := r.changed()
	var done, total int64
	for _, h := range changed {
		total += h.Bytes
	}
	for _, h := range changed {
		r.Progress("publishing", done, total)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.publish(ctx, o, h); err != nil {
			return err
		}
		done += h.Bytes
	}
	r.Progress("publishing", total, total)
	if err := r.publishMarks(ctx, o); err != nil {
		return err
	}
	if err := r.publishNotes(ctx, o); err != nil {
		return err
	}
	last := r.st.Republish
	if err := o.commit(ctx, last); err != nil {
		return err
	}
	r.st.Republish = false
	return nil
}

// changed returns the sessions that changed since they were published, by ID.
func (r *run) changed() []store.Holding {
	var all []store.Holding
	for _, h := range r.holdings {
		before, ok := r.st.Sessions[h.ID]
		switch {
		case h.Receipt != nil:
		case h.Removed:
			if before.Removed {
				continue
			}
			before.Removed = true
			r.st.Sessions[h.ID] = before
		case ok && before.Bytes == h.Bytes && before.Modified.Equal(h.Modified) && before.Excluded == r.Config.excludes(h.ID, before.Names):
			if before.Removed {
				before.Removed = false
				r.st.Sessions[h.ID] = before
			}
			if before.Excluded {
				r.report.Kept++
			}
		default:
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b store.Holding) int { return compareIDs(a.ID, b.ID) })
	return all
}

func compareIDs(a, b firn.ID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// publish publishes the new entries of a session.
func (r *run) publish(ctx context.Context, o *outbox, h store.Holding) error {
	r.report.Read++
	c, err := readCopy(h.ID, r.Local.Lines(ctx, h.ID))
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.problem("session %s cannot be read: %v; not published", h.ID, err)
		return nil
	}
	if c.unread > 0 {
		r.problem("session %s has %s that cannot be read; not published", h.ID, prose.Plural(c.unread, "line"))
	}
	if len(c.items) > 0 && c.namesDiffer() {
		r.correctNames(ctx, h.ID)
	}
	r.noteErased(h.ID, c)
	r.dropHeads(h.ID, c)
	before := r.st.Sessions[h.ID]
	if !c.begins(before.Entries, before.Sum) {
		r.replaced(h.ID, before)
		return nil
	}
	now := published{Entries: len(c.items), Sum: c.sumOfIDs(len(c.items)), Bytes: h.Bytes, Modified: h.Modified, Names: c.excludable()}
	if r.Config.excludes(h.ID, now.Names) {
		now.Entries, now.Sum, now.Excluded = before.Entries, before.Sum, true
		r.st.Sessions[h.ID] = now
		r.report.Kept++
		return nil
	}
	chosen := c.unpublished(before.Entries, r.there[h.ID])
	if err := o.addSession(ctx, h.ID, c, chosen); err != nil {
		return err
	}
	o.sent[h.ID] = now
	return nil
}

// replaced records that a session does not continue its published version. It is compared
// with the whole target in this sync, or in the next one if this one is interrupted.
func (r *run) replaced(id firn.ID, before published) {
	r.problem("session %s was replaced by another copy, perhaps from a backup; it was compared with the target again", id)
	before.Entries, before.Sum = 0, ""
	r.st.Sessions[id], r.st.ReadAgain = before, true
}

// begins reports whether a copy begins with n entries whose IDs have a hash. Without a hash,
// it compares the number.
func (c *copyOf) begins(n int, sum string) bool {
	return n <= len(c.items) && (sum == "" || sum == c.sumOfIDs(n))
}

// sumOfIDs returns the hash of the IDs of the first n entries.
func (c *copyOf) sumOfIDs(n int) string {
	h := sha256.New()
	for i := range c.items[:n] {
		fmt.Fprintln(h, c.items[i].id) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// correctNames sets the titles and tags in lists to those that all machines elect. If it
// fails, a later sync repeats it.
func (r *run) correctNames(ctx context.Context, id firn.ID) {
	end, err := r.Local.End(ctx, id)
	if err == nil {
		_, err = r.Local.Merge(ctx, id, wire.Merge{Expect: end}, emptyReader{})
	}
	if err != nil && ctx.Err() == nil {
		r.problem("session %s: %v; its title and tags are merged by a later sync", id, err)
	}
}

// unpublished reports which entries still have to be published if the first n, and those in
// there, are on the target.
func (c *copyOf) unpublished(n int, there map[firn.EntryID]bool) []bool {
	before, now := c.travels(n), c.travels(len(c.items))
	for i := range now {
		if i < n && before[i] || there[c.items[i].id] {
			now[i] = false
		}
	}
	return now
}

// noteErased records entries that were purged here.
func (r *run) noteErased(id firn.ID, c *copyOf) {
	m := r.marks.Applied[id]
	var erased []firn.EntryID
	for i := range c.items {
		if c.items[i].erased && !slices.Contains(m.Erased, c.items[i].id) {
			erased = append(erased, c.items[i].id)
		}
	}
	if len(erased) == 0 {
		return
	}
	own := Receipt{Machine: r.Config.Machine, Name: r.Config.Name, At: r.report.Time, Entries: erased}
	m.Session = id
	r.changes.observed[id] = append(r.changes.observed[id], prose.Count(len(erased), "entry", "entries")+" purged")
	r.marks.Applied[id] = mergeMarks(m, Marks{Session: id, Erased: erased, Receipts: []Receipt{own}})
}

// publishMarks publishes the marks that changed.
func (r *run) publishMarks(ctx context.Context, o *outbox) error {
	for _, id := range slices.Sorted(maps.Keys(r.marks.Applied)) {
		m := r.marks.Applied[id]
		if hash := m.hash(); m.Session != "" && r.st.Marks[id] != hash {
			if err := o.addMarks(ctx, m, hash); err != nil {
				return err
			}
		}
	}
	return r.marks.save()
}

// addSession adds entries of a session. Sessions that stay on this machine are rejected here.
func (o *outbox) addSession(ctx context.Context, id firn.ID, c *copyOf, chosen []bool) error {
	if !slices.Contains(chosen, true) || c.header == nil {
		return nil
	}
	if o.r.Config.excludes(id, c.excludable()) {
		return failure.Of(firn.ErrInvalid, "publish session %s: it stays on this machine", id)
	}
	again := &copyOf{at: make(map[firn.EntryID]int), names: election.New(id)}
	for line, err := range o.r.Local.Lines(ctx, id) {
		if err != nil {
			return err
		}
		it, _, failed := again.decode(line)
		n := len(again.items)
		again.add(id, line)
		if failed != nil || len(again.items) == n || n >= len(chosen) || !chosen[n] {
			continue
		}
		if err := o.addEntry(ctx, id, c, it.line); err != nil {
			return err
		}
		o.r.changes.addEntry(id, true, &it)
	}
	return nil
}

// addEntry adds an entry, after the record of its session.
func (o *outbox) addEntry(ctx context.Context, id firn.ID, c *copyOf, line []byte) error {
	if o.session != id {
		data, err := json.Marshal(group{ID: id, Header: c.header, Head: c.realHead()})
		if err != nil {
			return err
		}
		o.text, o.session = appendRecord(o.text, tagSession, data), id
	}
	o.text = appendRecord(o.text, tagEntry, trimLine(line))
	o.r.report.Published++
	if len(o.text) < pieceBytes {
		return nil
	}
	return o.flush(ctx)
}

// addMarks adds the marks of a session, unless it stays on this machine.
func (o *outbox) addMarks(ctx context.Context, m Marks, hash string) error {
	if o.r.Config.excludes(m.Session, o.namesOf(m.Session)) {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	o.text, o.session = appendRecord(o.text, tagMarks, data), ""
	o.marks[m.Session] = hash
	o.r.changes.add(m.Session, true, o.r.changes.observed[m.Session]...)
	if len(o.text) < pieceBytes {
		return nil
	}
	return o.flush(ctx)
}

// addNote adds a version of a note, unless it stays on this machine.
func (o *outbox) addNote(ctx context.Context, n noteRecord, hash string, stays bool) error {
	if stays {
		return nil
	}
	data, err := json.Marshal(n)
	if err != nil {
		return err
	}
	o.text, o.session = appendRecord(o.text, tagNote, data), ""
	o.notes[n.ID] = hash
	o.r.report.PublishedNotes++
	if len(o.text) < pieceBytes {
		return nil
	}
	return o.flush(ctx)
}

// namesOf returns the keys and directories of a session; nil if it was never read.
func (o *outbox) namesOf(id firn.ID) *names {
	if p, ok := o.sent[id]; ok {
		return p.Names
	}
	return o.r.st.Sessions[id].Names
}

// flush writes the current piece. When many are written, it writes a manifest too.
func (o *outbox) flush(ctx context.Context) error {
	if len(o.text) == 0 {
		return nil
	}
	sealed, name, err := o.r.Identity.seal(o.text)
	if err != nil {
		return err
	}
	if err := o.r.Target.Put(ctx, piecePath(name), sealed); err != nil {
		return err
	}
	o.pieces = append(o.pieces, pieceRef{name, int64(len(sealed))})
	o.size += int64(len(sealed))
	o.r.report.Bytes += int64(len(sealed))
	o.text, o.session = nil, ""
	if o.size < commitBytes {
		return nil
	}
	return o.writeManifest(ctx, 0)
}

// commit writes the last piece and the manifest. The manifest of a complete publication names
// its first one as the base.
func (o *outbox) commit(ctx context.Context, complete bool) error {
	if err := o.flush(ctx); err != nil {
		return err
	}
	base := 0
	if complete {
		base = o.base
	}
	if len(o.pieces) > 0 || complete {
		if err := o.writeManifest(ctx, base); err != nil {
			return err
		}
	}
	return o.recordState()
}

// nextCounter returns the number of the next manifest.
func (r *run) nextCounter() int {
	n := r.st.Counter
	if seen := r.st.Machines[r.Config.Machine]; seen != nil {
		n = max(n, seen.Highest)
	}
	return n + 1
}

// writeManifest publishes the pieces that were written.
func (o *outbox) writeManifest(ctx context.Context, base int) error {
	r := o.r
	previous := r.st.Latest
	if seen := r.st.Machines[r.Config.Machine]; seen != nil && seen.Highest > r.st.Counter {
		previous = seen.Hash // the state was lost
	}
	m := manifest{Machine: r.Config.Machine, Name: r.Config.Name, Counter: r.nextCounter(), Previous: previous, Time: r.report.Time, Base: base, Pieces: o.pieces}
	sealed, name, err := r.Identity.encodeManifest(m)
	if err != nil {
		return err
	}
	if err := r.Target.Put(ctx, place{m.Machine, m.Counter, name}.path(), sealed); err != nil {
		return err
	}
	seen := r.st.Machines[m.Machine]
	if seen == nil {
		seen = &seenMachine{}
		r.st.Machines[m.Machine] = seen
	}
	seen.Name, seen.Highest, seen.Hash, seen.Time = m.Name, m.Counter, name, m.Time
	seen.Base = max(seen.Base, base)
	for _, p := range m.Pieces {
		r.st.Pieces = append(r.st.Pieces, p.Name)
	}
	r.st.Counter, r.st.Latest = m.Counter, name
	o.pieces, o.size = nil, 0
	return o.recordState()
}

// recordState records what is on the target now. It leaves out a session whose last piece is
// not written yet.
func (o *outbox) recordState() error {
	if len(o.text) > 0 || len(o.pieces) > 0 {
		return nil
	}
	maps.Copy(o.r.st.Sessions, o.sent)
	maps.Copy(o.r.st.Marks, o.marks)
	maps.Copy(o.r.st.Notes, o.notes)
	clear(o.sent)
	clear(o.marks)
	clear(o.notes)
	return o.r.save()
}
