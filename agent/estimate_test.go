package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/tool"
)

// runes returns the size of a request for a model with one token per rune: four times firn's
// estimate.
func runes(req provider.Request) int64 {
	n := utf8.RuneCountInString(req.Window.System)
	for _, it := range req.Window.Items {
		for _, p := range it.Message.Parts {
			if text, ok := p.(firn.Text); ok {
				n += utf8.RuneCountInString(text.Text)
			}
		}
	}
	return int64(n)
}

// chinese is a model that counts runes, reports them, and rejects requests larger than its
// window.
func chinese(size int64) *scripted.Model {
	info := scripted.Info()
	info.Window, info.MaxOutput = size, 1000
	var m *scripted.Model
	m = scripted.Func(info, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		n := runes(req)
		if n > size {
			return m.Play(ctx, req, scripted.Fail(&provider.Error{Kind: provider.Overflow, Message: fmt.Sprint("too long: ", n)}))
		}
		step := scripted.Reply(strings.Repeat("天地玄黄宇宙洪荒", 60))
		if req.Purpose == provider.ForSummary {
			step = scripted.Reply("## Goal\n" + strings.Repeat("学习汉字", 100) + "\n## Progress\n" + strings.Repeat("学习汉字", 50))
		}
		step.Usage = &firn.Usage{Input: n, Output: 480, Total: n + 480}
		return m.Play(ctx, req, step)
	})
	return m
}

// TestUnderestimated uses Chinese text with a model for which firn estimates a quarter of the
// tokens. No turn fails in any mode, and only the mode Auto compacts.
func TestUnderestimated(t *testing.T) {
	for _, mode := range []compact.Mode{compact.Auto, compact.Suggest, compact.Off} {
		t.Run(string(mode), func(t *testing.T) {
			b := playOn(t, chinese(8000))
			b.Compaction.Mode = mode
			for i := range 60 {
				if _, err := b.run(t.Context(), agent.TextInput(fmt.Sprint(i, strings.Repeat("日月盈昃辰宿列张", 60)))); err != nil {
					t.Fatalf("turn %d: %v", i, err)
				}
			}
			if n := compactions(b); (n > 0) != (mode == compact.Auto) {
				t.Errorf("there were %d compactions", n)
			}
			b.accepted()
		})
	}
}

// TestUnreported uses a model that rejects requests far below its window without reporting
// a size.
func TestUnreported(t *testing.T) {
	for _, mode := range []compact.Mode{compact.Auto, compact.Suggest, compact.Off} {
		for _, factor := range []int64{2, 3, 4, 7} {
			t.Run(fmt.Sprint(mode, " by ", factor), func(t *testing.T) {
				b := playOn(t, small(8000, func(req provider.Request) scripted.Step {
					if (req.Window.Tokens.System+req.Window.Tokens.Items)*factor > 8000 {
						return scripted.Fail(&provider.Error{Kind: provider.Overflow, Message: "too long"})
					}
					s := scripted.Reply(strings.Repeat("All work and no play. ", 20))
					s.Usage = &firn.Usage{}
					return s
				}))
				b.Compaction.Mode = mode
				for i := range 60 {
					if _, err := b.run(t.Context(), agent.TextInput(fmt.Sprint(i, strings.Repeat(" why?", 60)))); err != nil {
						t.Fatalf("turn %d: %v", i, err)
					}
				}
				b.accepted()
			})
		}
	}
}

// TestSuggestedWhenRefused uses a model that accepts a twentieth of its stated window:
// compaction is suggested once, nothing is compacted, and the turn continues with fewer
// turns.
func TestSuggestedWhenRefused(t *testing.T) {
	b := playOn(t, small(100_000, func(provider.Request) scripted.Step {
		return scripted.Step{Parts: []firn.Part{firn.Text{Text: "Fine."}}, OverflowAt: 5000}
	}))
	b.Compaction.Mode = compact.Suggest
	seed(t, b, 20)
	events, err := b.run(t.Context(), agent.TextInput("go"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, kinds(events), "Started Appended CompactionDue Delta Appended WindowUsage Finished")
	b.accepted()
}

// TestModelRejectsEverything uses a model that rejects everything: the turn fails soon, in every
// mode.
func TestModelRejectsEverything(t *testing.T) {
	for _, mode := range []compact.Mode{compact.Auto, compact.Suggest, compact.Off} {
		t.Run(string(mode), func(t *testing.T) {
			b := playOn(t, small(8000, func(provider.Request) scripted.Step {
				return scripted.Fail(&provider.Error{Kind: provider.Overflow, Message: "too long"})
			}))
			b.Compaction.Mode = mode
			seed(t, b, 10)
			_, err := b.run(t.Context(), agent.TextInput("go"))
			var big *compact.TooBig
			if !errors.As(err, &big) || provider.KindOf(err) != provider.Overflow || !errors.Is(err, firn.ErrTooLarge) {
				t.Errorf("the error is %v", err)
			}
			if n := len(b.model.Requests()); n > 6 {
				t.Errorf("the model was called %d times", n)
			}
			checkClosed(t, b)
		})
	}
}

// TestModelRejectsEveryOtherRequest uses a model that rejects every other request: the turn
// compacts at most twice and then fails.
func TestModelRejectsEveryOtherRequest(t *testing.T) {
	n := 0
	b := playOn(t, small(8000, func(req provider.Request) scripted.Step {
		if n++; n%2 == 1 {
			return scripted.Fail(&provider.Error{Kind: provider.Overflow, Message: "too long"})
		}
		return scripted.Call(fmt.Sprint(n), "echo", arg(fmt.Sprint(n)))
	}))
	b.Tools = []tool.Tool{echo("echo")}
	seed(t, b, 10)
	events, err := b.run(t.Context(), agent.TextInput("go"))
	tried := 0
	for _, e := range events {
		if c, ok := e.(agent.CompactionStarted); ok && c.Reason == string(compact.Overflow) {
			tried++
		}
	}
	var big *compact.TooBig
	if tried != 2 || !errors.As(err, &big) {
		t.Errorf("%d compactions were tried, the error is %v", tried, err)
	}
	b.accepted()
}

// TestSystemTooBig uses a system prompt larger than the window: the turn fails without
// calling the model. With a smaller one the session continues.
func TestSystemTooBig(t *testing.T) {
	b := playOn(t, small(4000, func(provider.Request) scripted.Step { return scripted.Reply("Fine.") }))
	b.System = strings.Repeat("rule ", 5000)
	seed(t, b, 20)
	_, err := b.run(t.Context(), agent.TextInput("go"))
	var big *compact.TooBig
	if !errors.As(err, &big) || big.System < big.Window || big.Window != 4000 {
		t.Errorf("the error is %v", err)
	}
	if n := len(b.model.Requests()); n != 0 {
		t.Errorf("the model was called %d times", n)
	}
	b.System = "Be brief."
	b.runText("and now?")
	b.accepted()
}

// TestUnknownWindow checks the default window of a model that does not state its size.
func TestUnknownWindow(t *testing.T) {
	for _, mode := range []compact.Mode{compact.Auto, compact.Off} {
		t.Run(string(mode), func(t *testing.T) {
			b := play(t, scripted.Call("1", "large", `{}`), scripted.Reply("Fine."))
			b.Model = modelWithoutWindow{b.model}
			b.Compaction.Mode = mode
			b.Tools = []tool.Tool{tool.New("large", "", func(context.Context, struct{}) (tool.Result, error) {
				return tool.TextResult(strings.Repeat("x", 20_000)), nil
			})}
			seed(t, b, 40)
			events, err := b.run(t.Context(), agent.TextInput("go"))
			if err != nil {
				t.Fatal(err)
			}
			usage := events[len(events)-2].(agent.WindowUsage)
			if usage.Window != provider.AssumedWindow || compactions(b) != 0 {
				t.Errorf("%d compactions, the events are %+v", compactions(b), usage)
			}
			if items := len(b.model.Requests()[1].Window.Items); items != 83 {
				t.Errorf("%d messages are sent", items)
			}
			if sent := b.sent(1); !strings.Contains(sent, strings.Repeat("x", 20_000)) {
				t.Error("the result is cut")
			}
		})
	}
}

// modelWithoutWindow is a model that does not state the size of its window.
type modelWithoutWindow struct{ *scripted.Model }

func (u modelWithoutWindow) Info() provider.Info {
	info := u.Model.Info()
	info.Spec = provider.Spec{}
	return info
}
