package providertest

import (
	"net/http"
	"sync"
)

// Part is what is to be done with one request.
type Part struct {
	Answer Answer
	// Status, if not zero, is sent with Header and Body instead of the answer.
	Status int
	Header http.Header
	Body   string

	// end is what comes when limit of the total was sent.
	end   End
	limit func(total int) int
	// chunk is how many bytes are sent at a time; zero means all.
	chunk int
}

// End is how a part ends.
type End int

// How a part ends.
const (
	// Whole: all is sent and ends as it should.
	Whole End = iota
	// Broken: the connection breaks.
	Broken
	// Closed: the connection ends in good order, as if that were all.
	Closed
	// Held: nothing more comes until the client goes away.
	Held
)

// Of says how much to send of an answer that has total pieces (bytes on a wire,
// else events before Done), and what comes then.
func (p Part) Of(total int) (send int, then End) {
	if p.end == Whole {
		return total, Whole
	}
	return min(max(p.limit(total), 0), total), p.end
}

// Play tells a model under test what to answer. It is safe for concurrent use.
type Play struct {
	mu    sync.Mutex
	parts []Part
	asked int
}

// Next is what to do with the request that just came. It must be called once
// for each request.
func (p *Play) Next() Part {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if len(p.parts) == 0 {
		return Part{Answer: Answer{Text: "nobody said what to answer", Stop: "stop"}}
	}
	part := p.parts[0]
	if len(p.parts) > 1 {
		p.parts = p.parts[1:]
	}
	return part
}

// set says what to answer from now on; the last part is played for ever.
func (p *Play) set(parts ...Part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts, p.asked = parts, 0
}

// requests is how many came since the parts were set.
func (p *Play) requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}
