package sourcestore

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestReadLineUpTo reads lines around the limit and around the buffer size: those over the
// limit are counted and not returned.
func TestReadLineUpTo(t *testing.T) {
	const limit = 1000
	for _, size := range []int{0, 1, 15, 16, 17, 999, 1000, 1001, 1002, 5000} {
		for _, end := range []string{"\n", ""} {
			in := bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", size)+end+"next\n"[:5*len(end)]), 16)
			line, n, err := readLineUpTo(in, limit)
			if end == "" != errors.Is(err, io.EOF) || n != int64(size+len(end)) {
				t.Errorf("%d bytes: counted %d, %v", size, n, err)
			}
			if over := size+len(end) > limit+1; over != (line == nil && size > 0) || !over && len(line) != size+len(end) {
				t.Errorf("%d bytes and %q: returned %d", size, end, len(line))
			}
			if next, _, err := readLineUpTo(in, limit); end != "" && (err != nil || string(next) != "next\n") {
				t.Errorf("%d bytes: then %q, %v", size, next, err)
			}
		}
	}
}
