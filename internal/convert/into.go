package convert

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"unicode/utf8"

	"firn"
	"firn/dialect"
	"firn/store"
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
	in := &intake{ctx: ctx, st: st, id: id, tool: src.Tool, seed: maphash.MakeSeed()}
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
	if err := in.end(); err != nil {
		return in.added, fmt.Errorf("import session %s: %w", id, err)
	}
	return in.added, nil
}

// Differs says that a session has an entry of the source with other words.
type Differs struct {
	Session firn.ID
	Entry   firn.EntryID
	// Added is how many entries were added before it was found out.
	Added int64
}

// Error tells it in a sentence.
func (d *Differs) Error() string {
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
	// has tells the entries that are there, and a digest of the words of those
	// that are messages: 0 for all else, and for one that says nothing.
	has  map[firn.EntryID]uint64
	seed maphash.Seed
	// known is set if the session was there, met once something of the source
	// was found in it.
	known, met bool
	batch      []firn.Entry
	size       int
	added      int64
	// title is the title in force, behind is about how many bytes came since.
	title  firn.Title
	behind int64
}

// farTitle is about how far from the end a title may stand for a list to find
// it. Lists read the last 4 KB, and not all that an entry takes is counted here.
const farTitle = 1 << 10

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
			in.has = make(map[firn.EntryID]uint64)
		}
		in.has[record.Glance.ID] = 0 // a header has none, which marks that there is one
		in.behind += int64(record.Next - record.At)
		if k := record.Glance.Kind; record.Gap != nil || k != firn.KindMessage && k != firn.KindTitle {
			continue
		}
		e, err := record.Entry()
		if err != nil {
			continue // damaged: it is held against nothing
		}
		in.has[e.ID] = in.words(e)
		in.entitle(e)
	}
	_, header := in.has[""]
	in.known = len(in.has) > 0
	in.met = len(in.has) == 1 && header // one that has its header only is no other: it was interrupted there
	return nil
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

// entitle takes notice of a title.
func (in *intake) entitle(e firn.Entry) {
	if t, ok := e.Body.(*firn.Title); ok && t.Beats(in.title) {
		in.title, in.behind = *t, 0
	}
}

// take adds an entry that is not there.
func (in *intake) take(e firn.Entry) error {
	if h, ok := e.Body.(*firn.Header); ok {
		if in.known {
			return nil
		}
		ours := *h
		ours.Session, ours.Version, ours.Firn = in.id, 3, 1
		e.Body = &ours
	} else if had, ok := in.has[e.ID]; ok {
		in.met = true
		if now := in.words(e); had != 0 && now != 0 && had != now {
			return &Differs{Session: in.id, Entry: e.ID, Added: in.added}
		}
		return nil
	}
	if in.known && !in.met {
		return fmt.Errorf("%w: there is another session of that name", firn.ErrConflict)
	}
	in.batch = append(in.batch, e)
	bytes := sizeOf(e)
	in.behind += int64(bytes)
	in.entitle(e)
	if in.size += bytes; len(in.batch) >= batchEntries || in.size >= batchBytes {
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

// end appends the rest. A title that stands far from the end is said again, so
// that a list finds it.
func (in *intake) end() error {
	if in.title.Name != "" && in.behind > farTitle && in.added+int64(len(in.batch)) > 0 {
		again := firn.NewEntry(&firn.Title{Name: in.title.Name, Source: in.title.Source})
		dialect.Carry(&again, in.tool, nil) // the tool has said it
		in.batch = append(in.batch, again)
	}
	return in.flush()
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
	in.batch, in.size = in.batch[:0], 0
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
	kept := firn.Entry{ID: e.ID, Time: e.Time, Body: &firn.Custom{Type: dialect.LineType(tool, "unfit")}}
	dialect.Carry(&kept, tool, lines)
	return kept
}

// Stored is a source that reads a session of a store. If the store is another
// tool's home, tool is that tool.
func Stored(ctx context.Context, st store.Store, id firn.ID, tool dialect.Name) Source {
	return Source{Tool: tool, Told: func(r *Report) iter.Seq2[Told, error] {
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
