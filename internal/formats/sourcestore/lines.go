package sourcestore

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// Lines returns a session and a function that reads the original lines of all its parts in
// order. The function may be called repeatedly.
func (st *Store) Lines(ctx context.Context, id firn.ID) (dialect.Transcript, func() iter.Seq2[[]byte, error], error) {
	t, err := st.find(ctx, id)
	if err != nil {
		return t, nil, err
	}
	return t, func() iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for _, name := range t.Parts {
				if !st.partLines(ctx, t, name, yield) {
					return
				}
			}
		}
	}, nil
}

// partLines yields the lines of a part with their newlines.
func (st *Store) partLines(ctx context.Context, t dialect.Transcript, name string, yield func([]byte, error) bool) bool {
	file, err := st.openPart(t, name, 0)
	if err != nil {
		return yield(nil, err)
	}
	defer file.Close() // read only
	in := bufio.NewReaderSize(file, 256<<10)
	for {
		line, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return yield(nil, err)
		}
		if ctx.Err() != nil {
			return yield(nil, ctx.Err())
		}
		if len(line) > 0 && !yield(line, nil) {
			return false
		}
		if err != nil {
			return true
		}
	}
}
