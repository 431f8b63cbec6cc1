package tool

import (
	"fmt"
	"io"
	"sync"

	"firn"
)

// output gathers what a command prints: the beginning and the end of it, and
// how much there was. It never holds more than it keeps.
type output struct {
	mu   sync.Mutex
	head []byte
	// tail is a ring once it is full: next is where the oldest byte is.
	tail     []byte
	next     int
	headRoom int
	tailRoom int
	total    int64
}

func newOutput(most int) *output {
	return &output{headRoom: most / 2, tailRoom: most - most/2}
}

// fill reads until there is no more. That reading failed is like an end: what
// came before is all there is.
func (o *output) fill(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		o.add(buf[:n])
		if err != nil {
			return
		}
	}
}

func (o *output) add(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += int64(len(p))
	n := min(len(p), o.headRoom-len(o.head))
	o.head = append(o.head, p[:n]...)
	p = p[n:]
	n = min(len(p), o.tailRoom-len(o.tail))
	o.tail = append(o.tail, p[:n]...)
	for p = p[n:]; len(p) > 0; {
		n := copy(o.tail[o.next:], p)
		o.next = (o.next + n) % len(o.tail)
		p = p[n:]
	}
}

// text returns what was kept, clean, with a notice of what was not. Halves of
// characters at the seam are left out.
func (o *output) text() (text string, total, dropped int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := string(o.tail[o.next:]) + string(o.tail[:o.next])
	dropped = o.total - int64(len(o.head)) - int64(len(tail))
	if dropped == 0 {
		clean, _ := firn.CleanText(string(o.head) + tail)
		return clean, o.total, 0
	}
	head := wholeEnd(string(o.head))
	tail = wholeStart(tail)
	dropped = o.total - int64(len(head)) - int64(len(tail))
	head, _ = firn.CleanText(head)
	tail, _ = firn.CleanText(tail)
	return onLine(head, fmt.Sprintf("[%s of output dropped here]", count(dropped, "byte")), tail), o.total, dropped
}
