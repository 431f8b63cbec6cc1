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

// index is the table behind lists. It has a row for each session in a bucket shared by all
// gateways, and for each shard a mark: the last message that the rows include. Appends do
// not write it. Listing first updates it from the messages after the mark. If it is lost,
// it is rebuilt from the first message on.
type index struct {
	st     *Store
	bucket bucket
	// turn is held by the user of the following fields.
	turn chan struct{}
	// rows and marks are the bucket as far as it was read.
	rows    map[firn.ID]storedRow
	marks   map[int]storedRow
	next    uint64
	pending pendingChanges
	// mu guards the rows against concurrent workers of the holder of turn.
	mu sync.Mutex
}

// row is the index entry of a session as of a message. It is the same for every writer. The
// row of a shard has only the sequence.
type row struct {
	// Version is rowVersion; a row of another version is rebuilt.
	Version int    `json:"v"`
	Seq     uint64 `json:"seq"`
	// Gone reports whether the session is in the trash bin or was purged.
	Gone bool `json:"gone,omitempty"`
	// Modified is the time of the last change of its lines.
	Modified time.Time  `json:"modified,omitzero"`
	Info     store.Info `json:"info,omitzero"`
}

// rowVersion is incremented when the content of rows changes for the same sessions.
const rowVersion = 2

// parseRow decodes a row; an invalid one, or one of another version, is empty.
func parseRow(value []byte) row {
	var r row
	if value == nil || json.Unmarshal(value, &r) != nil || r.Version != rowVersion {
		return row{}
	}
	return r
}

// storedRow is a row of the bucket with its revision.
type storedRow struct {
	row      row
	revision uint64
}

func newIndex(st *Store) *index {
	return &index{st: st, bucket: bucket{st.engine, st.names.index()}, turn: make(chan struct{}, 1),
		rows: make(map[firn.ID]storedRow), marks: make(map[int]storedRow), next: 1, pending: newPendingChanges()}
}

// refresh updates the rows of a shard.
func (x *index) refresh(ctx context.Context, shard int) error {
	return x.with(ctx, func() error {
		if err := x.read(ctx); err != nil {
			return err
		}
		return x.catchUp(ctx, shard)
	})
}

// with calls do with exclusive use of the index.
func (x *index) with(ctx context.Context, do func() error) error {
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.turn }()
	return do()
}

// read reads the rows that others have written.
func (x *index) read(ctx context.Context) error {
	next, err := x.bucket.all(ctx, x.next, func(name string, value []byte, revision uint64) error {
		x.cacheStored(name, storedRow{parseRow(value), revision})
		return nil
	})
	x.next = max(x.next, next)
	return err
}

func (x *index) cacheStored(name string, k storedRow) {
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

// cacheUnwritten keeps a row in memory that could not be written.
func (x *index) cacheUnwritten(name string, k storedRow) {
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

// chunk is the number of messages that are scanned before rows are written.
const chunk = 2048

// catchUp rebuilds the rows of all sessions with messages after the mark of their shard.
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

// advance rebuilds rows for some messages after the mark of a shard, up to last, and moves
// the mark after them.
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

// rowMakers is the number of rows that are built concurrently: each takes three sequential
// server requests.
const rowMakers = 32

// makeRows rebuilds the rows of the sessions whose row is older than the given message.
func (x *index) makeRows(ctx context.Context, changed map[firn.ID]uint64) error {
	due := make(chan firn.ID, len(changed))
	for id, seq := range changed {
		if x.rows[id].row.Seq < seq { // otherwise another gateway has written it
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

// errChunk ends a scan after enough messages.
var errChunk = errors.New("enough for once")

// changed returns the sessions with messages in a range, with the last sequence of each,
// and the sequence to continue from.
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

// write stores a row in the bucket, unless the bucket has a more recent one.
func (x *index) write(ctx context.Context, name string, r row, old storedRow) error {
	r.Version = rowVersion
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	for old.row.Seq < r.Seq {
		revision, err := x.bucket.put(ctx, name, data, old.revision)
		if err == nil {
			x.cacheStored(name, storedRow{r, revision})
			return nil
		}
		if isUnreachable(err) && ctx.Err() == nil { // rows are derived and can be rebuilt later
			x.cacheUnwritten(name, storedRow{r, old.revision})
			return nil
		}
		if !errors.Is(err, errFenced) {
			return err
		}
		value, revision, err := x.bucket.get(ctx, name)
		if err != nil {
			return err
		}
		old = storedRow{parseRow(value), revision}
		x.cacheStored(name, old)
	}
	return nil
}

const (
	// wholeRecords is the maximum length of a session that is read completely for its row.
	wholeRecords = 1024
	// firstRecords is the number of records read from the start of a longer session.
	firstRecords = 64
)

// row builds the current row of a session.
func (st *reader) row(ctx context.Context, id firn.ID) (row, error) {
	t, err := st.opened.fetchTail(ctx, id, 0)
	if err != nil {
		return row{}, err
	}
	return st.rowAt(ctx, id, t)
}

// rowAt builds the row of a session with the tail t.
func (st *reader) rowAt(ctx context.Context, id firn.ID, t tail) (row, error) {
	r := row{Seq: t.seq, Gone: t.seq == 0 || t.gone(), Modified: t.modified}
	if t.seq == 0 || t.receipt != nil {
		return r, nil
	}
	var err error
	r.Info, err = st.info(ctx, id, t)
	switch {
	case errors.Is(err, firn.ErrNotFound): // removed since; a later message has that change
		return row{Seq: t.seq, Gone: true}, nil
	case errors.Is(err, firn.ErrCorrupt): // it is listed with the content that could be read
		r.Info.Fault = err.Error()
		st.opts.Report(err.Error())
		return r, nil
	}
	return r, err
}

// info computes the info of a session up to the tail t. Of a long session it reads the
// start, and the end from the latest checkpoint on; see [store.Checkpoint].
func (st *reader) info(ctx context.Context, id firn.ID, t tail) (store.Info, error) {
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

// checkpoint returns the position of the latest checkpoint after a position, or that
// position if there is none.
func (st *reader) checkpoint(ctx context.Context, id firn.ID, t tail, after store.Pos) (store.Pos, error) {
	for rec, err := range st.readBackward(ctx, id, t, t.end) {
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
func (st *reader) prompt(ctx context.Context, id firn.ID, t tail, gist *store.Gist) error {
	var failed error
	st.readForward(ctx, id, t, store.Start, func(r store.Record, err error) bool {
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

// gather adds the records between two positions.
func (st *reader) gather(ctx context.Context, id firn.ID, t tail, from, to store.Pos, gist *store.Gist) error {
	var failed error
	st.readForward(ctx, id, t, from, func(r store.Record, err error) bool {
		if failed = err; err != nil || r.At >= to {
			return false
		}
		if e, err := r.Entry(); err == nil {
			gist.Add(e)
		} else {
			gist.Lost()
		}
		return r.Next < to
	})
	return failed
}
