package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
)

// shortly answers in one word.
func shortly(provider.Request) scripted.Step { return scripted.Reply("Fine.") }

// ended returns how the compactions of a turn ended.
func ended(events []agent.Event) []agent.CompactionDone {
	var done []agent.CompactionDone
	for _, e := range events {
		if c, ok := e.(agent.CompactionDone); ok {
			done = append(done, c)
		}
	}
	return done
}

// TestBeforeCompaction has the hook cancel a compaction, supply its summary, and fail. The
// turn continues each time.
func TestBeforeCompaction(t *testing.T) {
	failure := errors.New("the hook failed")
	for name, c := range map[string]struct {
		decision compact.Decision
		err      error
		want     error
		strategy compact.Strategy
	}{
		"lets it":  {strategy: compact.ByModel},
		"cancels":  {decision: compact.Decision{Cancel: true}, want: compact.ErrCanceled},
		"supplies": {decision: compact.Decision{Summary: "All that was said before."}, strategy: compact.ByHook},
		"fails":    {err: failure, want: failure},
	} {
		t.Run(name, func(t *testing.T) {
			b := playOn(t, small(8000, shortly))
			seed(t, b, 20)
			b.Hooks.BeforeCompaction = func(_ context.Context, run agent.Run, plan compact.Plan) (compact.Decision, error) {
				if run.Session != b.id || run.Prompt != "go" || len(plan.Summarize) == 0 {
					t.Errorf("the hook receives %+v with %d entries", run.Prompt, len(plan.Summarize))
				}
				return c.decision, c.err
			}
			events, err := b.run(t.Context(), agent.TextInput("go"))
			if err != nil {
				t.Fatal(err)
			}
			done := ended(events)
			if len(done) != 1 || !errors.Is(done[0].Err, c.want) || done[0].Strategy != string(c.strategy) {
				t.Fatalf("it ended with %+v", done)
			}
			if n := compactions(b); (n == 1) != (c.want == nil) {
				t.Errorf("there were %d compactions", n)
			}
			requests := b.model.Requests()
			if last := requests[len(requests)-1]; last.Window.Tokens.Items > 8000 || !strings.Contains(b.sent(len(requests)-1), c.decision.Summary) {
				t.Errorf("%d tokens are sent", last.Window.Tokens.Items)
			}
			b.accepted()
		})
	}
}

// TestBreaker checks that compaction is not tried after three failures until the breaker is
// closed, while turns continue.
func TestBreaker(t *testing.T) {
	b := playOn(t, small(8000, shortly))
	seed(t, b, 20)
	asked, failing := 0, true
	b.Hooks.BeforeCompaction = func(context.Context, agent.Run, compact.Plan) (compact.Decision, error) {
		if asked++; failing {
			return compact.Decision{}, errors.New("not now")
		}
		return compact.Decision{}, nil
	}
	for range 6 {
		b.runText("go")
	}
	if asked != 3 {
		t.Errorf("it was tried %d times", asked)
	}
	failing = false
	events, err := b.run(t.Context(), agent.TextInput("go"))
	if done := ended(events); err != nil || len(done) != 1 || !errors.Is(done[0].Err, compact.ErrPaused) {
		t.Errorf("open, it ended with %+v, %v", done, err)
	}
	reset := firn.NewEntry(&firn.Custom{Type: "firn.compaction-breaker", Data: json.RawMessage(`{"state":"closed"}`)})
	if _, err := b.Store.Append(t.Context(), b.id, store.Any, reset); err != nil {
		t.Fatal(err)
	}
	b.runText("go")
	if compactions(b) != 1 || asked != 4 {
		t.Errorf("closed, it was tried %d times and there were %d", asked, compactions(b))
	}
	b.accepted()
}

// TestLimits checks that compaction starts at a number of tokens or a share of the window,
// whichever is less.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		compact.Settings
		want int
	}{
		"far from full":       {compact.Settings{}, 0},
		"above the threshold": {compact.Settings{Threshold: 4000, KeepRecent: 1000}, 1},
		"below the threshold": {compact.Settings{Threshold: 7000}, 0},
		"above the fraction":  {compact.Settings{Fraction: 0.04, KeepRecent: 1000}, 1},
		"below the fraction":  {compact.Settings{Fraction: 0.07}, 0},
		"above one of them":   {compact.Settings{Threshold: 4000, Fraction: 0.9, KeepRecent: 1000}, 1},
		"above all but off":   {compact.Settings{Mode: compact.Off, Threshold: 4000}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := playOn(t, small(100_000, shortly))
			b.Compaction = c.Settings
			seed(t, b, 10)
			b.runText("go")
			if n := compactions(b); n != c.want {
				t.Errorf("there were %d compactions", n)
			}
		})
	}
}

// TestMoveWithSummary leaves a branch: the model is sent a summary instead of its messages,
// and its usage counts. An empty branch is left without a summary.
func TestMoveWithSummary(t *testing.T) {
	b := playOn(t, small(100_000, shortly))
	b.runText("one")
	first := b.entries()[2].ID // the first answer
	b.runText("on the branch " + strings.Repeat("many words here ", 300))
	before := readCounted(t, b)
	moved, err := b.Move(t.Context(), b.id, first, true)
	if err != nil || moved.Parent != first {
		t.Fatalf("moved to %s: %v", moved.Parent, err)
	}
	if after := readCounted(t, b); after.Answers != before.Answers+1 || after.Input <= before.Input || after.Turns != before.Turns {
		t.Errorf("counted were %+v, and now %+v", before, after)
	}
	b.runText("two")
	requests := b.model.Requests()
	if sent := b.sent(len(requests) - 1); strings.Contains(sent, "on the branch") || !strings.Contains(sent, "Much was said.") || !strings.HasPrefix(sent, "user: one") {
		t.Errorf("sent:\n%s", sent)
	}
	asked := len(b.model.Requests())
	if head, err := b.Move(t.Context(), b.id, b.entries()[len(b.entries())-2].ID, true); err != nil || head.Body.Kind() != firn.KindHead {
		t.Errorf("moving to the current head gave %v, %v", head.Body, err)
	}
	if n := len(b.model.Requests()) - asked; n != 0 {
		t.Errorf("the model was called %d times without need", n)
	}
	b.accepted()
}

// TestMoveToMissing checks that moving a missing session, or moving to a missing entry, fails.
func TestMoveToMissing(t *testing.T) {
	b := play(t, scripted.Reply("Fine."))
	for _, summarize := range []bool{true, false} {
		if _, err := b.Move(t.Context(), b.id, firn.Root, summarize); !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("the error is %v", err)
		}
	}
	b.runText("one")
	for _, summarize := range []bool{true, false} {
		if _, err := b.Move(t.Context(), b.id, "nowhere", summarize); !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("the error is %v", err)
		}
	}
}

// TestMoveToTheBeginning leaves everything, with a model and without one.
func TestMoveToTheBeginning(t *testing.T) {
	b := playOn(t, small(100_000, shortly))
	b.runText("one " + strings.Repeat("many words here ", 300))
	good := b.Model
	b.Model = nil
	if _, err := b.Move(t.Context(), b.id, firn.Root, true); err != nil {
		t.Fatal(err)
	}
	b.Model = good
	b.runText("two")
	requests := b.model.Requests()
	if items := requests[len(requests)-1].Window.Items; len(items) != 1 {
		t.Errorf("%d messages are sent", len(items))
	}
	b.accepted()
}
