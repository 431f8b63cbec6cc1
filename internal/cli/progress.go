package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"firn/internal/doctor"
	"firn/internal/prose"
)

// bar is a progress bar on stderr. One that is not shown does nothing.
type bar struct {
	out   io.Writer
	what  string
	last  string
	lines bool // each state on a line of its own, for those who read it
}

// newBar makes a bar that is shown if somebody can see it.
func (p *program) newBar(what string) *bar {
	b := &bar{what: what}
	switch {
	case isTerminal(p.stderr) && !p.json:
		b.out = p.stderr
	case p.progress:
		b.out, b.lines = p.stderr, true
	}
	return b
}

// isTerminal reports whether a stream is somebody at a screen: a device for
// characters that is not the one that swallows everything.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

const barWidth = 24

// set shows how far it is, in bytes.
func (b *bar) set(done, total int64) { b.show(done, total, doctor.Size(total)) }

// count shows how far it is, in things.
func (b *bar) count(done, total int64, things string) {
	b.show(done, total, prose.Grouped(total)+" "+things)
}

func (b *bar) show(done, total int64, of string) {
	if b.out == nil {
		return
	}
	text := barText(b.what, done, total, of)
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

// clear takes the bar away.
func (b *bar) clear() {
	if b.out != nil && !b.lines && b.last != "" {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}

func barText(what string, done, total int64, of string) string {
	if total == 0 {
		return what + " …" // how much there is to do is not known
	}
	part := float64(done) / float64(total)
	full := int(part * barWidth)
	return fmt.Sprintf("%s %s%s %3.0f %% of %s", what, strings.Repeat("━", full), strings.Repeat("╌", barWidth-full), part*100, of)
}
