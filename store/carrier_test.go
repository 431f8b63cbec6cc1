package store_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
)

func linesOf(text string, fault error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line := range strings.FieldsSeq(text) {
			if !yield([]byte(line), nil) {
				return
			}
		}
		if fault != nil {
			yield(nil, fault)
		}
	}
}

// TestBeyond checks that Beyond yields the lines after a matching prefix, and a conflict
// otherwise.
func TestBeyond(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		have, want          string
		haveFault, wantFail error
		rest                string
		had                 int
		err                 error
	}{
		"new":             {want: "a b", rest: "a b"},
		"the same":        {have: "a b", want: "a b", had: 2},
		"more":            {have: "a", want: "a b c", rest: "b c", had: 1},
		"another":         {have: "a x", want: "a b c", had: 1, err: firn.ErrConflict},
		"gone on":         {have: "a b c", want: "a b", had: 2, err: firn.ErrConflict},
		"cannot be read":  {have: "a", want: "a b", haveFault: broken, had: 1, err: broken},
		"nor the other":   {have: "a", want: "a", wantFail: broken, had: 1, err: broken},
		"nor at its head": {have: "a", want: "", wantFail: broken, err: broken},
	} {
		t.Run(name, func(t *testing.T) {
			had := 0
			var rest []string
			var failed error
			for line, err := range store.NewLines(linesOf(c.have, c.haveFault), linesOf(c.want, c.wantFail), &had) {
				if failed = err; err == nil {
					rest = append(rest, string(line))
				}
			}
			if got := strings.Join(rest, " "); got != c.rest || had != c.had || !errors.Is(failed, c.err) || c.err == nil && failed != nil {
				t.Errorf("the rest is %q behind %d, %v; want %q behind %d, %v", got, had, failed, c.rest, c.had, c.err)
			}
		})
	}
}
