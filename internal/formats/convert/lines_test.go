package convert_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/convert"
)

// endlessReader is a stream of one line that is longer than any memory, unless it has an
// end.
type endlessReader struct{ left int64 }

func (e *endlessReader) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return int(n), nil
}

// TestLinesOverTheLimit checks that a line over the limit is rejected with its number and
// size, that earlier lines are read, and that memory is bounded by the limit.
func TestLinesOverTheLimit(t *testing.T) {
	for _, size := range []int{1, 9, 10, 11, 1 << 18, 1<<18 + 1, 1 << 20} {
		for _, limit := range []int64{0, 10, 1 << 18, 1 << 19} {
			for _, end := range []string{"", "\n", "\nlast\n"} {
				text := "one\n" + strings.Repeat("x", size) + end
				var got []string
				var failed error
				for line, err := range convert.Lines(strings.NewReader(text), limit) {
					if err != nil {
						failed = err
						break
					}
					got = append(got, string(line))
				}
				length := size + min(len(end), 1)
				if limit > 0 && int64(length) > limit {
					if !errors.Is(failed, firn.ErrTooLarge) || !strings.Contains(failed.Error(), "line 2: ") || !strings.Contains(failed.Error(), fmt.Sprint(length)) || len(got) != 1 {
						t.Errorf("%d bytes, limit %d, end %q: %d lines, %v", size, limit, end, len(got), failed)
					}
				} else if failed != nil || strings.Join(got, "") != text {
					t.Errorf("%d bytes, limit %d, end %q: %d lines, %v", size, limit, end, len(got), failed)
				}
			}
		}
	}
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			for range convert.Lines(&endlessReader{1 << 30}, 1<<20) {
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 8<<20 {
		t.Errorf("%d bytes were allocated for a line of 1 GiB with a limit of 1 MiB", allocated)
	}
}
