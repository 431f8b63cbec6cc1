package linetest

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev/internal/base/basetest"
)

// Ear hears what a program says that is not at a terminal, and can wait for it.
// It is an io.Writer, and may be written to from many goroutines; one waits.
type Ear struct {
	t     testing.TB
	mu    sync.Mutex
	heard bytes.Buffer
	more  chan struct{}
	// passed is how much was waited for.
	passed int
}

// NewEar makes an ear that has heard nothing.
func NewEar(t testing.TB) *Ear { return &Ear{t: t, more: make(chan struct{}, 1)} }

// Write hears.
func (e *Ear) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default:
	}
	return e.heard.Write(p)
}

// String is all that was heard.
func (e *Ear) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard.String()
}

// Await waits until something was said behind what was waited for before. It
// fails the test if that is not said.
func (e *Ear) Await(text string) {
	e.t.Helper()
	for {
		all := e.String()
		if i := strings.Index(all[e.passed:], text); i >= 0 {
			e.passed += i + len(text)
			return
		}
		select {
		case <-e.more:
		case <-time.After(basetest.Limit):
			e.t.Fatalf("waited for %q in vain: %q", text, all[e.passed:])
		}
	}
}
