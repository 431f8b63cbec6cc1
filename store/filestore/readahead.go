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

// A reader that goes back further than aheadAfter bytes usually continues. From there on,
// lines are read ahead in batches of about batchSize bytes and decoded in parallel, with at
// most two batches per CPU in progress.
const (
	aheadAfter = 4 << 20
	batchSize  = 256 << 10
)

// batch is a group of lines that are decoded together.
type batch struct {
	lines   []journal.Line
	data    []byte // of all lines
	records []firn.Record
	err     error // from reading after the last line
	done    chan struct{}
}

// add copies a line into the batch. If the buffer must grow, earlier lines keep referring
// to the old one.
func (b *batch) add(line journal.Line) {
	b.data = append(b.data, line.Data...)
	line.Data = b.data[len(b.data)-len(line.Data):]
	b.lines = append(b.lines, line)
}

// decode decodes the lines into records, newest first.
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

// yieldAhead yields the records of lines, newest first, decoding ahead in parallel. It
// returns after all of its goroutines have ended.
func (st *homeDir) yieldAhead(ctx context.Context, lines iter.Seq2[journal.Line, error], yield func(store.Record, error) bool) {
	gathering, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	work, order, spare := make(chan *batch, workers), make(chan *batch, workers), make(chan *batch, workers)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() {
		defer close(work)
		defer close(order)
		fillBatches(gathering, lines, work, order, spare)
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

// fillBatches groups lines into batches and sends them to the decoders and, in order, to
// the consumer. It reuses batches from spare.
func fillBatches(ctx context.Context, lines iter.Seq2[journal.Line, error], work, order chan<- *batch, spare <-chan *batch) {
	next := func() *batch {
		select {
		case b := <-spare:
			return &batch{lines: b.lines[:0], data: b.data[:0], records: b.records[:0], done: make(chan struct{})}
		default:
			return &batch{data: make([]byte, 0, batchSize+batchSize/4), done: make(chan struct{})}
		}
	}
	send := func(b *batch) bool {
		work <- b // decoders run until work is closed
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
