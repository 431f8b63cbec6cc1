package fulltext

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/find/mask"
	"firn.dev/internal/find/search"
)

// Embedder returns vectors of texts, such that texts with similar meanings have similar
// vectors. It must be safe for concurrent use.
type Embedder interface {
	// Ready returns why the embedder cannot be used now, such as a missing file; nil if it
	// can. Until then, Name may be incomplete; afterwards it stays the same.
	Ready() error
	// Name identifies the model. Vectors of different models are not compared.
	Name() string
	// Batch is the maximum number of texts of a call.
	Batch() int
	// Embed returns a vector for each text. It fails with ErrRejected if another text may
	// succeed.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// ErrRejected is the error of an Embedder for texts that it does not accept, such as too long
// ones.
var ErrRejected = errors.New("the text is rejected")

// Limits of embedding.
const (
	// maxEmbedded is the maximum length of an embedded text in bytes.
	maxEmbedded = 4000
	// embedRetry is the pause after an error. Searches do not call the embedder in it.
	embedRetry = 30 * time.Second
	// embedPatience is how long a search waits for the vector of its query.
	embedPatience = 2 * time.Second
)

// embedding is the state of the vectors of an index.
type embedding struct {
	x       *Index
	mu      sync.Mutex
	started bool
	state   search.VectorState
	// failed is the time of the last error; zero if the last call succeeded.
	failed time.Time
	// query and vector are those of the last question.
	query  string
	vector []float32
}

// vectorState returns the progress of the vectors; nil without an embedder.
func (e *embedding) vectorState() *search.VectorState {
	if e.x.opts.Embedder == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.state
	s.Model = e.x.opts.Embedder.Name()
	return &s
}

// start starts filling the vectors in the background, once. Without an embedder it
// removes those of an earlier one.
func (e *embedding) start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := &e.x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	if !e.started && !w.closed {
		e.started = true
		w.ended.Go(e.run)
	}
}

// run fills the vectors whenever the index has changed.
func (e *embedding) run() {
	w := &e.x.work
	for {
		w.mu.Lock()
		news := w.news
		w.mu.Unlock()
		err := e.fill(w.ctx)
		if w.ctx.Err() != nil || e.x.opts.Embedder == nil && err == nil {
			return
		}
		if err != nil {
			e.noteError(err)
			news = nil
		}
		retry := time.NewTimer(embedRetry)
		select {
		case <-w.ctx.Done():
			retry.Stop()
			return
		case <-news:
			retry.Stop()
		case <-retry.C:
		}
	}
}

// noteError records an error, and reports it unless the previous call failed as well.
func (e *embedding) noteError(err error) {
	e.mu.Lock()
	first := e.failed.IsZero()
	e.failed, e.state.Failed = e.x.opts.Clock(), err.Error()
	e.mu.Unlock()
	if first {
		e.x.report("messages with similar meanings are not searched: %v", err)
	}
}

func (e *embedding) noteSuccess() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed, e.state.Failed = time.Time{}, ""
}

// fill embeds the queued rows, the newest first, until none is left.
func (e *embedding) fill(ctx context.Context) error {
	if e.x.opts.Embedder == nil {
		return e.remove(ctx)
	}
	if err := e.x.opts.Embedder.Ready(); err != nil { // the vectors are kept
		return err
	}
	if err := e.dropEmbedded(ctx); err != nil {
		return err
	}
	for {
		batch, err := e.nextBatch(ctx)
		if err != nil || len(batch.rows)+len(batch.none) == 0 {
			return err
		}
		if len(batch.texts) > 0 { // the index is not in use during the call
			if err = e.embedBatch(ctx, &batch); err != nil {
				return err
			}
		}
		if err := e.keepBatch(ctx, batch); err != nil {
			return err
		}
	}
}

// dropEmbedded removes the rows from the queue that need no embedding.
func (e *embedding) dropEmbedded(ctx context.Context) error {
	db, done, err := e.setUp(ctx)
	if err != nil || db == nil {
		return err
	}
	defer done()
	f := newFinder(db, search.Query{}, e.x.opts.Clock(), 0)
	for after := int64(math.MinInt64); ; {
		ids, err := f.rowIDs(ctx, settledAfter, after)
		if err != nil || len(ids) == 0 {
			return errors.Join(err, e.count(ctx, db))
		}
		if _, err := db.dropEmbedded(ctx, ids); err != nil {
			return err
		}
		after = ids[len(ids)-1]
	}
}

// setUp returns the index with tables for vectors of the embedder; nil if it can only be
// read. The caller calls done.
func (e *embedding) setUp(ctx context.Context) (db *database, done func(), err error) {
	if db, done, err = e.x.use(ctx); err != nil {
		return nil, nil, err
	}
	name := e.x.opts.Embedder.Name()
	if db.why == nil && !db.hasVectors(ctx, name) {
		db.signs.forget()
		err = db.setUpVectors(ctx, name)
	}
	if db.why != nil || err != nil {
		done()
		return nil, nil, err
	}
	return db, done, nil
}

// embedBatch embeds the texts of a batch. Texts that the embedder rejects have no vector, as
// long as it accepts another text.
func (e *embedding) embedBatch(ctx context.Context, b *batch) error {
	vectors, err := e.embed(ctx, b.texts, b.size)
	if errors.Is(err, ErrRejected) {
		if _, failed := e.embed(ctx, []string{acceptable}, b.size); failed != nil {
			return err
		}
		vectors, err = e.embedParts(ctx, b.texts, b.size)
	}
	for i, v := range vectors {
		b.rows[i].v = v
	}
	return err
}

// acceptable is a text that every embedder accepts.
const acceptable = "hello"

// embedParts embeds rejected texts in two parts, down to single texts. The vector of a text
// that is rejected alone is nil.
func (e *embedding) embedParts(ctx context.Context, texts []string, size int) ([][]float32, error) {
	if len(texts) == 1 {
		return [][]float32{nil}, nil
	}
	var all [][]float32
	for _, part := range [][]string{texts[:len(texts)/2], texts[len(texts)/2:]} {
		vectors, err := e.embed(ctx, part, size)
		if errors.Is(err, ErrRejected) {
			vectors, err = e.embedParts(ctx, part, size)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, vectors...)
	}
	return all, nil
}

// remove removes the vectors of an earlier embedder.
func (e *embedding) remove(ctx context.Context) error {
	if !e.x.Exists() {
		return nil
	}
	db, done, err := e.x.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	var n int
	if err := db.read.QueryRowContext(ctx, "select count(*) from sqlite_master where name = 'embedder'").Scan(&n); err != nil || n == 0 || db.why != nil {
		return err
	}
	db.signs.forget()
	if _, err := db.write.ExecContext(ctx, dropVectors); err != nil {
		return err
	}
	return db.scrub(ctx)
}

// embed calls the embedder and checks what it returns. size is the number of components of
// earlier vectors, 0 if there is none.
func (e *embedding) embed(ctx context.Context, texts []string, size int) ([][]float32, error) {
	name := e.x.opts.Embedder.Name()
	vectors, err := e.x.opts.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("%s returned %d vectors for %d texts", name, len(vectors), len(texts))
	}
	for _, v := range vectors {
		if len(v) == 0 || size > 0 && len(v) != size {
			return nil, fmt.Errorf("%w: %s returned a vector of %d components, and %d before", ErrRejected, name, len(v), size)
		}
		if len(v) != len(vectors[0]) || len(v) > maxComponents {
			return nil, fmt.Errorf("%s returned vectors of %d and %d components", name, len(vectors[0]), len(v))
		}
		for _, c := range v {
			if math.IsNaN(float64(c)) || math.IsInf(float64(c), 0) {
				return nil, fmt.Errorf("%w: %s returned a vector with a component that is not a number", ErrRejected, name)
			}
		}
	}
	e.noteSuccess()
	return vectors, nil
}

// maxComponents is the maximum number of components of a vector.
const maxComponents = 16 << 10

// batch is a number of queued rows: those to embed, with their texts, and those that are not.
type batch struct {
	db    *database
	rows  []vector
	texts []string
	none  []vector
	// size is the number of components of earlier vectors, 0 if there is none.
	size int
}

// nextBatch reads the next queued rows and their texts.
func (e *embedding) nextBatch(ctx context.Context) (b batch, err error) {
	db, done, err := e.setUp(ctx)
	if err != nil || db == nil {
		return b, err
	}
	defer done()
	b.db = db
	f := newFinder(db, search.Query{}, e.x.opts.Clock(), 0)
	var rows []*found
	for len(rows) == 0 {
		queued, err := f.rowIDs(ctx, firstUnembedded, max(1, e.x.opts.Embedder.Batch()))
		if err != nil || len(queued) == 0 {
			return b, errors.Join(err, e.count(ctx, db))
		}
		embedded, err := f.rowIDs(ctx, settledAmong, list(queued))
		if err != nil {
			return b, err
		}
		if n, err := db.dropEmbedded(ctx, embedded); err != nil {
			return b, err
		} else if n > 0 {
			continue
		}
		if err := f.rows(ctx, "select "+docColumns+" from json_each(?) j join docs on docs.id = j.value", []any{list(queued)}, func(d *found) { rows = append(rows, d) }); err != nil {
			return b, err
		}
	}
	if err := db.read.QueryRowContext(ctx, "select size from embedder").Scan(&b.size); err != nil {
		return b, err
	}
	t := &hitBuilder{x: e.x, f: f, rows: make(map[int64]*row), fates: make(map[int64]*fate)}
	return b, t.addTexts(ctx, &b, rows)
}

// addTexts adds the texts of rows to a batch: without those that are hidden, and with
// secrets masked.
func (t *hitBuilder) addTexts(ctx context.Context, b *batch, rows []*found) error {
	for len(rows) > 0 {
		session := rows[0].session
		of := func(d *found) bool { return d.session == session }
		r, err := t.row(ctx, session)
		if err != nil {
			return err
		}
		all := slices.DeleteFunc(slices.Clone(rows), func(d *found) bool { return !of(d) })
		rows = slices.DeleteFunc(rows, of)
		some := slices.DeleteFunc(slices.Clone(all), func(d *found) bool { return r == nil || t.fate(r).hides(d.n) })
		texts, err := t.textsOf(ctx, r, some)
		if err != nil {
			return err
		}
		for _, d := range all {
			one := vector{id: d.id, sum: sumOf(d.t)}
			if one.none = texts[d.id] == ""; one.none {
				b.none = append(b.none, one)
				continue
			}
			b.rows, b.texts = append(b.rows, one), append(b.texts, texts[d.id])
		}
	}
	return nil
}

// textsOf returns the texts to embed of rows of a session, by their ids. Secrets are masked
// before texts are cut, since half a secret may not look like one.
func (t *hitBuilder) textsOf(ctx context.Context, r *row, some []*found) (map[int64]string, error) {
	if len(some) == 0 {
		return nil, nil
	}
	texts, err := t.texts(ctx, r, some)
	if err != nil {
		return nil, err
	}
	all := make(map[int64]string)
	for _, d := range some {
		all[d.id] = strings.TrimSpace(firn.CutText(mask.Text(texts[placeOf(d)].text), maxEmbedded))
	}
	return all, nil
}

// keepBatch writes the vectors of a batch, unless the index was replaced meanwhile.
func (e *embedding) keepBatch(ctx context.Context, b batch) error {
	db, done, err := e.x.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	if db != b.db {
		return nil
	}
	if err := db.writeVectors(ctx, e.x.opts.Embedder.Name(), slices.Concat(b.rows, b.none)); err != nil {
		return err
	}
	if e.progress(len(b.rows)) {
		return nil
	}
	return e.count(ctx, db)
}

// progress adds n vectors to the progress, without counting all of them. It reports whether
// the progress is plausible; if not, rows were added meanwhile.
func (e *embedding) progress(n int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state.Done+n >= e.state.Total {
		return false
	}
	e.state.Done += n
	return true
}

// count updates the progress.
func (e *embedding) count(ctx context.Context, db *database) error {
	var done, left int
	if err := db.read.QueryRowContext(ctx, "select (select count(*) from signs), (select count(*) from unembedded)").Scan(&done, &left); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state.Done, e.state.Total = done, done+left
	return nil
}

// queryVector returns the vector of a question, or nil without an embedder, without vectors
// and after an error.
func (e *embedding) queryVector(ctx context.Context, db *database, q search.Query) []float32 {
	if e.x.opts.Embedder == nil || q.Want == nil || !q.Want.IsQuestion() {
		return nil
	}
	if err := e.x.opts.Embedder.Ready(); err != nil {
		e.noteError(err)
		return nil
	}
	if !db.hasVectors(ctx, e.x.opts.Embedder.Name()) {
		return nil
	}
	words := make([]string, len(q.Want.Kids))
	for i, kid := range q.Want.Kids {
		words[i] = kid.Term.Text
	}
	text := mask.Text(strings.Join(words, " "))
	e.mu.Lock()
	known, vector, failed := e.query == text, e.vector, e.failed
	e.mu.Unlock()
	if known {
		return vector
	}
	if !failed.IsZero() && e.x.opts.Clock().Sub(failed) < embedRetry {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, embedPatience)
	defer cancel()
	vectors, err := e.embed(limited, []string{text}, 0)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, ErrRejected) { // neither a canceled search nor a rejected query
			e.noteError(err)
		}
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.query, e.vector = text, vectors[0]
	return vectors[0]
}

// The number of rows whose vectors are compared with that of a question, and of those that
// are ranked.
const (
	mostCompared = 500
	mostSimilar  = 60
)

// matchAmong finds rows among given ones.
const matchAmong = "select rowid from fts0 where fts0 match ? and rowid in (select value from json_each(?))"

// withSimilar adds the rows with the most similar vectors to the pool. Each has a similarity
// that depends on its rank, since the cosines of models are not comparable.
func (f *finder) withSimilar(ctx context.Context, pool []*found, filters []string) ([]*found, error) {
	if f.vector == nil {
		return pool, nil
	}
	near, err := f.db.nearest(ctx, f.vector, mostCompared)
	if err != nil {
		return pool, nil // search continues without vectors
	}
	near = slices.DeleteFunc(near, func(s similarRow) bool {
		return s.id < f.low || s.id > f.high || s.similarity < leastOfBest*near[0].similarity
	})
	if no := f.excepted(); len(filters)+len(no) > 0 {
		if len(filters) == 0 {
			filters = []string{facetExpr(everyRole())}
		}
		ids := make([]int64, len(near))
		for i, s := range near {
			ids[i] = s.id
		}
		may, err := f.rowIDs(ctx, matchAmong, without(join(filters, "AND"), no), list(ids))
		if err != nil {
			return nil, err
		}
		near = slices.DeleteFunc(near, func(s similarRow) bool { return !slices.Contains(may, s.id) })
	}
	byID := make(map[int64]*found, len(pool))
	for _, c := range pool {
		byID[c.id] = c
	}
	f.similar = make(map[int64]similarRow)
	for rank, s := range near[:min(len(near), mostSimilar)] {
		s.similarity = 1 / (1 + float64(rank)/similarHalf)
		f.similar[s.id] = s
		c := byID[s.id]
		if c == nil {
			c = &found{doc: doc{id: s.id}}
			pool = append(pool, c)
		}
		c.hint += similarHint
	}
	return pool, nil
}

const (
	// leastOfBest is the share of the best similarity that others must have.
	leastOfBest = 0.5
	// similarHalf is the rank at which the similarity is a half.
	similarHalf = 5
	// similarHint makes sure that similar rows are ranked.
	similarHint = 100
)

// similarityOf returns the similarity of a row, unless its text has changed.
func (f *finder) similarityOf(c *found) float64 {
	s, ok := f.similar[c.id]
	if !ok || s.sum != sumOf(c.t) {
		return 0
	}
	return s.similarity
}
