package linetest

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev/internal/base/basetest"
)

// Recorder is an io.Writer that records the output of a program without a terminal and can wait
// for text in it. Write is safe for concurrent use; only one goroutine may wait.
type Recorder struct {
	t      testing.TB
	mu     sync.Mutex
	output bytes.Buffer
	more   chan struct{}
	// passed is the end of the last awaited text.
	passed int
}

// NewRecorder returns an empty recorder.
func NewRecorder(t testing.TB) *Recorder { return &Recorder{t: t, more: make(chan struct{}, 1)} }

// Write records output.
func (e *Recorder) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default:
	}
	return e.output.Write(p)
}

// String returns all recorded output.
func (e *Recorder) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.output.String()
}

// Await waits until text appears after the previously awaited text. It fails the test on a
// timeout.
func (e *Recorder) Await(text string) {
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
			e.t.Fatalf("timed out waiting for %q: %q", text, all[e.passed:])
		}
	}
}
