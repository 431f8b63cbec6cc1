package convert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// Limits of a batch.
const (
	batchEntries = 512
	batchBytes   = 4 << 20
)

// Import appends the entries of a source to a session of a store: all of them if the session
// is new, otherwise those that the session does not have yet, so that a source that has
// grown, or an interrupted import, is continued. It returns the number of entries added.
//
// It fails with ErrConflict if the session has no entry of the source, and with a
// *[Differs], also an ErrConflict, if a message has different content in the session.
// Nothing is added then, except for entries long before the message that differs.
func Import(ctx context.Context, st store.Store, id firn.ID, src Source, report *Report) (int64, error) {
	in := &intake{ctx: ctx, st: st, id: id, tool: src.Tool, seed: maphash.MakeSeed(), moved: make(map[firn.EntryID]firn.EntryID), replaced: make(map[firn.EntryID]bool), rest: "\n", ends: "\n"}
	if err := in.readSession(); err != nil {
		return 0, err
	}
	for e, err := range Entries(src, report) {
		if err == nil {
			err = in.take(e)
		}
		if err != nil {
			return in.added, fmt.Errorf("import session %s: %w", id, err)
		}
	}
	if err := in.end(report.BytesRead); err != nil {
		return in.added, fmt.Errorf("import session %s: %w", id, err)
	}
	return in.added, nil
}

// Differs reports that a session has an entry of the source with different content, or
// lacks one that precedes others it has: the transcript is another one, or was imported by
// a version of firn that combined entries differently.
type Differs struct {
	Session firn.ID
	Entry   firn.EntryID
	// Missing is set if the session lacks the entry but has later ones.
	Missing bool
	// Added is the number of entries added before the difference was found.
	Added int64
}

// Error implements error.
func (d *Differs) Error() string {
	if d.Missing {
		return fmt.Sprintf("session %s is there already, and entry %s of the transcript is missing in the middle of it", d.Session, d.Entry)
	}
	return fmt.Sprintf("session %s already exists, and entry %s differs from the transcript", d.Session, d.Entry)
}

// Unwrap returns ErrConflict.
func (d *Differs) Unwrap() error { return firn.ErrConflict }

// intake is the state of an import into a session.
type intake struct {
	ctx context.Context
	st  store.Store
	id  firn.ID
	// tool is the tool that wrote the transcript.
	tool dialect.Name
	has  map[firn.EntryID]known
	seed maphash.Seed
	// known is set if the session existed, met once an entry of the source was found in it.
	known, met bool
	// hasContent is set if the session has any content. header are the lines of the tool that
	// its header carries, and begun is set if those of the source are the same.
	hasContent bool
	header     [][]byte
	begun      bool
	// unsettled are the entries that were imported before the transcript was complete and
	// have not been replaced, in order; size is the size of the transcript at that time.
	unsettled []firn.EntryID
	size      int64
	// replaced are those that were replaced.
	replaced map[firn.EntryID]bool
	// last is the last settled entry of the tool in the session.
	last firn.EntryID
	// first is the first settled entry that was added.
	first firn.EntryID
	// moved maps unsettled entries to their replacements.
	moved map[firn.EntryID]firn.EntryID
	// late are entries that can only be added at the end.
	late []firn.Entry
	// open are entries that later lines of the transcript may change.
	open []firn.Entry
	// rest holds the final bytes of the transcript according to the session, ends the
	// current ones; see [dialect.Marks]. time is that of its last entry.
	rest, ends string
	time       time.Time
	batch      []firn.Entry
	room       int
	added      int64
}

// known is the state of an entry in the session.
type known struct {
	// words is a digest of the content of a message: 0 for other entries and for an empty
	// message.
	words uint64
	// content is a digest of a whole unsettled entry.
	content uint64
	open    bool
	// met is set once the entry was found in the source, followed if an entry of firn's
	// follows it.
	met, followed bool
}

// readSession reads the entries of the session, if it exists.
func (in *intake) readSession() error {
	for record, err := range in.st.Read(in.ctx, in.id, store.Start) {
		if errors.Is(err, firn.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if in.has == nil {
			in.has = make(map[firn.EntryID]known)
		}
		in.has[record.Glance.ID] = known{} // a header has no ID, so this records that there is one
		if record.Gap != nil {
			continue
		}
		e, err := record.Entry()
		if err != nil {
			continue // damaged: not compared
		}
		in.observeEntry(e)
	}
	_, header := in.has[""]
	in.known = len(in.has) > 0
	in.met = header && !in.hasContent // a session without content was interrupted there, so it is the same one
	return nil
}

// observeEntry records an entry of the session.
func (in *intake) observeEntry(e firn.Entry) {
	tool, marks := dialect.CarriedBy(e)
	in.ending(e)
	if e.ID == "" {
		_, lines := dialect.Carried(e)
		for _, line := range lines {
			in.header = append(in.header, bytes.Clone(line))
		}
		return
	}
	if IsReimportTombstone(e) {
		target := e.Body.(*firn.Tombstone).Target
		in.replaced[target] = true
		in.unsettled = slices.DeleteFunc(in.unsettled, func(id firn.EntryID) bool { return id == target })
		return
	}
	k := known{words: in.words(e)}
	in.hasContent = in.hasContent || !isEnd(e) && !isCounters(e)
	switch {
	case tool != in.tool || in.tool == dialect.Native:
		if up, ok := in.has[e.Parent]; ok && e.Body.Kind() == firn.KindMessage {
			up.followed = true
			in.has[e.Parent] = up
		}
	case marks.Open > 0:
		k.open, k.content = true, contentOf(e)
		in.unsettled = append(in.unsettled, e.ID)
		in.size = max(in.size, marks.Open)
	case !isEnd(e):
		in.last = e.ID
	}
	in.has[e.ID] = k
}

// isCounters reports whether an entry holds firn's counters, which follow every import.
func isCounters(e firn.Entry) bool {
	c, ok := e.Body.(*firn.Custom)
	return ok && c.Type == firn.CountersType
}

// words returns a digest of a message's content as the store holds it.
func (in *intake) words(e firn.Entry) uint64 {
	m, ok := e.Body.(*firn.Message)
	if !ok {
		return 0
	}
	text, _ := firn.CleanText(m.Text())
	if text == "" {
		return 0
	}
	return maphash.String(in.seed, text) | 1
}

// take processes an entry of the source and adds it if it is missing.
func (in *intake) take(e firn.Entry) error {
	_, marks := dialect.CarriedBy(e)
	in.ends, in.time = restOf(marks), e.Time
	if h, ok := e.Body.(*firn.Header); ok {
		if in.known {
			_, lines := dialect.Carried(e)
			in.begun = len(lines) > 0 && slices.EqualFunc(lines, in.header, bytes.Equal)
			return nil
		}
		ours := *h
		ours.Session, ours.Version, ours.Firn = in.id, 3, 1
		e.Body = &ours
		return in.add(e)
	}
	in.follow(&e)
	if in.postpone(e) {
		return nil
	}
	had, ok := in.has[e.ID]
	if ok {
		in.met = true
	}
	if in.known && !in.met && !in.begun {
		return fmt.Errorf("%w: there is another session of that name", firn.ErrConflict)
	}
	switch {
	case ok && !had.open:
		in.markFound(e.ID)
		if now := in.words(e); had.words != 0 && now != 0 && had.words != now {
			return &Differs{Session: in.id, Entry: e.ID, Added: in.added}
		}
		if in.known && in.first != "" {
			return &Differs{Session: in.id, Entry: in.first, Added: in.added, Missing: true}
		}
		return nil
	case marks.Open > 0 && in.tool != dialect.Native:
		in.open = append(in.open, e) // only the end of the source shows which transcript is longer
		return nil
	}
	return in.addFinal(e)
}

// postpone reports whether an entry is a title from a separate file that was set since the
// last import. It precedes all other entries, where none can be added, so it is added at
// the end.
func (in *intake) postpone(e firn.Entry) bool {
	_, there := in.has[e.ID]
	if e.Body.Kind() != firn.KindTitle || !in.known || in.met || there || dialect.CarriesLines(e) {
		return false
	}
	in.moved[e.ID] = firn.Root
	e.Parent = ""
	in.late = append(in.late, e)
	return true
}

// markFound records that the source has an entry of the session unchanged.
func (in *intake) markFound(id firn.EntryID) {
	k := in.has[id]
	k.met = true
	in.has[id] = k
}

// addFinal adds an entry, under another ID if the session has a different version of it or
// hid it because of that.
func (in *intake) addFinal(e firn.Entry) error {
	had, ok := in.has[e.ID]
	if !ok {
		in.first = cmp.Or(in.first, e.ID)
		return in.add(e)
	}
	first, content := e.ID, contentOf(e)
	if had.content == content && !in.replaced[first] {
		in.markFound(first)
		return nil
	}
	for n := uint64(0); ; n++ {
		e.ID = againID(first, content+n)
		_, there := in.has[e.ID]
		if there && in.replaced[e.ID] {
			continue // this version was replaced by another one since
		}
		in.moved[first] = e.ID
		if there {
			in.markFound(e.ID)
			return nil
		}
		return in.add(e)
	}
}

// follow replaces references to moved entries.
func (in *intake) follow(e *firn.Entry) {
	if len(in.moved) > 0 {
		rename(e, in.moved)
	}
}

// add adds an entry to the batch.
func (in *intake) add(e firn.Entry) error {
	in.ending(e)
	in.batch = append(in.batch, e)
	if in.room += sizeOf(e); len(in.batch) >= batchEntries || in.room >= batchBytes {
		return in.flush()
	}
	return nil
}

// sizeOf returns the approximate size of an entry in bytes.
func sizeOf(e firn.Entry) int {
	n := 256
	for _, f := range e.Extra {
		n += len(f.Value)
	}
	switch b := e.Body.(type) {
	case *firn.Custom:
		n += len(b.Data)
	case *firn.Message:
		n += len(b.Text())
	}
	return n
}

// end adds the entries that later lines may change, and hides the entries of an earlier
// import that have changed. A copy of the transcript that is shorter than the imported one
// changes nothing.
func (in *intake) end(size int64) error {
	if size < in.size || in.last != "" && !in.has[in.last].met {
		return in.flush()
	}
	for _, e := range in.open {
		in.follow(&e)
		if err := in.addFinal(e); err != nil {
			return err
		}
	}
	for _, id := range in.unsettled {
		if k := in.has[id]; k.met || k.followed {
			continue
		}
		if err := in.add(reimportTombstone(id, in.time)); err != nil {
			return err
		}
	}
	for _, e := range in.late {
		if err := in.add(e); err != nil {
			return err
		}
	}
	if in.tool != dialect.Native && !strings.HasPrefix(in.rest, in.ends) {
		e := endEntry(in.tool, size, "", in.time)
		if _, ok := in.has[e.ID]; !ok {
			dialect.CarryMarked(&e, in.tool, nil, dialect.Marks{Rest: &in.ends})
			return errors.Join(in.add(e), in.flush())
		}
	}
	return in.flush()
}

// ending updates the final bytes of the transcript from an entry.
func (in *intake) ending(e firn.Entry) {
	tool, marks := dialect.CarriedBy(e)
	if tool == in.tool && (marks.Rest != nil || dialect.CarriesLines(e)) {
		in.rest = restOf(marks)
	}
}

// restOf returns the final bytes of a transcript.
func restOf(marks dialect.Marks) string {
	if marks.Rest == nil {
		return "\n"
	}
	return *marks.Rest
}

// flush appends the batch.
func (in *intake) flush() error {
	if len(in.batch) == 0 {
		return nil
	}
	if err := in.append(in.batch); err != nil {
		return err
	}
	in.added += int64(len(in.batch))
	in.batch, in.room = in.batch[:0], 0
	return nil
}

// append appends a batch. If the store rejects an entry of it, the entries are appended one
// by one, and the rejected one as its original line.
func (in *intake) append(batch []firn.Entry) error {
	_, err := in.st.Append(in.ctx, in.id, store.Any, batch...)
	if !errors.Is(err, firn.ErrInvalid) && !errors.Is(err, firn.ErrNotFound) {
		return err
	}
	for _, e := range batch {
		_, err := in.st.Append(in.ctx, in.id, store.Any, e)
		if errors.Is(err, firn.ErrInvalid) || errors.Is(err, firn.ErrNotFound) {
			_, err = in.st.Append(in.ctx, in.id, store.Any, asCarriedLine(e))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// asCarriedLine returns a substitute for an entry that cannot be stored: a child of the
// head that carries its lines.
func asCarriedLine(e firn.Entry) firn.Entry {
	tool, lines := dialect.Carried(e)
	_, marks := dialect.CarriedBy(e)
	kept := firn.Entry{ID: e.ID, Time: e.Time, Body: &firn.Custom{Type: dialect.LineType(tool, "unfit")}}
	dialect.CarryMarked(&kept, tool, lines, marks)
	return kept
}

// Stored returns a source that reads a session of a store. If the store is another tool's
// home, tool is that tool.
func Stored(ctx context.Context, st store.Store, id firn.ID, tool dialect.Name) Source {
	hiding := func() iter.Seq2[firn.Glance, error] {
		return func(yield func(firn.Glance, error) bool) {
			for record, err := range st.Read(ctx, id, store.Start) {
				if (err != nil || record.Glance.Kind == firn.KindTombstone) && !yield(record.Glance, err) {
					return
				}
			}
		}
	}
	return Source{Tool: tool, Hiding: hiding, Entries: func(r *Report) iter.Seq2[dialect.EntryLines, error] {
		return func(yield func(dialect.EntryLines, error) bool) {
			for record, err := range st.Read(ctx, id, store.Start) {
				if err != nil {
					yield(dialect.EntryLines{}, err)
					return
				}
				if record.Gap != nil {
					r.fault(record.Gap)
					continue
				}
				if !yieldRecord(record, r, yield) {
					return
				}
			}
		}
	}}
}

// yieldRecord yields a record of a store with its line.
func yieldRecord(record store.Record, r *Report, yield func(dialect.EntryLines, error) bool) bool {
	e, err := record.Entry()
	if err != nil {
		r.fault(&firn.Gap{Kind: firn.GapDamaged, At: record.At, Next: record.Next, Entry: record.Glance.ID, Detail: err.Error()})
		return true
	}
	item := dialect.EntryLines{Entry: e}
	if line := record.Line(); line != nil {
		if !utf8.Valid(line) {
			r.fault(&firn.Gap{Kind: firn.GapBadText, At: record.At, Next: record.Next, Entry: e.ID, Detail: "it contains bytes that are not valid text"})
		}
		item.Lines = [][]byte{line}
		r.Lines++
		r.BytesRead += int64(len(line)) + 1
	}
	return yield(item, nil)
}
