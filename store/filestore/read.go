package filestore

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// source returns the files of a session.
func (st *openSessions) source(ctx context.Context, id firn.ID) (journal.Source, error) {
	if err := st.startCall(ctx); err != nil {
		return journal.Source{}, err
	}
	defer st.finishCall()
	st.closeIfDeleted(id)
	_, path, err := st.locate(id)
	return st.limited(path), err
}

// limited returns a source that reads lines over the limit as gaps.
func (st *homeDir) limited(path string) journal.Source {
	return journal.Source{FS: st.fs, Path: path, MaxLine: st.opts.MaxLine, Long: &st.long}
}

// unlimited returns a source without a line limit, for purges, which must find all entries.
func (st *homeDir) unlimited(path string) journal.Source {
	return journal.Source{FS: st.fs, Path: path, MaxLine: -1}
}

// Read yields the records after a position, oldest first.
func (st *Store) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		source, err := st.source(ctx, id)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		st.yield(ctx, source.Lines(after), yield)
	}
}

// ReadBack yields the records before a position, newest first.
func (st *Store) ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		source, err := st.source(ctx, id)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		if before, more := st.yieldBack(ctx, source.Back(before), yield); more {
			st.yieldAhead(ctx, source.Back(before), yield)
		}
	}
}

// yield passes on the records of lines until the consumer stops.
func (st *homeDir) yield(ctx context.Context, lines iter.Seq2[journal.Line, error], yield func(store.Record, error) bool) {
	r := dialect.Reader{Dialect: st.dialect}
	for line, err := range lines {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		for _, record := range r.Records(dialect.Line(line)) {
			if !yield(record, nil) {
				return
			}
		}
	}
}

// yieldBack is yield for lines in reverse order. After aheadAfter bytes it stops and
// returns the position; more is true if the consumer wants to continue.
func (st *homeDir) yieldBack(ctx context.Context, lines iter.Seq2[journal.Line, error], yield func(store.Record, error) bool) (rest store.Pos, more bool) {
	r := dialect.Reader{Dialect: st.dialect, Quick: true}
	size := 0
	for line, err := range lines {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(store.Record{}, err)
			return 0, false
		}
		for _, record := range slices.Backward(r.Records(dialect.Line(line))) {
			if !yield(record, nil) {
				return 0, false
			}
		}
		if size += len(line.Data); size > aheadAfter {
			return line.At, true
		}
	}
	return 0, false
}

// Follow yields the records after a position and then new ones as they are appended.
func (st *Store) Follow(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		source, err := st.source(ctx, id)
		if err != nil {
			if ctx.Err() == nil {
				yield(store.Record{}, err)
			}
			return
		}
		if after == store.End {
			if after, err = source.CompleteEnd(); err != nil {
				yield(store.Record{}, err)
				return
			}
		}
		following, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(st.lifetime, cancel)
		defer stop()
		r := dialect.Reader{Dialect: st.dialect}
		for line, err := range source.Follow(following, st.hub, after) {
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			for _, record := range r.Records(dialect.Line(line)) {
				if following.Err() == nil && !yield(record, nil) {
					return
				}
			}
		}
		if ctx.Err() == nil {
			yield(store.Record{}, fmt.Errorf("follow session %s: %w", id, firn.ErrClosed))
		}
	}
}
