// Package progress draws a progress bar in one row of a terminal.
package progress

import (
	"fmt"
	"io"
	"strings"

	"firn.dev/internal/render/prose"
)

// Bar is a progress bar. It is not safe for concurrent use.
type Bar struct {
	out   io.Writer
	what  string
	last  string
	lines bool
}

// New returns a bar for an activity such as "reading". It redraws itself in its row; with
// lines, each state is printed on a new line, for screen readers and logs. If out is nil,
// the bar does nothing.
func New(out io.Writer, what string, lines bool) *Bar {
	return &Bar{out: out, what: what, lines: lines}
}

// Set shows the progress in bytes.
func (b *Bar) Set(done, total int64) { b.show(done, total, prose.Size(total)) }

// Count shows the progress as a number of things.
func (b *Bar) Count(done, total int64, things string) {
	b.show(done, total, prose.Grouped(total)+" "+things)
}

// Phase shows the progress of one of several steps, in bytes.
func (b *Bar) Phase(what string, done, total int64) {
	b.what = what
	b.Set(done, total)
}

func (b *Bar) show(done, total int64, of string) {
	if b.out == nil {
		return
	}
	text := text(b.what, done, total, of)
	if text == b.last {
		return
	}
	b.last = text
	if b.lines {
		fmt.Fprintln(b.out, text)
		return
	}
	fmt.Fprintf(b.out, "\r%s\x1b[K", text)
}

// Clear removes the bar.
func (b *Bar) Clear() {
	if b.out != nil && !b.lines && b.last != "" {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}

// width is the number of characters of a full bar.
const width = 24

func text(what string, done, total int64, of string) string {
	if total == 0 {
		return what + " …" // the total is unknown
	}
	part := min(1, float64(done)/float64(total)) // the input may have grown in the meantime
	full := int(part * width)
	return fmt.Sprintf("%s %s%s %3.0f %% of %s", what, strings.Repeat("━", full), strings.Repeat("╌", width-full), part*100, of)
}
