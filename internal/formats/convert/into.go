package convert

import (
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

// Bounds of what is appended at once.
const (
	batchEntries = 512
	batchBytes   = 4 << 20
)

// Into adds what a source tells to a session of a store: all of it if the
// session is new, else what the session does not have yet, so that a source
// that has grown, or an import that was interrupted, is gone on with. It
// returns how many entries it added.
//
// A session that has nothing of the source is another one, and one in which a
// message of the source has other words is a copy that was changed: both are an
// ErrConflict, the second of type *[Differs]. Nothing is added then, but for
// what came long before the message that differs.
func Into(ctx context.Context, st store.Store, id firn.ID, src Source, report *Report) (int64, error) {
	in := &intake{ctx: ctx, st: st, id: id, tool: src.Tool, seed: maphash.MakeSeed(), moved: make(map[firn.EntryID]firn.EntryID), replaced: make(map[firn.EntryID]bool), rest: "\n", ends: "\n"}
	if err := in.look(); err != nil {
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

// Differs says that a session has an entry of the source with other words, or has
// not one that stands before others which it has: the transcript is another one, or
// was imported by a version of firn that put entries together in another way.
type Differs struct {
	Session firn.ID
	Entry   firn.EntryID
	// Missing is set if the session does not have the entry, but what follows it.
	Missing bool
	// Added is how many entries were added before it was found out.
	Added int64
}

// Error tells it in a sentence.
func (d *Differs) Error() string {
	if d.Missing {
		return fmt.Sprintf("session %s is there already, and entry %s of the transcript is missing in the middle of it", d.Session, d.Entry)
	}
	return fmt.Sprintf("session %s is there already, and entry %s has other words in it than in the transcript", d.Session, d.Entry)
}

// Unwrap says of what kind it is.
func (d *Differs) Unwrap() error { return firn.ErrConflict }

// intake is a session that is being added to.
type intake struct {
	ctx context.Context
	st  store.Store
	id  firn.ID
	// tool is whose transcript it is.
	tool dialect.Name
	has  map[firn.EntryID]known
	seed maphash.Seed
	// known is set if the session was there, met once something of the source
	// was found in it.
	known, met bool
	// said is set if the session says anything.
	said bool
	// unsettled are the entries that were imported before the transcript was
	// complete and are not replaced, in order; size is how many bytes it had then.
	unsettled []firn.EntryID
	size      int64
	// replaced are those that were.
	replaced map[firn.EntryID]bool
	// last is the last settled entry of the tool that is there.
	last firn.EntryID
	// first is the first settled entry that was added.
	first firn.EntryID
	// moved tells which entry replaces one that was not settled.
	moved map[firn.EntryID]firn.EntryID
	// late are entries that can only be added at the end.
	late []firn.Entry
	// open are entries that the transcript may yet say otherwise.
	open []firn.Entry
	// rest is what the transcript ended with as the session has it, ends what it
	// ends with now; see [dialect.Marks]. Time is that of its last entry.
	rest, ends string
	time       time.Time
	batch      []firn.Entry
	room       int
	added      int64
}

// known is what is remembered of an entry that is there.
type known struct {
	// words is a digest of the words of a message: 0 for all else, and for one
	// that says nothing.
	words uint64
	// content is a digest of all that an unsettled entry says.
	content uint64
	open    bool
	// met is set once the source said it, and followed if an entry of ours
	// follows it.
	met, followed bool
}

// look takes notice of what the session has, if it is there.
func (in *intake) look() error {
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
		in.has[record.Glance.ID] = known{} // a header has none, which marks that there is one
		if record.Gap != nil {
			continue
		}
		e, err := record.Entry()
		if err != nil {
			continue // damaged: it is held against nothing
		}
		in.notice(e)
	}
	_, header := in.has[""]
	in.known = len(in.has) > 0
	in.met = header && !in.said // one that says nothing yet is no other: it was interrupted there
	return nil
}

// notice takes notice of an entry that is there.
func (in *intake) notice(e firn.Entry) {
	tool, marks := dialect.CarriedBy(e)
	in.ending(e)
	if e.ID == "" {
		return
	}
	if IsSettling(e) {
		target := e.Body.(*firn.Tombstone).Target
		in.replaced[target] = true
		in.unsettled = slices.DeleteFunc(in.unsettled, func(id firn.EntryID) bool { return id == target })
		return
	}
	k := known{words: in.words(e)}
	in.said = in.said || !isEnd(e)
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

// words is a digest of what a message says, as the store keeps it.
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

// take adds an entry that is not there.
func (in *intake) take(e firn.Entry) error {
	_, marks := dialect.CarriedBy(e)
	in.ends, in.time = restOf(marks), e.Time
	if h, ok := e.Body.(*firn.Header); ok {
		if in.known {
			return nil
		}
		ours := *h
		ours.Session, ours.Version, ours.Firn = in.id, 3, 1
		e.Body = &ours
		return in.add(e)
	}
	in.follow(&e)
	if in.postpones(e) {
		return nil
	}
	had, ok := in.has[e.ID]
	if ok {
		in.met = true
	}
	if in.known && !in.met {
		return fmt.Errorf("%w: there is another session of that name", firn.ErrConflict)
	}
	switch {
	case ok && !had.open:
		in.meet(e.ID)
		if now := in.words(e); had.words != 0 && now != 0 && had.words != now {
			return &Differs{Session: in.id, Entry: e.ID, Added: in.added}
		}
		if in.known && in.first != "" {
			return &Differs{Session: in.id, Entry: in.first, Added: in.added, Missing: true}
		}
		return nil
	case marks.Open > 0 && in.tool != dialect.Native:
		in.open = append(in.open, e) // whether the source is the longer one is known at its end
		return nil
	}
	return in.settle(e)
}

// postpones reports whether an entry is a title from beside the transcript that came
// since the last import: it stands before all else, where nothing can be added. It
// is added at the end.
func (in *intake) postpones(e firn.Entry) bool {
	_, there := in.has[e.ID]
	if e.Body.Kind() != firn.KindTitle || !in.known || in.met || there || dialect.CarriesLines(e) {
		return false
	}
	in.moved[e.ID] = firn.Root
	e.Parent = ""
	in.late = append(in.late, e)
	return true
}

// meet notes that the source says an entry as it is there.
func (in *intake) meet(id firn.EntryID) {
	k := in.has[id]
	k.met = true
	in.has[id] = k
}

// settle adds an entry, under another id if it is there otherwise than the
// transcript says it now, or was hidden because of that.
func (in *intake) settle(e firn.Entry) error {
	had, ok := in.has[e.ID]
	if !ok {
		in.first = cmp.Or(in.first, e.ID)
		return in.add(e)
	}
	first, content := e.ID, contentOf(e)
	if had.content == content && !in.replaced[first] {
		in.meet(first)
		return nil
	}
	for n := uint64(0); ; n++ {
		e.ID = againID(first, content+n)
		_, there := in.has[e.ID]
		if there && in.replaced[e.ID] {
			continue // it said this before, and something else since
		}
		in.moved[first] = e.ID
		if there {
			in.meet(e.ID)
			return nil
		}
		return in.add(e)
	}
}

// follow makes an entry name those that replaced others.
func (in *intake) follow(e *firn.Entry) {
	if len(in.moved) > 0 {
		rename(e, in.moved)
	}
}

// add appends an entry, with others.
func (in *intake) add(e firn.Entry) error {
	in.ending(e)
	in.batch = append(in.batch, e)
	if in.room += sizeOf(e); len(in.batch) >= batchEntries || in.room >= batchBytes {
		return in.flush()
	}
	return nil
}

// sizeOf is about how many bytes an entry takes.
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

// end adds the entries that the transcript may yet say otherwise, and hides
// those of an earlier import that it says otherwise now. A copy of the
// transcript that ends before what is there changes nothing.
func (in *intake) end(size int64) error {
	if size < in.size || in.last != "" && !in.has[in.last].met {
		return in.flush()
	}
	for _, e := range in.open {
		in.follow(&e)
		if err := in.settle(e); err != nil {
			return err
		}
	}
	for _, id := range in.unsettled {
		if k := in.has[id]; k.met || k.followed {
			continue
		}
		if err := in.add(settling(id, in.time)); err != nil {
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

// ending takes notice of what the transcript ends with according to an entry.
func (in *intake) ending(e firn.Entry) {
	tool, marks := dialect.CarriedBy(e)
	if tool == in.tool && (marks.Rest != nil || dialect.CarriesLines(e)) {
		in.rest = restOf(marks)
	}
}

// restOf is what a transcript ends with.
func restOf(marks dialect.Marks) string {
	if marks.Rest == nil {
		return "\n"
	}
	return *marks.Rest
}

// flush appends what was gathered.
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

// append adds a batch. If the store finds an entry in it that makes no sense to
// it, they are added one by one, and that one as the line it came from.
func (in *intake) append(batch []firn.Entry) error {
	_, err := in.st.Append(in.ctx, in.id, store.Any, batch...)
	if !errors.Is(err, firn.ErrInvalid) && !errors.Is(err, firn.ErrNotFound) {
		return err
	}
	for _, e := range batch {
		_, err := in.st.Append(in.ctx, in.id, store.Any, e)
		if errors.Is(err, firn.ErrInvalid) || errors.Is(err, firn.ErrNotFound) {
			_, err = in.st.Append(in.ctx, in.id, store.Any, plain(e))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plain is an entry that cannot be kept as it is, as what can be: its place
// after the head, and its lines.
func plain(e firn.Entry) firn.Entry {
	tool, lines := dialect.Carried(e)
	_, marks := dialect.CarriedBy(e)
	kept := firn.Entry{ID: e.ID, Time: e.Time, Body: &firn.Custom{Type: dialect.LineType(tool, "unfit")}}
	dialect.CarryMarked(&kept, tool, lines, marks)
	return kept
}

// Stored is a source that reads a session of a store. If the store is another
// tool's home, tool is that tool.
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
	return Source{Tool: tool, Hiding: hiding, Told: func(r *Report) iter.Seq2[Told, error] {
		return func(yield func(Told, error) bool) {
			for record, err := range st.Read(ctx, id, store.Start) {
				if err != nil {
					yield(Told{}, err)
					return
				}
				if record.Gap != nil {
					r.fault(record.Gap)
					continue
				}
				if !tellRecord(record, r, yield) {
					return
				}
			}
		}
	}}
}

// tellRecord tells a record of a store, with the line that it stands in.
func tellRecord(record store.Record, r *Report, yield func(Told, error) bool) bool {
	e, err := record.Entry()
	if err != nil {
		r.fault(&firn.Gap{Kind: firn.GapDamaged, At: record.At, Next: record.Next, Entry: record.Glance.ID, Detail: err.Error()})
		return true
	}
	told := Told{Entry: e}
	if line := record.Line(); line != nil {
		if !utf8.Valid(line) {
			r.fault(&firn.Gap{Kind: firn.GapBadText, At: record.At, Next: record.Next, Entry: e.ID, Detail: "it has bytes that are not text"})
		}
		told.Lines = [][]byte{line}
		r.Lines++
		r.BytesRead += int64(len(line)) + 1
	}
	return yield(told, nil)
}
