package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"firn.dev/window"
)

// The tests in this file cover invalid behavior of models, tools and users.

// TestInvalidCallsAndResults uses invalid calls and results that cannot be stored. The model
// is sent an error, and the session continues.
func TestInvalidCallsAndResults(t *testing.T) {
	for name, c := range map[string]struct {
		step scripted.Step
		want []string // how the results begin
	}{
		"arguments that are a list":   {scripted.Call("1", "echo", `[1]`), []string{"!invalid arguments for echo"}},
		"no arguments":                {scripted.Call("1", "echo", ``), []string{"!invalid arguments for echo"}},
		"no name":                     {scripted.Call("1", "", arg("a")), []string{`!unknown tool "";`}},
		"the same id twice":           {scripted.Join(scripted.Call("1", "echo", arg("a")), scripted.Call("1", "echo", arg("b"))), []string{"=a", "=b"}},
		"no ids":                      {scripted.Join(scripted.Call("", "echo", arg("a")), scripted.Call("", "echo", arg("b"))), []string{"=a", "=b"}},
		"a result that is not a part": {scripted.Call("1", "odd", `{}`), []string{"![firn] the tool's result cannot be stored"}},
		"details that are too deep":   {scripted.Call("1", "deep", `{}`), []string{"![firn] the tool's result cannot be stored"}},
		"details that are not JSON":   {scripted.Call("1", "broken", `{}`), []string{"=broken"}},
		"one of them":                 {scripted.Join(scripted.Call("1", "echo", arg("a")), scripted.Call("2", "odd", `{}`), scripted.Call("3", "echo", arg("c"))), []string{"=a", "![firn] the tool's result", "=c"}},
		"a result beside an error":    {scripted.Call("1", "half", `{}`), []string{"!half of it\nthen it broke"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := play(t, c.step, scripted.Reply("Fine."), scripted.Reply("Still here."))
			b.Tools = []tool.Tool{echo("echo"),
				giving("odd", tool.Result{Parts: []firn.Part{firn.Shell{Command: "ls", Output: "x"}}}, nil),
				giving("deep", tool.Result{Parts: []firn.Part{firn.Text{Text: "deep"}}, Details: []byte(strings.Repeat("[", 9000) + strings.Repeat("]", 9000))}, nil),
				giving("broken", tool.Result{Parts: []firn.Part{firn.Text{Text: "broken"}}, Details: []byte("{")}, nil),
				giving("half", tool.TextResult("half of it"), errors.New("then it broke")),
			}
			b.runText("go")
			b.runText("and now?")
			var results []string
			for _, e := range b.entries() {
				if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleToolResult {
					results = append(results, strings.TrimPrefix(brief(m), "toolResult: "))
				}
			}
			if len(results) != len(c.want) {
				t.Fatalf("the results are %q", results)
			}
			for i, begin := range c.want {
				if !strings.HasPrefix(results[i], begin) {
					t.Errorf("result %d is %q, want %q", i, results[i], begin)
				}
			}
			b.accepted()
		})
	}
}

// giving returns a tool that always returns the same result.
func giving(name string, r tool.Result, err error) tool.Tool {
	return tool.Func(name, "", nil, func(context.Context, json.RawMessage) (tool.Result, error) { return r, err })
}

// TestThousandParallelCalls checks that all of a thousand parallel calls run and that the
// results are in order.
func TestThousandParallelCalls(t *testing.T) {
	var steps []scripted.Step
	for i := range 1000 {
		steps = append(steps, scripted.Call(fmt.Sprint(i), "echo", arg(fmt.Sprint(i))))
	}
	b := play(t, scripted.Join(steps[0], steps[1:]...), scripted.Reply("Fine."))
	b.Tools = []tool.Tool{echo("echo")}
	if out := b.runText("go"); out.Calls != 1000 {
		t.Errorf("%d calls", out.Calls)
	}
	results := strings.Split(b.log(), "\n")[2:]
	for i := range 1000 {
		if results[i] != fmt.Sprint("toolResult: =", i) {
			t.Fatalf("result %d is %q", i, results[i])
		}
	}
	b.accepted()
}

// TestParallelErrorsAreNotALoop checks that ten failing calls of one answer are not treated
// as a loop, because the model has not seen any of the failures yet.
func TestParallelErrorsAreNotALoop(t *testing.T) {
	var steps []scripted.Step
	for i := range 10 {
		steps = append(steps, scripted.Call(fmt.Sprint(i), "echo", arg("fail")))
	}
	b := play(t, scripted.Join(steps[0], steps[1:]...), scripted.Reply("None of them works."))
	b.Tools = []tool.Tool{echo("echo")}
	if out := b.runText("go"); out.Text != "None of them works." {
		t.Errorf("the result is %+v", out)
	}
}

// TestChangedArguments checks that arguments changed by a hook are recorded, if possible.
func TestChangedArguments(t *testing.T) {
	for changed, kept := range map[string]string{`{"text":"b"}`: `{"text":"b"}`, "{bad": ""} {
		b := play(t, scripted.Call("1", "raw", arg("a")), scripted.Reply("Fine."))
		b.Tools = []tool.Tool{tool.Func("raw", "", nil, func(_ context.Context, a json.RawMessage) (tool.Result, error) {
			return tool.TextResult(string(a)), nil
		})}
		b.Hooks.BeforeTool = func(context.Context, agent.Run, firn.ToolCall) (agent.Verdict, error) {
			return agent.Verdict{Arguments: []byte(changed)}, nil
		}
		b.runText("go")
		want(t, b.log(), "user: go", `assistant: raw{"text":"a"}`, "toolResult: ="+changed, "assistant: Fine.")
		var details struct{ Arguments json.RawMessage }
		if err := json.Unmarshal(b.entries()[3].Body.(*firn.Message).Parts[0].(firn.ToolResult).Details, &details); err != nil || string(details.Arguments) != kept {
			t.Errorf("of %s, %q is stored, %v", changed, details.Arguments, err)
		}
	}
}

// TestDuplicateToolNames checks that duplicate tool names fail before the model is called.
func TestDuplicateToolNames(t *testing.T) {
	b := play(t)
	b.Tools = []tool.Tool{echo("echo"), echo("echo")}
	if _, err := b.run(t.Context(), agent.TextInput("go")); !errors.Is(err, firn.ErrInvalid) || len(b.model.Requests()) != 0 {
		t.Errorf("the error is %v", err)
	}
}

// TestEmptyAnswer checks that an empty message starts no turn and no session.
func TestEmptyAnswer(t *testing.T) {
	b := play(t)
	for name, in := range map[string]agent.Input{"space": agent.TextInput(" \n"), "empty": agent.TextInput(""), "nothing": {}} {
		if events, err := b.run(t.Context(), in); !errors.Is(err, firn.ErrInvalid) || len(events) != 0 {
			t.Errorf("%s: the events are %s, %v", name, kinds(events), err)
		}
	}
	for info, err := range b.Store.List(t.Context(), store.Query{}) {
		t.Errorf("there is a session %v, %v", info.ID, err)
	}
}

// TestAnswerWithImageOnly checks that an answer with only an image does not count as empty.
func TestAnswerWithImageOnly(t *testing.T) {
	b := play(t, scripted.Step{Parts: []firn.Part{firn.Image{MimeType: "image/png", Data: "aGVsbG8="}}})
	if out := b.runText("draw"); out.Rounds != 1 || out.Entry == "" {
		t.Errorf("the result is %+v", out)
	}
}

// TestContinueAfterTooManyRounds checks that a turn stopped by the limit of rounds can be
// continued.
func TestContinueAfterTooManyRounds(t *testing.T) {
	b := play(t, scripted.Call("1", "echo", arg("1")), scripted.Call("2", "echo", arg("2")), scripted.Reply("Done."))
	b.Rounds, b.Tools = 2, []tool.Tool{echo("echo")}
	if _, err := b.run(t.Context(), agent.TextInput("go")); !errors.Is(err, firn.ErrTooLarge) {
		t.Errorf("the error is %v", err)
	}
	if _, err := b.run(t.Context(), agent.Input{}); err != nil || !strings.HasSuffix(b.log(), "assistant: Done.") {
		t.Errorf("it continued with\n%s\n%v", b.log(), err)
	}
	b.accepted()
}

// TestSlowListener stops a turn with a slow reader: calls that finished in the meantime are
// recorded as done.
func TestSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps []scripted.Step
		for i := range 8 {
			steps = append(steps, scripted.Call(fmt.Sprint(i), "slow", arg(fmt.Sprint(i))))
		}
		b := play(t, scripted.Join(steps[0], steps[1:]...))
		b.Tools = []tool.Tool{tool.Func("slow", "", nil, func(context.Context, json.RawMessage) (tool.Result, error) {
			<-time.After(time.Second)
			return tool.TextResult("did it"), nil
		})}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for e := range b.Run(ctx, b.id, agent.TextInput("go")) {
			if _, ok := e.(agent.ToolDone); ok {
				cancel()
				<-time.After(3 * time.Second)
			}
		}
		if n := strings.Count(b.log(), "=did it"); n != 8 {
			t.Errorf("%d of 8 calls are recorded as done:\n%s", n, b.log())
		}
	})
}

// TestStoppedInBackoff checks that stopping a turn ends its wait for a retry.
func TestStoppedInBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := play(t, scripted.Fail(&provider.Error{Kind: provider.Temporary, RetryAfter: 30 * time.Second}))
		b.Backoff = provider.Backoff{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		events, err := b.run(ctx, agent.TextInput("go"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %v the error is %v", time.Since(began), err)
		}
		want(t, kinds(events), "Started Appended Retrying Appended")
		checkClosed(t, b)
	})
}

// TestHeadMovedDuringATurn moves the head to another branch while drafts are saved: they stay
// on their branch, and the head stays where it was moved.
func TestHeadMovedDuringATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := scripted.Reply(strings.Repeat("0123456789abcdef", 40))
		slow.Delay = 100 * time.Millisecond
		b := play(t, scripted.Reply("One."), slow, scripted.Reply("Three."))
		b.runText("one")
		first := b.entries()[2].ID // the answer
		pieces := 0
		var failure error
		for e, err := range b.Run(t.Context(), b.id, agent.TextInput("two")) {
			failure = err
			if _, ok := e.(agent.Delta); !ok {
				continue
			}
			if pieces++; pieces == 12 {
				if _, err := b.Move(t.Context(), b.id, first, false); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !errors.Is(failure, agent.ErrMoved) {
			t.Errorf("the error is %v", failure)
		}
		b.runText("three")
		want(t, b.sent(2), "user: one", "assistant: One.", "user: three")
		if !strings.Contains(b.log(), "assistant: 0123456789abcdef") {
			t.Errorf("the text is lost:\n%s", b.log())
		}
	})
}

// TestTitleAfterFailure checks that a session is titled after its first successful exchange.
func TestTitleAfterFailure(t *testing.T) {
	failing := true
	b := playOn(t, small(100_000, func(req provider.Request) scripted.Step {
		switch {
		case req.Purpose == provider.ForTitle:
			return scripted.Reply("A good title")
		case failing:
			return scripted.Fail(&provider.Error{Kind: provider.Auth})
		}
		return scripted.Reply("Fine.")
	}))
	b.NoTitles = false
	_, _ = b.run(t.Context(), agent.TextInput("Hello there."))
	failing = false
	b.runText("Again.")
	b.Wait()
	want(t, b.log(), "user: Hello there.", "title auto: Hello there.", "assistant:  [error]", "user: Again.", "assistant: Fine.", "title auto: A good title")
}

// TestCutOff checks the text of an answer that a crash cut off, until a turn marks it.
func TestCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := scripted.Think("I wonder about this.", strings.Repeat("0123456789abcdef", 10))
		slow.Delay = 400 * time.Millisecond
		b := play(t, slow, scripted.Reply("Sorry."))
		f := &failing{Store: b.mem(), op: "Append", at: 2, forever: true} // it dies when the answer is complete
		b.Store = f
		_, _ = b.run(t.Context(), agent.TextInput("go"))
		b.Store = f.Store
		cut := func() string {
			path, err := window.Collect(b.Store.ReadBack(t.Context(), b.id, store.End))
			if err != nil {
				t.Fatal(err)
			}
			return agent.PartialAnswer(path)
		}
		if kept := cut(); len(kept) < 9*16 || !strings.HasPrefix(strings.Repeat("0123456789abcdef", 10), kept) {
			t.Errorf("kept: %q", kept)
		}
		b.runText("and now?")
		if kept := cut(); kept != "" {
			t.Errorf("marked, it is still %q", kept)
		}
		if n := strings.Count(b.log(), "(I wonder about this.) 0123456789abcdef"); n != 1 {
			t.Errorf("it is stored %d times:\n%s", n, b.log())
		}
	})
}

// TestUnfinished distinguishes an interrupted turn from entries added after a complete one.
func TestUnfinished(t *testing.T) {
	shell := firn.NewEntry(&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: "ls", Output: "x"}}})
	answer := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopEnd, Parts: []firn.Part{firn.Text{Text: "yes"}}})
	cut := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopAborted, Error: "stopped"})
	book := firn.NewEntry(&firn.Custom{Type: "firn.counters"})
	for name, c := range map[string]struct {
		entries []firn.Entry
		want    bool
	}{
		"nothing":                      {nil, false},
		"a question":                   {[]firn.Entry{firn.UserText("a")}, true},
		"an answer":                    {[]firn.Entry{firn.UserText("a"), answer}, false},
		"a shell after an answer":      {[]firn.Entry{firn.UserText("a"), answer, shell, book, shell}, false},
		"a shell after a question":     {[]firn.Entry{firn.UserText("a"), answer, firn.UserText("b"), shell}, true},
		"a shell only":                 {[]firn.Entry{shell}, false},
		"a shell after one that ended": {[]firn.Entry{firn.UserText("a"), cut, shell}, false},
	} {
		if got := agent.Unfinished(window.Path{Entries: c.entries}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
