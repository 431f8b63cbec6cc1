package convert

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"

	"firn.dev"
)

// Lines yields the lines of a stream with their newlines. A line is valid until the next
// one. The last one may have no newline. A line of more than limit bytes is an error, and
// no more than limit bytes of it are held in memory; zero means no limit.
func Lines(r io.Reader, limit int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(r, 1<<18)
		var long []byte
		for n := int64(1); ; n++ {
			line, err := nextLine(in, &long, limit)
			switch {
			case errors.Is(err, firn.ErrTooLarge):
				yield(nil, fmt.Errorf("line %d: %w", n, err))
				return
			case err != nil && !errors.Is(err, io.EOF):
				yield(nil, err)
				return
			case err != nil:
				if len(line) > 0 {
					yield(line, nil)
				}
				return
			case !yield(line, nil):
				return
			}
		}
	}
}

// nextLine reads a line; one that does not fit into the reader's buffer is stored in long.
// At the end of the stream the error is io.EOF.
func nextLine(in *bufio.Reader, long *[]byte, limit int64) ([]byte, error) {
	*long = (*long)[:0]
	for {
		piece, err := in.ReadSlice('\n')
		if size := int64(len(*long) + len(piece)); limit > 0 && size > limit {
			return nil, tooLong(in, size, limit, err)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if len(*long) == 0 {
				return piece, err
			}
			*long = append(*long, piece...)
			return *long, err
		}
		*long = append(*long, piece...)
	}
}

// tooLong skips the rest of a line and returns an error with its length.
func tooLong(in *bufio.Reader, size, limit int64, err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		var piece []byte
		piece, err = in.ReadSlice('\n')
		size += int64(len(piece))
	}
	return fmt.Errorf("%w: it has %d bytes, and the limit is %d (store.max_line)", firn.ErrTooLarge, size, limit)
}
