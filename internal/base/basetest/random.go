package basetest

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// Random returns a random number generator with a [Seed]. It is safe for concurrent use,
// but the order of concurrent calls is not determined by the seed.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	return NewRandom(Seed(t))
}

// NewRandom returns a random number generator that is safe for concurrent use.
func NewRandom(seed uint64) *rand.Rand {
	return rand.New(&source{from: rand.NewPCG(seed, 1)})
}

// source is a source of random numbers that is safe for concurrent use.
type source struct {
	mu   sync.Mutex
	from *rand.PCG
}

func (s *source) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from.Uint64()
}
