package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/provider"
)

func endTests() []test {
	script := []Lack{NoScript}
	return []test{
		{name: "canceled before the request", run: testCancelledBefore},
		{name: "canceled during the answer", run: testCancelled, needs: script},
		{name: "deadline exceeded", run: testDeadline, needs: script},
		{name: "the caller stops reading", run: testBreak},
		{name: "the caller stops reading while the provider sends nothing", run: testBreakHeld, needs: script},
		{name: "connection broken at every byte", run: func(s *suite) { testCut(s, Broken) }, needs: script},
		{name: "connection closed at every byte", run: func(s *suite) { testCut(s, Closed) }, needs: script},
	}
}

// errUserLeft is the cancellation cause in tests.
var errUserLeft = errors.New("the user went away")

// long returns an answer with many deltas.
func long() Answer {
	return Answer{Text: strings.Repeat("and so on ", 100), Usage: firn.Usage{Input: 10, Output: 300}, Stop: firn.StopEnd}
}

// half returns a part that is sent only halfway.
func half(a Answer, end End) Part {
	return Part{Answer: a, end: end, limit: func(total int) int { return total / 2 }}
}

// checkCanceled checks the outcome of a request whose context ended.
func (s *suite) checkCanceled(o outcome, cause error) {
	s.Helper()
	if o.err == nil {
		s.Fatal("the answer is complete")
	}
	if !errors.Is(o.err, cause) {
		s.Errorf("the error is %v, want the cause %v", o.err, cause)
	}
	if kind := provider.KindOf(o.err); kind != "" {
		s.Errorf("the error is the provider's, of kind %s: %v", kind, o.err)
	}
}

func testCancelledBefore(s *suite) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	cancel(errUserLeft)
	o := s.ask(ctx, s.request("Hello."))
	s.checkCanceled(o, errUserLeft)
	if len(o.deltas) > 0 {
		s.Errorf("there were %d deltas", len(o.deltas))
	}
}

func testCancelled(s *suite) {
	s.play.set(half(long(), Stalled))
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	o := s.drain(ctx, s.request("Go on."), func() { cancel(errUserLeft) })
	s.checkCanceled(o, errUserLeft)
	if len(o.deltas) == 0 {
		s.Error("there was no delta before")
	}
}

func testDeadline(s *suite) {
	s.play.set(half(long(), Stalled))
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Millisecond)
	defer cancel()
	s.checkCanceled(s.ask(ctx, s.request("Go on.")), context.DeadlineExceeded)
}

func testBreak(s *suite) {
	s.play.set(Part{Answer: long()})
	for range 3 {
		for range s.model.Stream(s.ctx, s.request("Go on.")) {
			break
		}
	}
	s.mustAnswer(s.request("Still there?"))
}

// testBreakHeld breaks out of a stream that the provider holds open. The suite checks that
// neither the model's nor the provider's goroutine is leaked.
func testBreakHeld(s *suite) {
	s.play.set(half(long(), Stalled))
	before := goroutines()
	for _, err := range s.model.Stream(s.ctx, s.request("Go on.")) {
		if err != nil {
			s.Fatal(err)
		}
		break
	}
	checkGoroutines(s.T, before)
}

// testCut truncates an answer at every possible position. A truncated answer must never be
// reported as complete.
func testCut(s *suite, end End) {
	whole := Answer{
		Text: "Let me see.", Usage: firn.Usage{Input: 100, Output: 20}, Stop: firn.StopToolUse,
		Calls: []firn.ToolCall{{ID: "call_1", Name: "read", Arguments: json.RawMessage(`{"path":"a.txt"}`)}},
	}
	if s.can(NoThinking) {
		whole.Thinking = "Hm, well."
	}
	step, failures := 1, 0
	for at, total := 0, 1; at < total; at += step {
		if testing.Short() && total > 100 {
			step = 5
		}
		s.play.set(Part{Answer: whole, end: end, limit: func(n int) int { total = n; return at }})
		o := s.ask(s.ctx, s.request("Go on."))
		if o.err != nil {
			failures++
			if kind := provider.KindOf(o.err); kind != provider.Temporary {
				s.Fatalf("cut after %d of %d: an error of kind %q: %v", at, total, kind, o.err)
			}
			continue
		}
		// Only an end without content may be missing.
		complete := slices.Equal(withoutIDs(partPieces(o.done.Parts)), withoutIDs(whole.pieces())) && o.done.StopReason == whole.Stop
		if end == Broken {
			complete = complete && o.done.Usage != nil && o.done.Usage.Output == whole.Usage.Output
		}
		if !complete {
			s.Fatalf("cut after %d of %d: reported as complete: %q, stopped for %s, usage %+v", at, total, partPieces(o.done.Parts), o.done.StopReason, o.done.Usage)
		}
	}
	if failures == 0 {
		s.Fatal("no answer was cut: the encoder must call Part.Of")
	}
}
