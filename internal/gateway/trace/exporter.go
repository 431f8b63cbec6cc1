package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// queueSize is the maximum number of queued spans, batchSize the number sent together,
	// and batchWait how long a span waits for others.
	queueSize = 2048
	batchSize = 512
	batchWait = time.Second
	// attempts is how often a batch is sent if the collector asks to retry.
	attempts = 3
	// closeTimeout is the maximum time for sending the remaining spans on Close.
	closeTimeout = 2 * time.Second
)

// exporter sends spans in the background. Adding a span never blocks.
type exporter struct {
	Settings
	client   *http.Client
	resource []Attribute

	queue chan data
	// mu prevents the queue from being closed while spans are added.
	mu     sync.RWMutex
	closed bool
	// ctx ends when sending must stop. ending is closed when waiting must stop, and ended
	// when the exporter has finished.
	ctx           context.Context
	cancel        context.CancelFunc
	ending, ended chan struct{}

	sent, dropped atomic.Int64
	// down reports whether the collector was unreachable at the last attempt; lost is the
	// number of spans lost since.
	down bool
	lost int
}

// New returns a tracer that exports its spans. It must be closed.
func New(s Settings) *Tracer {
	if s.Timeout <= 0 {
		s.Timeout = usualTimeout
	}
	if s.Report == nil {
		s.Report = func(string) {}
	}
	e := &exporter{
		Settings: s, queue: make(chan data, queueSize), ending: make(chan struct{}), ended: make(chan struct{}),
		// Redirects are not followed: they do not lead to the configured collector.
		client: &http.Client{Timeout: s.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	e.resource = append([]Attribute{String("service.name", s.Service), String("telemetry.sdk.language", "go"), String("telemetry.sdk.name", "firn")}, s.Resource...)
	if s.Version != "" {
		e.resource = append(e.resource, String("service.version", s.Version))
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	go e.run()
	return &Tracer{exporter: e, sampler: s.sampler}
}

// add queues a span, or drops it if the queue is full.
func (e *exporter) add(d data) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		e.dropped.Add(1)
		return
	}
	select {
	case e.queue <- d:
	default:
		e.dropped.Add(1)
	}
}

// run sends queued spans until the queue is closed and empty.
func (e *exporter) run() {
	defer close(e.ended)
	for {
		batch, more := e.gather()
		if len(batch) > 0 {
			e.send(batch)
		}
		if !more {
			return
		}
	}
}

// gather returns the next batch: it waits indefinitely for the first span and for batchWait
// for others. more is false at the end.
func (e *exporter) gather() (batch []data, more bool) {
	first, ok := <-e.queue
	if !ok {
		return nil, false
	}
	batch = append(batch, first)
	wait := time.NewTimer(batchWait)
	defer wait.Stop()
	for len(batch) < batchSize {
		select {
		case d, ok := <-e.queue:
			if !ok {
				return batch, false
			}
			batch = append(batch, d)
		case <-wait.C:
			return batch, true
		}
	}
	return batch, true
}

// send sends a batch, or counts it as lost.
func (e *exporter) send(batch []data) {
	var err error
	body, err := encode(batch, e.resource, e.Version)
	if err == nil {
		body, err = e.pack(body)
	}
	for attempt := 1; err == nil; attempt++ {
		var after time.Duration
		if after, err = e.post(body); err == nil || after == 0 || attempt == attempts || !e.pause(after) {
			break
		}
		err = nil
	}
	if err != nil {
		e.dropped.Add(int64(len(batch)))
		e.lost += len(batch)
		if !e.down {
			e.Report(fmt.Sprintf("cannot send spans; dropping them: %v", err))
		}
		e.down = true
		return
	}
	e.sent.Add(int64(len(batch)))
	if e.down {
		e.Report(fmt.Sprintf("sending spans works again; %d were dropped", e.lost))
	}
	e.down, e.lost = false, 0
}

// pack compresses a body if configured.
func (e *exporter) pack(body []byte) ([]byte, error) {
	if !e.Gzip {
		return body, nil
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// post sends a body once. If the failure is temporary, after is the time until the next
// attempt.
func (e *exporter) post(body []byte) (after time.Duration, err error) {
	r, err := http.NewRequestWithContext(e.ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("cannot reach the collector: %w", err)
	}
	r.Header = e.Header.Clone()
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	r.Header.Set("Content-Type", "application/json")
	if e.Gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := e.client.Do(r)
	if err != nil {
		return 0, err // the next batch tries again
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be reused
	switch code := answer.StatusCode; code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return time.Second, fmt.Errorf("the collector responded with status %d", code)
	default:
		if code < 200 || code > 299 {
			return 0, fmt.Errorf("the collector responded with status %d", code)
		}
	}
	return 0, nil
}

// pause waits for d. It returns false if the exporter is closed in the meantime.
func (e *exporter) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.ending:
		return false
	}
}

// close sends the queued spans, within a time limit, and stops the exporter.
func (e *exporter) close(ctx context.Context) {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.ending)
		close(e.queue)
	}
	e.mu.Unlock()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-e.ended:
	case <-timer.C:
	case <-ctx.Done():
	}
	e.cancel()
	<-e.ended
	e.client.CloseIdleConnections()
}
