package providertest

import (
	"net/http"
	"sync"
)

// Part describes the response to one request.
type Part struct {
	Answer Answer
	// Status, if not zero, is sent with Header and Body instead of the answer.
	Status int
	Header http.Header
	Body   string

	// end selects what happens after limit of total pieces.
	end   End
	limit func(total int) int
	// chunk is the number of bytes per write; zero means all.
	chunk int
}

// End selects how a part ends.
type End int

// The ways a part can end.
const (
	// Complete sends everything and ends normally.
	Complete End = iota
	// Broken breaks the connection.
	Broken
	// Closed closes the connection normally before the answer is complete.
	Closed
	// Stalled sends nothing more until the client disconnects.
	Stalled
)

// Of returns how many pieces of an answer to send, and how to end. Total is the number of
// pieces: bytes for HTTP, otherwise events before Done.
func (p Part) Of(total int) (send int, then End) {
	if p.end == Complete {
		return total, Complete
	}
	return min(max(p.limit(total), 0), total), p.end
}

// Play is the script of a model under test. It is safe for concurrent use.
type Play struct {
	mu    sync.Mutex
	parts []Part
	asked int
}

// Next returns the part for the current request. It must be called once per request.
func (p *Play) Next() Part {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if len(p.parts) == 0 {
		return Part{Answer: Answer{Text: "the test has set no answer", Stop: "stop"}}
	}
	part := p.parts[0]
	if len(p.parts) > 1 {
		p.parts = p.parts[1:]
	}
	return part
}

// set replaces the script. The last part is repeated.
func (p *Play) set(parts ...Part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts, p.asked = parts, 0
}

// requests returns the number of requests since the last call of set.
func (p *Play) requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}
