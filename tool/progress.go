package tool

import (
	"context"
	"sync"
	"time"

	"firn.dev"
)

type progressKey struct{}

// WithProgress returns a context in which a tool's calls of [Progress] are passed to report.
// Report must be safe for concurrent use.
func WithProgress(ctx context.Context, report func(text string)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// Progress reports output of a call that is still running. It is for display only: the
// result of the call must contain everything. Without [WithProgress] it does nothing.
func Progress(ctx context.Context, text string) {
	if report, ok := ctx.Value(progressKey{}).(func(string)); ok && text != "" {
		report(text)
	}
}

const (
	// progressInterval is the least time between two reports of one call.
	progressInterval = 200 * time.Millisecond
	// maxProgress limits one report; of more output only the end is reported.
	maxProgress = 8 << 10
)

// progressWriter collects output and reports it at intervals.
type progressWriter struct {
	report func(string)
	mu     sync.Mutex
	held   []byte
	timer  *time.Timer
	closed bool
}

// newProgress returns a writer that reports to the context; nil if it takes no reports.
func newProgress(ctx context.Context) *progressWriter {
	report, ok := ctx.Value(progressKey{}).(func(string))
	if !ok {
		return nil
	}
	return &progressWriter{report: report}
}

// add adds output. The first report follows after progressInterval.
func (p *progressWriter) add(b []byte) {
	if p == nil || len(b) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = append(p.held, b...)
	if n := len(p.held) - maxProgress; n > 0 {
		p.held = append(p.held[:0], p.held[n:]...)
	}
	if p.timer == nil && !p.closed {
		p.timer = time.AfterFunc(progressInterval, p.flush)
	}
}

// flush reports the held output up to the last complete character.
func (p *progressWriter) flush() {
	p.mu.Lock()
	p.timer = nil
	text := wholeStart(string(p.held))
	whole := wholeEnd(text)
	p.held = append(p.held[:0], text[len(whole):]...)
	p.mu.Unlock()
	if clean, _ := firn.CleanText(whole); clean != "" {
		p.report(clean)
	}
}

// close stops the timer. Held output is dropped: the result follows.
func (p *progressWriter) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
}
