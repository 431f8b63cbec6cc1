package webtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/io"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// taskTime is the processor time used by a page's tasks. It is CPU time rather than elapsed
// time, so other processes do not affect it.
type taskTime struct {
	// longest is the longest task of a page's main thread, all the sum of all tasks.
	longest, all time.Duration
	tasks        int
}

// measure records the tasks of a page while a function runs.
func (b *tab) measure(while func()) taskTime {
	b.t.Helper()
	start := tracing.StartParams{
		TransferMode: tracing.StartTransferModeReturnAsStream,
		TraceConfig: &tracing.TraceConfig{
			RecordMode:         tracing.TraceConfigRecordModeRecordContinuously,
			IncludedCategories: []string{"disabled-by-default-devtools.timeline", "devtools.timeline"},
			ExcludedCategories: []string{"*"},
		},
	}
	if _, err := chromedp.Call(b.ctx, tracing.Start, start); err != nil {
		b.fatalf("watching the processor: %v", err)
	}
	while()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	end := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, tracing.End, cdp.Empty{})
		return err
	})
	done, err := chromedp.Run(ctx, chromedp.WaitEvent(tracing.TracingComplete, nil, end))
	if err != nil {
		b.fatalf("watching the processor: %v", err)
	}
	return b.readTrace(done.Stream)
}

// readTrace reads the events of a trace and sums up the tasks of the page.
func (b *tab) readTrace(stream io.StreamHandle) taskTime {
	b.t.Helper()
	var all bytes.Buffer
	for {
		piece, err := chromedp.Call(b.ctx, io.Read, io.ReadParams{Handle: stream, Size: 1 << 20})
		if err != nil {
			b.fatalf("reading what the processor did: %v", err)
		}
		all.Write(piece.Data)
		if piece.EOF {
			break
		}
	}
	var trace struct {
		TraceEvents []event `json:"traceEvents"`
	}
	if err := json.Unmarshal(all.Bytes(), &trace); err != nil {
		b.fatalf("reading what the processor did: %v", err)
	}
	sum := sumUp(trace.TraceEvents)
	if sum.tasks == 0 {
		b.fatalf("the page did nothing at all: %d events", len(trace.TraceEvents))
	}
	return sum
}

// event is a trace event. Its durations are in microseconds.
type event struct {
	Name string  `json:"name"`
	PID  int     `json:"pid"`
	TID  int     `json:"tid"`
	Tdur float64 `json:"tdur"`
	Args struct {
		Name string `json:"name"`
	} `json:"args"`
}

// sumUp sums up the tasks of the main threads of pages.
func sumUp(events []event) taskTime {
	type thread struct{ pid, tid int }
	pages := make(map[thread]bool)
	for _, e := range events {
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			pages[thread{e.PID, e.TID}] = true
		}
	}
	var sum taskTime
	for _, e := range events {
		if e.Name != "RunTask" || !pages[thread{e.PID, e.TID}] {
			continue
		}
		took := time.Duration(e.Tdur) * time.Microsecond
		sum.tasks++
		sum.all += took
		sum.longest = max(sum.longest, took)
	}
	return sum
}

// TestLongTasksAreDetected checks that the measurement detects a busy page, and not one that
// only waits.
func TestLongTasksAreDetected(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!doctype html><link rel=icon href="data:,"><main>here</main>`)
	}))
	t.Cleanup(s.Close)
	b := newTab(t, s.URL)
	b.open("/")
	busy := b.measure(func() {
		b.do(chromedp.Evaluate[chromedp.Void](`setTimeout(() => { let x = 0; for (let i = 0; i < 3e8; i++) x += i % 7; window.done = x })`))
		b.wait("window.done")
	})
	idle := b.measure(func() {
		b.do(chromedp.Evaluate[chromedp.Void](`setTimeout(() => { window.rested = true }, 300)`))
		b.wait("window.rested")
	})
	if busy.longest < 5*idle.longest || busy.longest < 50*time.Millisecond {
		t.Errorf("a busy page took %v at once, an idle one %v", busy.longest, idle.longest)
	}
}
