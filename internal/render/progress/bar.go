// Package progress is a bar in one row of a terminal that tells how far something
// is.
package progress

import (
	"fmt"
	"io"
	"strings"

	"firn.dev/internal/render/prose"
)

// Bar tells how far something is. It is not safe for concurrent use.
type Bar struct {
	out   io.Writer
	what  string
	last  string
	lines bool
}

// New makes a bar for what is done, such as "reading". It draws itself over and
// over in the row where it is; with lines, each state has a line of its own, for
// those who read it. Where out is nil nobody sees it, and it does nothing.
func New(out io.Writer, what string, lines bool) *Bar {
	return &Bar{out: out, what: what, lines: lines}
}

// Set shows how far it is, in bytes.
func (b *Bar) Set(done, total int64) { b.show(done, total, prose.Size(total)) }

// Count shows how far it is, in things.
func (b *Bar) Count(done, total int64, things string) {
	b.show(done, total, prose.Grouped(total)+" "+things)
}

// Phase shows how far one of several steps is, in bytes.
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

// Clear takes the bar away.
func (b *Bar) Clear() {
	if b.out != nil && !b.lines && b.last != "" {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}

// width is how many characters are full at the end.
const width = 24

func text(what string, done, total int64, of string) string {
	if total == 0 {
		return what + " …" // how much there is to do is not known
	}
	part := min(1, float64(done)/float64(total)) // what is read may have grown meanwhile
	full := int(part * width)
	return fmt.Sprintf("%s %s%s %3.0f %% of %s", what, strings.Repeat("━", full), strings.Repeat("╌", width-full), part*100, of)
}
