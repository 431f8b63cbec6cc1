package providertest

import (
	"sync"
	"testing"
)

// Play tells a model under test what to answer. It is safe for concurrent use.
type Play struct {
	mu    sync.Mutex
	parts []Part
}

// Next is what to do with the request that just came. It must be called once
// for each request.
func (p *Play) Next() Part {
	p.mu.Lock()
	defer p.mu.Unlock()
	part := p.parts[0]
	if len(p.parts) > 1 {
		p.parts = p.parts[1:]
	}
	return part
}

// Serve starts a provider that plays over HTTP, for the time of a test, and
// returns its address. Spell gives the whole body of an answer.
func (p *Play) Serve(t *testing.T, spell func(Answer) []byte) string {
	panic("soon")
}

// Run tests that the models that open makes keep the contract of
// [provider.Model].
func Run(t *testing.T, open Open, lacks ...Lack) {
}
