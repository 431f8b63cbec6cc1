package filestore

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// Who reads back more than a little will mostly read on, and decode what he
// reads. From aheadAfter bytes on, lines are read and decoded in batches by
// several processors, ahead of who asked. A batch has about batchSize bytes, and
// for each processor there are at most two under way.
const (
	aheadAfter = 4 << 20
	batchSize  = 256 << 10
)

// batch is a run of lines that are decoded together.
type batch struct {
	lines   []journal.Line
	data    []byte // of all the lines
	records []firn.Record
	err     error // of reading on behind the lines
	done    chan struct{}
}

// add copies a line. One that does not fit makes the buffer move; the lines
// before it keep the old one.
func (b *batch) add(line journal.Line) {
	b.data = append(b.data, line.Data...)
	line.Data = b.data[len(b.data)-len(line.Data):]
	b.lines = append(b.lines, line)
}

// decode makes records of the lines, newest first.
func (b *batch) decode(d dialect.Dialect) {
	defer close(b.done)
	r := dialect.Reader{Dialect: d, Quick: true}
	for _, line := range b.lines {
		for _, record := range slices.Backward(r.Records(dialect.Line(line))) {
			record.Decode()
			b.records = append(b.records, record)
		}
	}
}

// ahead yields the records of lines, newest first, decoded ahead. It returns
// when all it has started has ended.
func (st *Store) ahead(ctx context.Context, lines iter.Seq2[journal.Line, error], yield func(store.Record, error) bool) {
	gathering, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	work, order, spare := make(chan *batch, workers), make(chan *batch, workers), make(chan *batch, workers)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() {
		defer close(work)
		defer close(order)
		gather(gathering, lines, work, order, spare)
	})
	for range workers {
		group.Go(func() {
			for b := range work {
				b.decode(st.dialect)
			}
		})
	}
	for b := range order {
		<-b.done
		for _, record := range b.records {
			if !yield(record, nil) {
				return
			}
		}
		if b.err != nil {
			yield(store.Record{}, b.err)
			return
		}
		select {
		case spare <- b:
		default:
		}
	}
	if err := ctx.Err(); err != nil {
		yield(store.Record{}, err)
	}
}

// gather makes batches of lines, and hands them to those who decode them and,
// in order, to who yields them. Batches that were yielded are used again.
func gather(ctx context.Context, lines iter.Seq2[journal.Line, error], work, order chan<- *batch, spare <-chan *batch) {
	next := func() *batch {
		select {
		case b := <-spare:
			return &batch{lines: b.lines[:0], data: b.data[:0], records: b.records[:0], done: make(chan struct{})}
		default:
			return &batch{data: make([]byte, 0, batchSize+batchSize/4), done: make(chan struct{})}
		}
	}
	send := func(b *batch) bool {
		work <- b // those who decode never stop before they are told
		select {
		case order <- b:
			return true
		case <-ctx.Done():
			return false
		}
	}
	b := next()
	for line, err := range lines {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			b.err = err
			break
		}
		if b.add(line); len(b.data) >= batchSize {
			if !send(b) {
				return
			}
			b = next()
		}
	}
	send(b)
}
