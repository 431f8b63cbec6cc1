package convert

import (
	"bufio"
	"errors"
	"io"
	"iter"
)

// Lines yields the lines of a stream with their newlines, of any length. A line
// is valid until the next one. The last one may have no newline.
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(r, 1<<18)
		var long []byte
		for {
			piece, err := in.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				long = append(long, piece...)
				continue
			}
			line := piece
			if len(long) > 0 {
				long = append(long, piece...)
				line, long = long, long[:0]
			}
			switch {
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
