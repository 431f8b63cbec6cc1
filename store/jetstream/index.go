package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// index is the table that lists are made of: a row for each session, in a bucket
// that all gateways share, and a mark for each shard up to which message the
// rows tell all. Nobody writes it when something is appended: whoever lists brings
// it up to date first, from the messages behind the mark. If it is lost it is
// made again from the first message on.
type index struct {
	st     *Store
	bucket bucket
	// turn is held by who uses what follows.
	turn chan struct{}
	// rows and marks are the bucket as far as it was read.
	rows  map[firn.ID]kept
	marks map[int]kept
	next  uint64
	news  news
	// mu guards the rows against each other's makers: who has the turn lets several
	// work.
	mu sync.Mutex
}

// row is what the index keeps of a session as of a message: it tells the same
// whoever makes it. The row of a shard has nothing but the sequence.
type row struct {
	// Version is rowVersion; a row of another one is made again.
	Version int    `json:"v"`
	Seq     uint64 `json:"seq"`
	// Gone says that the session is in the bin or was purged.
	Gone bool `json:"gone,omitempty"`
	// Modified is when its lines last changed.
	Modified time.Time  `json:"modified,omitzero"`
	Info     store.Info `json:"info,omitzero"`
}

// rowVersion grows when rows say other things of the same sessions.
const rowVersion = 2

// parseRow reads a row; one that is not ours, or of another version, is empty.
func parseRow(value []byte) row {
	var r row
	if value == nil || json.Unmarshal(value, &r) != nil || r.Version != rowVersion {
		return row{}
	}
	return r
}

// kept is a value of the bucket and its revision.
type kept struct {
	row      row
	revision uint64
}

func newIndex(st *Store) *index {
	return &index{st: st, bucket: bucket{st.engine, st.names.index()}, turn: make(chan struct{}, 1),
		rows: make(map[firn.ID]kept), marks: make(map[int]kept), next: 1, news: newNews()}
}

// refresh brings the rows of a shard up to date.
func (x *index) refresh(ctx context.Context, shard int) error {
	return x.with(ctx, func() error {
		if err := x.read(ctx); err != nil {
			return err
		}
		return x.catchUp(ctx, shard)
	})
}

// with does something while nobody else uses the index.
func (x *index) with(ctx context.Context, do func() error) error {
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.turn }()
	return do()
}

// read takes over what others have written.
func (x *index) read(ctx context.Context) error {
	next, err := x.bucket.all(ctx, x.next, func(name string, value []byte, revision uint64) error {
		x.keep(name, kept{parseRow(value), revision})
		return nil
	})
	x.next = max(x.next, next)
	return err
}

func (x *index) keep(name string, k kept) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if token, ok := strings.CutPrefix(name, "i."); ok {
		if id := idOf(token); k.revision > x.rows[id].revision {
			x.rows[id] = k
		}
	} else if number, ok := strings.CutPrefix(name, "w."); ok {
		if shard, err := strconv.Atoi(number); err == nil && k.revision > x.marks[shard].revision {
			x.marks[shard] = k
		}
	}
}

// hold takes over what could not be written.
func (x *index) hold(name string, k kept) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if token, ok := strings.CutPrefix(name, "i."); ok {
		x.rows[idOf(token)] = k
	} else if number, ok := strings.CutPrefix(name, "w."); ok {
		if shard, err := strconv.Atoi(number); err == nil {
			x.marks[shard] = k
		}
	}
}

// chunk is how many messages are looked at before rows are written.
const chunk = 2048

// catchUp makes the rows anew of all sessions that have messages behind the mark
// of their shard.
func (x *index) catchUp(ctx context.Context, shard int) error {
	stream := x.st.names.stream(shard)
	last, err := x.st.engine.lastSeq(ctx, stream)
	if err != nil {
		return err
	}
	for x.marks[shard].row.Seq < last {
		if err := x.advance(ctx, shard, last); err != nil {
			return fmt.Errorf("index of %s: %w", stream, err)
		}
	}
	return nil
}

// catchUpSome does a part of catchUp, and reports whether there is more.
func (x *index) catchUpSome(ctx context.Context, shard int) (bool, error) {
	last, err := x.st.engine.lastSeq(ctx, x.st.names.stream(shard))
	if err != nil || x.marks[shard].row.Seq >= last {
		return false, err
	}
	err = x.advance(ctx, shard, last)
	return x.marks[shard].row.Seq < last, err
}

// advance makes rows anew for some messages behind the mark of a shard, up to
// last, and moves the mark behind them.
func (x *index) advance(ctx context.Context, shard int, last uint64) error {
	changed, next, err := x.changed(ctx, x.st.names.stream(shard), x.st.names.all(shard), x.marks[shard].row.Seq+1, last)
	if err != nil {
		return err
	}
	if err := x.makeRows(ctx, changed); err != nil {
		return err
	}
	return x.write(ctx, markName(shard), row{Seq: next - 1}, x.marks[shard])
}

// rowMakers is how many rows are made at a time: each takes three answers of the
// servers, one after the other.
const rowMakers = 32

// makeRows makes the rows anew of the sessions whose row tells less than up to the
// given message.
func (x *index) makeRows(ctx context.Context, changed map[firn.ID]uint64) error {
	due := make(chan firn.ID, len(changed))
	for id, seq := range changed {
		if x.rows[id].row.Seq < seq { // or somebody else was here
			due <- id
		}
	}
	close(due)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var makers sync.WaitGroup
	for range min(rowMakers, len(due)) {
		makers.Go(func() {
			for id := range due {
				if err := x.makeRow(ctx, id); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	makers.Wait()
	return context.Cause(ctx)
}

func (x *index) makeRow(ctx context.Context, id firn.ID) error {
	r, err := x.st.row(ctx, id)
	if err != nil {
		return err
	}
	x.mu.Lock()
	old := x.rows[id]
	x.mu.Unlock()
	return x.write(ctx, rowName(id), r, old)
}

// errChunk says that enough messages were looked at for once.
var errChunk = errors.New("enough for once")

// changed returns the sessions that have messages in a stretch, with the last
// sequence of each, and where to go on.
func (x *index) changed(ctx context.Context, stream, subject string, from, last uint64) (map[firn.ID]uint64, uint64, error) {
	ids, looked := make(map[firn.ID]uint64), 0
	next, err := x.st.engine.scan(ctx, stream, subject, from, last, func(m *message) error {
		if looked++; looked > chunk {
			return errChunk
		}
		ids[x.st.names.sessionOf(m.subject)] = m.seq
		return nil
	})
	if errors.Is(err, errChunk) {
		err = nil
	}
	return ids, next, err
}

// write puts a row into the bucket, unless somebody has put one there that
// tells more.
func (x *index) write(ctx context.Context, name string, r row, old kept) error {
	r.Version = rowVersion
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	for old.row.Seq < r.Seq {
		revision, err := x.bucket.put(ctx, name, data, old.revision)
		if err == nil {
			x.keep(name, kept{r, revision})
			return nil
		}
		if isAway(err) && ctx.Err() == nil { // it is derived: what cannot be written is made again
			x.hold(name, kept{r, old.revision})
			return nil
		}
		if !errors.Is(err, errFenced) {
			return err
		}
		value, revision, err := x.bucket.get(ctx, name)
		if err != nil {
			return err
		}
		old = kept{parseRow(value), revision}
		x.keep(name, old)
	}
	return nil
}

const (
	// wholeRecords is how long a session may be to be read as a whole for its row.
	wholeRecords = 1024
	// firstRecords is what is read of the beginning of a longer one.
	firstRecords = 64
)

// row makes the row of a session as it is now.
func (st *Store) row(ctx context.Context, id firn.ID) (row, error) {
	t, err := st.lookUp(ctx, id, 0)
	if err != nil {
		return row{}, err
	}
	return st.rowAt(ctx, id, t)
}

// rowAt makes the row of a session that ends with t.
func (st *Store) rowAt(ctx context.Context, id firn.ID, t tail) (row, error) {
	r := row{Seq: t.seq, Gone: t.seq == 0 || t.gone(), Modified: t.modified}
	if t.seq == 0 || t.receipt != nil {
		return r, nil
	}
	var err error
	r.Info, err = st.info(ctx, id, t)
	switch {
	case errors.Is(err, firn.ErrNotFound): // put away since; the message that says so comes later
		return row{Seq: t.seq, Gone: true}, nil
	case errors.Is(err, firn.ErrCorrupt): // it is listed, with what could be read of it
		r.Info.Fault = err.Error()
		st.opts.Report(err.Error())
		return r, nil
	}
	return r, err
}

// info computes the info of a session up to the end t. Of a long one it reads the
// beginning, and the end from the latest checkpoint on, see [store.Checkpoint].
func (st *Store) info(ctx context.Context, id firn.ID, t tail) (store.Info, error) {
	var gist store.Gist
	err := st.gather(ctx, id, t, store.Start, firstRecords, &gist)
	rest := store.Pos(firstRecords)
	if err == nil && t.end > wholeRecords {
		rest, err = st.checkpoint(ctx, id, t, rest)
	}
	if err == nil {
		err = st.gather(ctx, id, t, rest, t.end, &gist)
	}
	if err == nil && gist.Prompted() {
		err = st.prompt(ctx, id, t, &gist)
	}
	info := gist.Info()
	info.ID, info.End, info.Parts, info.Bytes, info.Archived = id, t.end, 1, t.size, t.archived
	return info, err
}

// checkpoint returns where the latest checkpoint behind a position stands; that
// position if there is none.
func (st *Store) checkpoint(ctx context.Context, id firn.ID, t tail, after store.Pos) (store.Pos, error) {
	for rec, err := range st.back(ctx, id, t, t.end) {
		if err != nil {
			return after, err
		}
		if rec.At <= after {
			break
		}
		if rec.Gap != nil || rec.Glance.Kind != firn.KindCustom {
			continue
		}
		e, err := rec.Entry()
		if err != nil {
			continue
		}
		if custom, ok := e.Body.(*firn.Custom); ok {
			if _, ok := store.CheckpointOf(custom); ok {
				return rec.At, nil
			}
		}
	}
	return after, nil
}

// prompt adds the first user message of the session to the gist. It reads from the
// beginning: if the message that a checkpoint counted was erased, the first one left may
// precede that checkpoint.
func (st *Store) prompt(ctx context.Context, id firn.ID, t tail, gist *store.Gist) error {
	var failed error
	st.forth(ctx, id, t, store.Start, func(r store.Record, err error) bool {
		if failed = err; err != nil {
			return false
		}
		if e, err := r.Entry(); err == nil {
			gist.Prompt(e)
		}
		return gist.Prompted()
	})
	return failed
}

// gather takes notice of the records between two positions.
func (st *Store) gather(ctx context.Context, id firn.ID, t tail, from, to store.Pos, gist *store.Gist) error {
	var failed error
	st.forth(ctx, id, t, from, func(r store.Record, err error) bool {
		if failed = err; err != nil || r.At >= to {
			return false
		}
		if e, err := r.Entry(); err == nil {
			gist.Add(e)
		}
		return r.Next < to
	})
	return failed
}
