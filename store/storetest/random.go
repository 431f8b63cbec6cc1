package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"

	"pgregory.net/rapid"
)

// RunRandom applies random operations to a store and to one in memory and checks that both
// always return the same entries, order and errors. Positions differ between stores, so
// they are compared by rank.
func RunRandom(t *testing.T, open func(t *testing.T) Opened) {
	steps := 24
	if testing.Short() {
		steps = 8
	}
	rapid.Check(t, func(rt *rapid.T) {
		o := open(t)
		w := &twins{T: rt, ctx: context.Background(), subject: o.Store, reopen: o.Reopen,
			model: memstore.New(memstore.Options{}), entries: make(map[firn.ID][]firn.EntryID)}
		defer func() {
			if err := w.subject.Close(); err != nil && !errors.Is(err, firn.ErrClosed) {
				rt.Errorf("closing the store: %v", err)
			}
		}()
		do := rapid.SampledFrom(w.operations())
		for range rapid.IntRange(1, steps).Draw(rt, "steps") {
			d := do.Draw(rt, "deed")
			w.doing = d.name
			d.do(w)
		}
		w.doing = "comparing in the end"
		w.compareAll()
	})
}

// twins are the store under test and its model.
type twins struct {
	*rapid.T
	ctx     context.Context
	subject store.Store
	reopen  func() store.Store
	model   *memstore.Store
	// entries are the IDs appended to each session.
	entries map[firn.ID][]firn.EntryID
	// made counts the created entries, to give each a distinct ID and time.
	made int
	// erased is set once an entry was purged. The times of such entries are not compared.
	erased bool
	// doing is the current operation, for messages.
	doing string
}

// operation is an operation applied to both twins.
type operation struct {
	name string
	do   func(w *twins)
}

func (d operation) String() string { return d.name }

// operations returns the operations that the store supports. Frequent ones are repeated.
func (w *twins) operations() []operation {
	all := slices.Repeat([]operation{{"append", (*twins).doAppend}}, 10)
	all = append(all, slices.Repeat([]operation{{"read", (*twins).doRead}}, 2)...)
	all = append(all, operation{"list", (*twins).doList}, operation{"reopen", (*twins).doReopen})
	if _, ok := store.As[store.Keyed](w.subject); ok {
		all = append(all, operation{"bind", (*twins).doBind}, operation{"lookup", (*twins).doLookup})
	}
	if _, ok := store.As[store.Claimer](w.subject); ok {
		all = append(all, operation{"claim", (*twins).doClaim})
	}
	if _, ok := store.As[store.Remover](w.subject); ok {
		all = append(all, operation{"archive", (*twins).doArchive}, operation{"remove", (*twins).doRemove},
			operation{"restore", (*twins).doRestore}, operation{"erase", (*twins).doErase}, operation{"purge", (*twins).doPurge})
	}
	if _, ok := store.As[store.Deferred](w.subject); ok {
		all = append(all, operation{"append deferred", (*twins).doAppendDeferred}, operation{"sync", (*twins).doSync})
	}
	return all
}

// capability returns a capability of both twins.
func capability[C any](w *twins) (subject, model C) {
	subject, _ = store.As[C](w.subject)
	model, _ = store.As[C](store.Store(w.model))
	return subject, model
}

var someSessions = rapid.SampledFrom([]firn.ID{"s1", "s2", "s3", "s4"})

func (w *twins) session() firn.ID { return someSessions.Draw(w.T, "session") }

// agree checks that both twins returned the same kind of error, and reports whether they
// succeeded.
func (w *twins) agree(subject, model error) bool {
	w.Helper()
	if a, b := sentinel(subject), sentinel(model); a != b {
		w.Fatalf("%s: the store failed with %v, the model with %v", w.doing, subject, model)
	}
	return model == nil
}

// sentinel returns the sentinel error that err wraps.
func sentinel(err error) error {
	for _, kind := range []error{firn.ErrNotFound, firn.ErrConflict, firn.ErrLocked, firn.ErrCorrupt, firn.ErrReplaced,
		firn.ErrNotSaved, firn.ErrTooLarge, firn.ErrUnsupported, firn.ErrInvalid, firn.ErrClosed} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return err
}

func (w *twins) doAppend() { w.appendWith(w.subject.Append, w.model.Append) }

func (w *twins) doAppendDeferred() {
	subject, model := capability[store.Deferred](w)
	w.appendWith(subject.AppendDeferred, model.AppendDeferred)
}

type appender func(context.Context, firn.ID, store.Pos, ...firn.Entry) (store.Pos, error)

func (w *twins) appendWith(subject, model appender) {
	id := w.session()
	batch := w.batch(id)
	subjectAt, modelAt := w.expectation(id)
	end, err := subject(w.ctx, id, subjectAt, batch...)
	modelEnd, modelErr := model(w.ctx, id, modelAt, batch...)
	if !w.agree(err, modelErr) {
		return
	}
	for _, e := range batch {
		if e.Body.Kind() != firn.KindHeader {
			w.entries[id] = append(w.entries[id], e.ID)
		}
	}
	subjectRanks, modelRanks := w.ranks(id)
	if subjectRanks[len(subjectRanks)-1] != end || modelRanks[len(modelRanks)-1] != modelEnd {
		w.Fatalf("%s: Append returned %d (model %d), the session ends at %d (model %d)", w.doing, end, modelEnd, subjectRanks[len(subjectRanks)-1], modelRanks[len(modelRanks)-1])
	}
}

// expectation draws an expected position for an append.
func (w *twins) expectation(id firn.ID) (subject, model store.Pos) {
	subjectRanks, modelRanks := w.ranks(id)
	rank := len(subjectRanks) - 1
	switch rapid.IntRange(0, 9).Draw(w.T, "expect") {
	case 0:
		rank = rapid.IntRange(0, rank).Draw(w.T, "rank")
	case 1, 2:
	case 3:
		return store.Start, store.Start
	default:
		return store.Any, store.Any
	}
	return subjectRanks[rank], modelRanks[rank]
}

// ranks returns all positions of a session, in order, for both twins: the start and the end
// of each record. A session that does not exist has only the start.
func (w *twins) ranks(id firn.ID) (subject, model []store.Pos) {
	w.Helper()
	a, errA := drain(w.subject.Read(w.ctx, id, store.Start))
	b, errB := drain(w.model.Read(w.ctx, id, store.Start))
	w.agree(errA, errB)
	if len(a) != len(b) {
		w.Fatalf("%s: session %s has %d records, the model %d", w.doing, id, len(a), len(b))
	}
	subject, model = []store.Pos{store.Start}, []store.Pos{store.Start}
	for i := range a {
		if a[i].At < subject[i] || a[i].Next <= a[i].At {
			w.Fatalf("%s: record %d of session %s stands from %d to %d, after one that ends at %d", w.doing, i, id, a[i].At, a[i].Next, subject[i])
		}
		subject, model = append(subject, a[i].Next), append(model, b[i].Next)
	}
	return subject, model
}

func (w *twins) doRead() {
	id := w.session()
	subject, model := w.ranks(id)
	rank := rapid.IntRange(0, len(subject)-1).Draw(w.T, "rank")
	w.compareRead(id, subject[rank], model[rank])
}

// compareRead reads forwards and backwards from a position.
func (w *twins) compareRead(id firn.ID, subject, model store.Pos) {
	w.Helper()
	on, err := drain(w.subject.Read(w.ctx, id, subject))
	modelOn, modelErr := drain(w.model.Read(w.ctx, id, model))
	w.agree(err, modelErr)
	w.compareRecords(id, on, modelOn)
	back, err := drain(w.subject.ReadBack(w.ctx, id, subject))
	modelBack, modelErr := drain(w.model.ReadBack(w.ctx, id, model))
	w.agree(err, modelErr)
	w.compareRecords(id, back, modelBack)
}

func (w *twins) compareRecords(id firn.ID, subject, model []stored) {
	w.Helper()
	if len(subject) != len(model) {
		w.Fatalf("%s: session %s yields %q, the model %q", w.doing, id, texts(subject), texts(model))
	}
	for i := range subject {
		if model[i].Body.Kind() == firn.KindHeader { // each has its own clock
			subject[i].Time = model[i].Time
		}
		if diff := diff(model[i].Entry, subject[i].Entry); diff != "" {
			w.Fatalf("%s: entry %d of session %s (-model +store):\n%s", w.doing, i, id, diff)
		}
	}
}

func (w *twins) doReopen() {
	w.subject = w.reopen()
	w.compareAll()
}

func (w *twins) compareAll() {
	w.Helper()
	for id := range w.entries {
		w.compareRead(id, store.Start, store.Start)
		w.compareRead(id, store.End, store.End)
	}
	for i := range 4 {
		w.compareList(store.Query{Archived: i&1 > 0, Hidden: i&2 > 0})
	}
}

func (w *twins) doList() {
	q := store.Query{Archived: rapid.Bool().Draw(w.T, "archived"), Hidden: rapid.Bool().Draw(w.T, "hidden"),
		Agent: rapid.SampledFrom([]string{"", "", "main", "ops"}).Draw(w.T, "agent")}
	if !w.erased {
		q.Limit = rapid.IntRange(0, 3).Draw(w.T, "limit")
	}
	w.compareList(q)
}

func (w *twins) compareList(q store.Query) {
	w.Helper()
	subject, err := drainList(w.subject.List(w.ctx, q))
	model, modelErr := drainList(w.model.List(w.ctx, q))
	w.agree(err, modelErr)
	if a, b := w.listed(subject), w.listed(model); !slices.Equal(a, b) {
		w.Fatalf("%s: %+v lists\n%q, the model\n%q", w.doing, q, a, b)
	}
}

// listed returns the comparable fields of a list.
func (w *twins) listed(infos []store.Info) []string {
	var lines []string
	for _, i := range infos {
		line := fmt.Sprintf("%s %s %q title %q prompt %q", i.ID, i.Agent, i.CWD, i.Title, i.Prompt)
		if !w.erased {
			line += i.Updated.Format(" 15:04:05.000")
		}
		lines = append(lines, line)
	}
	if w.erased {
		slices.Sort(lines)
	}
	return lines
}
