package compact

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/window"
)

// TestFailingSummarizers uses summarizers that fail in every way: the session is compacted each
// time, and the number of calls is bounded.
func TestFailingSummarizers(t *testing.T) {
	const size = 16_000
	temporary := &provider.Error{Kind: provider.Temporary, Provider: "p", Model: "m"}
	cases := []struct {
		name  string
		step  scripted.Step
		calls int
		bad   string
	}{
		{"says nothing", scripted.Reply(""), 4, ""},
		{"says blanks", scripted.Reply(" \n "), 4, ""},
		{"only thinks", scripted.Think("hm", ""), 4, "hm"},
		{"calls a tool", scripted.Call("x", "rm", `{}`), 4, ""},
		{"talks and calls", scripted.Join(scripted.Reply("## Goal\nsrc/part0.go"), scripted.Call("x", "rm", `{}`)), 4, ""},
		{"refuses", scripted.Reply("I'm sorry, but I can't help with that."), 4, "sorry"},
		{"sees nothing", scripted.Reply("There is no conversation to summarize."), 4, "no conversation"},
		{"says too little", scripted.Reply("ok"), 4, ""},
		{"invents", scripted.Reply("## Goal\nBake a cake with flour, eggs and a lot of sugar for the birthday."), 4, "cake"},
		{"says ten times too much", scripted.Reply(strings.Repeat("src/part0.go blah ", 5000)), 4, "blah"},
		{"is overloaded", scripted.Fail(temporary), 1, ""},
		{"does not let us in", scripted.Fail(&provider.Error{Kind: provider.Auth}), 1, ""},
		{"refuses the request", scripted.Fail(&provider.Error{Kind: provider.BadRequest}), 1, ""},
		{"always overflows", scripted.Fail(&provider.Error{Kind: provider.Overflow}), 1 + maxSqueeze, ""},
		{"breaks off", scripted.Cut(2, scripted.Reply("## Goal\nsrc/part0.go and more")), 1, ""},
		{"ends without an end", scripted.Step{End: scripted.Silent}, 1, ""},
		{"fails in its own way", scripted.Fail(errors.New("boom")), 1, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			st := open(t, talk(30, 1000)...)
			before := all(t, st)
			m := model(size, scripted.Forever(c.step))
			j := job(st, m, size)
			result, err := Run(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			if result.Strategy != Extractive {
				t.Errorf("strategy %s, want extractive", result.Strategy)
			}
			if n := len(m.Requests()); n != c.calls {
				t.Errorf("called %d times, want %d", n, c.calls)
			}
			summary := compaction(t, result.Entry).Summary
			if c.bad != "" && strings.Contains(summary, c.bad) {
				t.Errorf("an unusable answer is in the summary:\n%s", summary)
			}
			if !strings.Contains(summary, "src/part0.go") {
				t.Errorf("the summary names no file:\n%s", summary)
			}
			usable(t, st, j.Limit(size))
			if after := all(t, st); len(after) != len(before)+1 {
				t.Errorf("%d entries after, %d before", len(after), len(before))
			}
		})
	}
}

// TestModelRecovers checks that the usable answers of an unreliable model are used.
func TestModelRecovers(t *testing.T) {
	const size = 16_000
	fine := scripted.Reply("## Goal\nRead src/part0.go, src/part1.go and the others.")
	st := open(t, talk(30, 1000)...)
	m := model(size, scripted.Reply(""), fine, scripted.Reply(""), scripted.Reply(""), scripted.Forever(fine))
	result, err := Run(t.Context(), job(st, m, size))
	if err != nil {
		t.Fatal(err)
	}
	if result.Strategy != Mixed {
		t.Errorf("strategy %s, want mixed", result.Strategy)
	}
	usable(t, st, job(st, m, size).Limit(size))
}

// TestTooLongIsCut checks that a slightly too long summary is truncated at a line.
func TestTooLongIsCut(t *testing.T) {
	counter := window.Chars{}
	text := "## Goal\n" + strings.Repeat("- one more fact\n", 100)
	m := firn.AssistantText(text).Body.(*firn.Message)
	got, fault := checkSummary(m, &nameBook{}, 10_000, 300, counter)
	if fault != "" || counter.CountText(got) > 300 || !strings.HasSuffix(got, "fact"+cutNotice) {
		t.Errorf("fault %q, %d tokens, ends %q", fault, counter.CountText(got), got[max(0, len(got)-80):])
	}
	if _, fault := checkSummary(m, &nameBook{}, 10_000, 100, counter); fault == "" {
		t.Error("a summary four times too long is accepted")
	}
	m.StopReason = firn.StopLength
	if got, _ := checkSummary(m, &nameBook{}, 10_000, 1000, counter); !strings.HasSuffix(got, cutNotice) {
		t.Error("a truncated answer is not marked as such")
	}
}

// TestHang checks that a model that stops responding is given up in bounded time.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 16_000
		st := open(t, talk(30, 1000)...)
		m := model(size, scripted.Forever(scripted.Hang(1, scripted.Reply("## Goal\nsrc/part0.go"))))
		j := job(st, m, size)
		j.Timeout = time.Minute
		began := time.Now()
		result, err := Run(t.Context(), j)
		if err != nil || result.Strategy != Extractive {
			t.Fatalf("strategy %s, error %v", result.Strategy, err)
		}
		if took := time.Since(began); took != time.Minute || len(m.Requests()) != 1 {
			t.Errorf("took %v, called %d times", took, len(m.Requests()))
		}
	})
}

// TestSlow checks the time limit for all calls together.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 8_000
		st := open(t, talk(100, 1000)...)
		slow := scripted.Step{
			Parts: []firn.Part{firn.Text{Text: "## Goal\nsrc/part0.go, src/part1.go, src/part99.go and others"}},
			Delay: 10 * time.Second,
		}
		j := job(st, model(size, scripted.Forever(slow)), size)
		j.Timeout = time.Minute
		began := time.Now()
		result, err := Run(t.Context(), j)
		if err != nil || result.Strategy != Mixed {
			t.Fatalf("strategy %s, error %v", result.Strategy, err)
		}
		if took := time.Since(began); took > timeoutFactor*time.Minute {
			t.Errorf("took %v", took)
		}
		usable(t, st, j.Limit(size))
	})
}

// TestCancel checks that nothing is written when the context ends.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 16_000
		st := open(t, talk(30, 1000)...)
		before := all(t, st)
		cause := errors.New("the user pressed a key")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		m := model(size, scripted.Forever(scripted.Hang(0, scripted.Reply("x"))))
		if _, err := Run(ctx, job(st, m, size)); !errors.Is(err, cause) {
			t.Errorf("error %v, want the cause", err)
		}
		if after := all(t, st); len(after) != len(before) {
			t.Errorf("%d entries, want %d", len(after), len(before))
		}
		if _, err := Run(t.Context(), job(st, echo(size), size)); err != nil {
			t.Errorf("the next run: %v", err)
		}
	})
}
