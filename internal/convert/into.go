package convert

import (
	"context"
	"errors"
	"fmt"
	"iter"

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
// A session that has nothing of the source is another one: that is an
// ErrConflict, and nothing is added.
func Into(ctx context.Context, st store.Store, id firn.ID, src Source, report *Report) (int64, error) {
	has, err := idsOf(ctx, st, id)
	if err != nil {
		return 0, err
	}
	in := &intake{ctx: ctx, st: st, id: id, tool: src.Tool, has: has, known: len(has) > 0}
	in.met = len(has) == 1 && has[""] // one that has its header only is no other: it was interrupted there
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

// idsOf returns the ids of a session's entries; nil if there is no session.
func idsOf(ctx context.Context, st store.Store, id firn.ID) (map[firn.EntryID]bool, error) {
	var has map[firn.EntryID]bool
	for record, err := range st.Read(ctx, id, store.Start) {
		if errors.Is(err, firn.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if has == nil {
			has = make(map[firn.EntryID]bool)
		}
		has[record.Glance.ID] = true // a header has none, which marks that there is one
	}
	return has, nil
}

// intake is a session that is being added to.
type intake struct {
	ctx context.Context
	st  store.Store
	id  firn.ID
	// tool is whose transcript it is.
	tool dialect.Name
	has  map[firn.EntryID]bool
	// known is set if the session was there, met once something of the source
	// was found in it.
	known, met bool
	batch      []firn.Entry
	size       int
	added      int64
	// title is the last title that was added, behind is about how many bytes
	// were since.
	title  *firn.Title
	behind int
}

// farTitle is how far from the end a title may stand for a list to find it.
const farTitle = 32 << 10

// take adds an entry that is not there.
func (in *intake) take(e firn.Entry) error {
	if h, ok := e.Body.(*firn.Header); ok {
		if in.known {
			return nil
		}
		ours := *h
		ours.Session, ours.Version, ours.Firn = in.id, 3, 1
		e.Body = &ours
	} else if in.has[e.ID] {
		in.met = true
		return nil
	}
	if in.known && !in.met {
		return fmt.Errorf("%w: there is another session of that name", firn.ErrConflict)
	}
	in.batch = append(in.batch, e)
	bytes := sizeOf(e)
	if t, ok := e.Body.(*firn.Title); ok {
		in.title, in.behind = t, 0
	}
	in.behind += bytes
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
	if in.title != nil && in.behind > farTitle {
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
		r.fault(&firn.Gap{Kind: firn.GapDamaged, At: record.At, Next: record.Next, Detail: err.Error()})
		return true
	}
	told := Told{Entry: e}
	if line := record.Line(); line != nil {
		told.Lines = [][]byte{line}
		r.Lines++
		r.BytesRead += int64(len(line)) + 1
	}
	return yield(told, nil)
}
