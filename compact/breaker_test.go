package compact

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
)

// failing returns a summarizer that fails, or answers uselessly, while bad is set.
func failing(size int64, bad *bool, useless bool) *scripted.Model {
	var m *scripted.Model
	m = scripted.Func(info(size), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		switch {
		case *bad && useless:
			return m.Play(ctx, req, scripted.Reply("no"))
		case *bad:
			return func(yield func(provider.Event, error) bool) {
				yield(nil, &provider.Error{Kind: provider.Temporary, Status: 500, Message: "on fire"})
			}
		}
		return m.Play(ctx, req, scripted.Reply(good(asked(req))))
	})
	return m
}

// TestBreakerCountsTheSummarizer makes the summarizer fail in every run, for every reason:
// each failure counts once, after three no model is called though the session is still
// compacted, and after the cooldown one run calls it again.
func TestBreakerCountsTheSummarizer(t *testing.T) {
	const size = 16_000
	for _, useless := range []bool{false, true} {
		bad := true
		st := open(t, talk(60, 1000)...)
		m := failing(size, &bad, useless)
		j := job(st, m, size)
		now := time.Now()
		j.Clock = func() time.Time { return now }
		compacts := func(reason Reason) Result {
			t.Helper()
			j.Reason = reason
			result, err := Run(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			add(t, st, talk(60, 1000)...)
			return result
		}
		for i, reason := range []Reason{Threshold, Overflow, Manual} {
			asked := len(m.Requests())
			if result := compacts(reason); result.Failure == nil || result.Strategy != Extractive || len(m.Requests()) == asked {
				t.Fatalf("%s: %+v", reason, result)
			}
			if b := BreakerOf(live(t, st)); b.Failures != i+1 || b.Error == "" || b.Nothing {
				t.Fatalf("after %d failures the breaker is %+v", i+1, b)
			}
		}
		asked := len(m.Requests())
		for range 4 { // which cut off the entries of the failures
			now = now.Add(time.Minute)
			if result := compacts(Threshold); result.Strategy != Extractive || result.Failure != nil {
				t.Errorf("open, the result is %+v", result)
			}
		}
		b := BreakerOf(live(t, st))
		if len(m.Requests()) != asked || b.Failures != 3 || !b.IsOpen(j.Settings, now) {
			t.Errorf("open, the model was called %d times, and the breaker is %+v", len(m.Requests())-asked, b)
		}
		now = b.Until(j.Settings)
		compacts(Threshold)
		if b := BreakerOf(live(t, st)); len(m.Requests()) == asked || b.Failures != 4 || !b.IsOpen(j.Settings, now) {
			t.Errorf("after the cooldown the breaker is %+v", b)
		}
		bad, now = false, now.Add(defaultCooldown)
		if result := compacts(Threshold); result.Strategy != ByModel || BreakerOf(live(t, st)).Failures != 0 {
			t.Errorf("after the repair the result is %+v, and the breaker is %+v", result, BreakerOf(live(t, st)))
		}
	}
}

// TestBreakerClosesAfterCooldown makes whole runs fail: the breaker is open for the cooldown,
// returns its end, and then allows a run.
func TestBreakerClosesAfterCooldown(t *testing.T) {
	const size = 8_000
	st := open(t, talk(30, 1000)...)
	j := job(st, echo(size), size)
	j.System = 7000
	for range 3 {
		Run(t.Context(), j)
	}
	b := BreakerOf(live(t, st))
	j.System = 0
	j.Clock = func() time.Time { return b.Until(j.Settings).Add(-time.Second) }
	if _, err := Run(t.Context(), j); !errors.Is(err, ErrPaused) || !strings.Contains(err.Error(), "until "+b.Until(j.Settings).Local().Format("15:04")) {
		t.Errorf("before the cooldown is over: %v", err)
	}
	j.Clock = func() time.Time { return b.Until(j.Settings) }
	if _, err := Run(t.Context(), j); err != nil || failures(live(t, st)) != 0 {
		t.Errorf("after the cooldown: %v", err)
	}
	// A clock that was set back does not keep it open.
	if b := (Breaker{Failures: 3, Last: time.Now().Add(time.Hour)}); b.IsOpen(Settings{}, time.Now()) {
		t.Error("a failure in the future keeps the breaker open")
	}
}

// TestTokensBefore checks that the size of the rejected request is recorded, not that of a
// window.
func TestTokensBefore(t *testing.T) {
	st := open(t, talk(4, 500)...)
	j := job(st, echo(200_000), 100_000)
	j.Reason, j.Refused, j.KeepRecent = Overflow, 4_200, 100
	result, err := Run(t.Context(), j)
	if err != nil || result.Before != 4_200 || compaction(t, result.Entry).TokensBefore != 4_200 {
		t.Errorf("before it were %d tokens, %v", result.Before, err)
	}
}

// TestKeepsUnansweredMessage compacts the entries before a message that alone exceeds
// the threshold: the message is kept whole. Without Keep it is not, so that the threshold
// is met.
func TestKeepsUnansweredMessage(t *testing.T) {
	for _, keep := range []bool{true, false} {
		for _, reason := range []Reason{Threshold, Overflow} {
			st := open(t, append(talk(10, 500), firn.UserText("Answer this. "+strings.Repeat("and so on ", 1000)))...)
			question := live(t, st).Head
			j := job(st, echo(16_000), 16_000)
			j.Reason, j.Settings.Threshold, j.KeepRecent = reason, 1000, 1
			if keep {
				j.Keep = question
			}
			if _, err := Run(t.Context(), j); err != nil {
				t.Fatalf("%s: %v", reason, err)
			}
			kept := slices.ContainsFunc(live(t, st).Entries, func(e firn.Entry) bool { return e.ID == question })
			if kept != keep {
				t.Errorf("%s, keep %t: the message is kept: %t", reason, keep, kept)
			}
		}
	}
}
