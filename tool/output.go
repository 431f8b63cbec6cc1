package tool

import (
	"fmt"
	"io"
	"sync"

	"firn.dev"
)

// output collects the output of a command: its beginning, its end and its size. Its memory
// is bounded.
type output struct {
	mu   sync.Mutex
	head []byte
	// tail is a ring buffer once it is full; next is the position of the oldest byte.
	tail     []byte
	next     int
	headRoom int
	tailRoom int
	total    int64
}

func newOutput(most int) *output {
	return &output{headRoom: most / 2, tailRoom: most - most/2}
}

// fill reads until the end and also adds everything to progress. A read error counts as
// the end.
func (o *output) fill(r io.Reader, progress *progressWriter) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		o.add(buf[:n])
		progress.add(buf[:n])
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

// take returns the kept output like text and forgets it.
func (o *output) take() string {
	text, _, _ := o.text()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.head, o.tail, o.next, o.total = nil, nil, 0, 0
	return text
}

// text returns the kept output, sanitized, with a notice about the dropped part. Incomplete
// characters at the cut are removed.
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
