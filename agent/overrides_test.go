package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/tool"
)

// other makes a second model that the session can choose.
func other(b *workbench, steps ...scripted.Step) *scripted.Model {
	info := scripted.Info()
	info.Name = "other"
	second := scripted.New(info, steps...)
	b.Models = func(p, m string) (provider.Model, error) {
		if p == info.Provider && m == info.Name {
			return second, nil
		}
		return nil, fmt.Errorf("no model %s/%s: %w", p, m, firn.ErrNotFound)
	}
	return second
}

// TestChosenModelUnavailable checks that the agent's model answers if the session's chosen
// one is no longer available, and that the user is notified.
func TestChosenModelUnavailable(t *testing.T) {
	b := play(t, scripted.Reply("I do."))
	other(b)
	gone := firn.NewEntry(&firn.ModelChange{Provider: "acme", Model: "gone"})
	if _, err := b.Store.Append(t.Context(), b.id, store.Any, gone); err != nil {
		t.Fatal(err)
	}
	events, err := b.run(t.Context(), agent.TextInput("Who answers?"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(events, func(e agent.Event) bool {
		n, ok := e.(agent.Notice)
		return ok && strings.Contains(n.Text, "acme/gone") && strings.Contains(n.Text, "using scripted")
	}) {
		t.Errorf("no notice: %v", kinds(events))
	}
	want(t, b.log(), "user: Who answers?", "assistant: I do.")
	b.Model = nil
	if _, err := b.run(t.Context(), agent.TextInput("And now?")); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("without a model of its own the error is %v", err)
	}
	checkClosed(t, b)
}

// TestUnknownThinking checks that an unknown thinking level in a session is ignored.
func TestUnknownThinking(t *testing.T) {
	b := play(t, scripted.Reply("Fine."))
	b.Thinking = provider.ThinkLow
	if _, err := b.Store.Append(t.Context(), b.id, store.Any, firn.NewEntry(&firn.ThinkingChange{Level: "ultra"})); err != nil {
		t.Fatal(err)
	}
	b.runText("go")
	if level := b.model.Requests()[0].Thinking; level != provider.ThinkLow {
		t.Errorf("the thinking level is %q", level)
	}
}

// TestOverrideSurvivesCompaction checks that a choice stays in effect when its entry is
// summarized.
func TestOverrideSurvivesCompaction(t *testing.T) {
	b := playOn(t, small(8000, longReply))
	second := other(b, scripted.Forever(scripted.Reply("I am the other.")))
	b.runText("one")
	chosen := agent.Override{Provider: "scripted", Model: "other", Thinking: provider.ThinkHigh, Verbose: "on"}
	if err := b.Override(t.Context(), b.id, chosen); err != nil {
		t.Fatal(err)
	}
	b.Summarizer, b.Compaction.KeepRecent = b.model, 1000
	for range 2 {
		seed(t, b, 12)
		if _, err := b.Compact(t.Context(), b.id, ""); err != nil {
			t.Fatal(err)
		}
	}
	if out := b.runText("two"); out.Text != "I am the other." {
		t.Errorf("%q answered", out.Text)
	}
	if level := second.Requests()[0].Thinking; level != provider.ThinkHigh {
		t.Errorf("the thinking level is %q", level)
	}
	if items := len(second.Requests()[0].Window.Items); items > 20 {
		t.Errorf("%d messages are sent: nothing was compacted", items)
	}
}

// TestWrongOverrides checks that invalid overrides are rejected and nothing is written.
func TestWrongOverrides(t *testing.T) {
	b := play(t, scripted.Reply("Fine."))
	other(b)
	b.runText("one")
	before := len(b.entries())
	for name, c := range map[string]struct {
		agent.Override
		want error
	}{
		"nothing":                    {agent.Override{}, firn.ErrInvalid},
		"a model without a provider": {agent.Override{Model: "other"}, firn.ErrInvalid},
		"a provider without a model": {agent.Override{Provider: "scripted"}, firn.ErrInvalid},
		"an unknown model":           {agent.Override{Provider: "acme", Model: "gone"}, firn.ErrNotFound},
		"an unknown thinking level":  {agent.Override{Thinking: "ultra"}, firn.ErrInvalid},
		"an unknown verbosity":       {agent.Override{Verbose: "maybe"}, firn.ErrInvalid},
		"one valid and one invalid":  {agent.Override{Thinking: provider.ThinkHigh, Verbose: "maybe"}, firn.ErrInvalid},
	} {
		if err := b.Override(t.Context(), b.id, c.Override); !errors.Is(err, c.want) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	b.Models = nil
	if err := b.Override(t.Context(), b.id, agent.Override{Provider: "scripted", Model: "other"}); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("without a list of models the error is %v", err)
	}
	if err := b.Override(t.Context(), firn.NewID(), agent.Override{Verbose: "on"}); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("the error for a missing session is %v", err)
	}
	if n := len(b.entries()) - before; n != 0 {
		t.Errorf("%d entries were written", n)
	}
}

// TestSummarizer checks that summaries are made by the configured model and answers by the
// agent's model.
func TestSummarizer(t *testing.T) {
	b := playOn(t, small(8000, longReply))
	summarizer := scripted.New(scripted.Info(), scripted.Forever(scripted.Reply("## Goal\nTo sum up.\n## Progress\nMuch was said.")))
	b.Summarizer = summarizer
	seed(t, b, 20)
	b.runText("go")
	first := b.entries()[1].ID
	if _, err := b.Move(t.Context(), b.id, first, true); err != nil {
		t.Fatal(err)
	}
	if compactions(b) != 1 || len(summarizer.Requests()) < 2 {
		t.Errorf("%d compactions, %d summaries", compactions(b), len(summarizer.Requests()))
	}
	if asked := purposes(b.model); asked[provider.ForSummary] != 0 || asked[provider.ForTurn] != 1 {
		t.Errorf("the agent's model was called for %v", asked)
	}
	if asked := purposes(summarizer); asked[provider.ForSummary] != len(summarizer.Requests()) {
		t.Errorf("the summarizer was called for %v", asked)
	}
}

// purposes counts the purposes of the requests to a model.
func purposes(m *scripted.Model) map[provider.Purpose]int {
	asked := map[provider.Purpose]int{}
	for _, req := range m.Requests() {
		asked[req.Purpose]++
	}
	return asked
}

// TestResultBudget checks that the oldest tool results are omitted from a request when the
// budget is exceeded, and that the log still has all of them in full.
func TestResultBudget(t *testing.T) {
	long := strings.Repeat("0123456789", 300)
	var steps []scripted.Step
	for i := range 8 {
		steps = append(steps, scripted.Call(fmt.Sprint(i), "echo", arg(fmt.Sprint(i, " ", long))))
	}
	b := play(t, append(steps, scripted.Reply("Fine."))...)
	b.Tools = []tool.Tool{echo("echo")}
	b.ResultBudget = 10_000
	b.runText("go")
	results, sent := 0, b.model.Requests()[8].Window
	for _, it := range sent.Items {
		if r, ok := it.Message.Parts[0].(firn.ToolResult); ok {
			results += len(firn.JoinText(r.Content))
		}
	}
	if results > b.ResultBudget || results < 9000 {
		t.Errorf("%d characters of results are sent", results)
	}
	for i := range 8 {
		result := fmt.Sprint("=", i, " ", long)
		if strings.Contains(b.sent(8), result) != (i >= 5) {
			t.Errorf("result %d: wrongly sent or omitted", i)
		}
		if !strings.Contains(b.log(), result) {
			t.Errorf("result %d is not in the log", i)
		}
	}
	b.accepted()
}

// TestImages checks that images are sent to a model that supports them, and to one for which
// this is unknown, but not to one that does not support them.
func TestImages(t *testing.T) {
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	for name, c := range map[string]struct {
		sees, assumed bool
		want          int
	}{
		"supports images": {true, false, 1}, "does not": {false, false, 0}, "unknown": {false, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			info := scripted.Info()
			info.Sees, info.Assumed = c.sees, c.assumed
			b := playOn(t, scripted.New(info, scripted.Reply("Fine.")))
			in := agent.TextInput("What is this?")
			in.Parts = append(in.Parts, firn.Image{MimeType: "image/png", Data: pixel})
			if _, err := b.run(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			sent := 0
			for _, p := range b.model.Requests()[0].Window.Items[0].Message.Parts {
				if _, ok := p.(firn.Image); ok {
					sent++
				}
			}
			if sent != c.want {
				t.Errorf("%d images are sent", sent)
			}
			b.accepted()
		})
	}
}

// TestHiddenDrafts hides an answer that was saved while it was streamed: none of its drafts
// reappears as a truncated answer.
func TestHiddenDrafts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := scripted.Reply(strings.Repeat("The secret is 42. ", 40))
		slow.Delay = 100 * time.Millisecond
		b := play(t, slow, scripted.Reply("Fine."))
		out := b.runText("one")
		if drafted(b) == "" {
			t.Fatal("no drafts were saved, so the test checks nothing")
		}
		if _, err := b.Store.Append(context.Background(), b.id, store.Any, firn.Hide(out.Entry)); err != nil {
			t.Fatal(err)
		}
		events, err := b.run(t.Context(), agent.TextInput("two"))
		if err != nil || events[0].(agent.Started).Recovered {
			t.Errorf("%+v, %v", events[0], err)
		}
		if n := strings.Count(b.log(), "assistant: The secret"); n != 1 {
			t.Errorf("it is stored %d times", n)
		}
		want(t, b.sent(1), "user: one two")
	})
}
