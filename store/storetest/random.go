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

// RunRandom does the same random things to a store and to one in memory and
// tests that both always tell the same: entries, order, errors. Positions
// differ from store to store, so they are compared by their rank.
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
		do := rapid.SampledFrom(w.deeds())
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
	// entries are the ids of what was appended to each session.
	entries map[firn.ID][]firn.EntryID
	// made counts the entries that were made, to give each its own id and time.
	made int
	// erased says that an entry was purged. The times of such are not compared.
	erased bool
	// doing is what is being done, for messages.
	doing string
}

// deed is something that can be done to both twins.
type deed struct {
	name string
	do   func(w *twins)
}

func (d deed) String() string { return d.name }

// deeds returns what the store can do; what is done often stands there often.
func (w *twins) deeds() []deed {
	all := slices.Repeat([]deed{{"append", (*twins).doAppend}}, 10)
	all = append(all, slices.Repeat([]deed{{"read", (*twins).doRead}}, 2)...)
	all = append(all, deed{"list", (*twins).doList}, deed{"reopen", (*twins).doReopen})
	if _, ok := store.As[store.Keyed](w.subject); ok {
		all = append(all, deed{"bind", (*twins).doBind}, deed{"lookup", (*twins).doLookup})
	}
	if _, ok := store.As[store.Claimer](w.subject); ok {
		all = append(all, deed{"claim", (*twins).doClaim})
	}
	if _, ok := store.As[store.Remover](w.subject); ok {
		all = append(all, deed{"archive", (*twins).doArchive}, deed{"remove", (*twins).doRemove},
			deed{"restore", (*twins).doRestore}, deed{"erase", (*twins).doErase}, deed{"purge", (*twins).doPurge})
	}
	if _, ok := store.As[store.Deferred](w.subject); ok {
		all = append(all, deed{"append deferred", (*twins).doAppendDeferred}, deed{"sync", (*twins).doSync})
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

// agree checks that both twins failed in the same way, and reports whether
// they did not fail.
func (w *twins) agree(subject, model error) bool {
	w.Helper()
	if a, b := sentinel(subject), sentinel(model); a != b {
		w.Fatalf("%s: the store failed with %v, the model with %v", w.doing, subject, model)
	}
	return model == nil
}

// sentinel returns which kind of failure an error is.
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

// expectation draws where an append may expect the end.
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

// ranks returns all positions of a session, in order, for both twins: the
// start and the end of each record. A session that is not there has the start.
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

// compareRead reads on and back from a position.
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
		if diff := Diff(model[i].Entry, subject[i].Entry); diff != "" {
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

// listed tells what of a list can be compared.
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
