package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/tool"
	"firn.dev/window"
	"firn.dev/window/windowtest"
)

// quick retries immediately.
var quick = provider.Backoff{Base: time.Nanosecond, Max: time.Hour}

// workbench is an agent with a scripted model, and its session.
type workbench struct {
	*agent.Agent
	t     *testing.T
	model *scripted.Model
	id    firn.ID
}

// play returns an agent whose model plays a script.
func play(t *testing.T, steps ...scripted.Step) *workbench {
	t.Helper()
	return playOn(t, scripted.New(scripted.Info(), steps...))
}

func playOn(t *testing.T, model *scripted.Model) *workbench {
	t.Helper()
	st := memstore.New(memstore.Options{})
	b := &workbench{t: t, model: model, id: firn.NewID()}
	b.Agent = &agent.Agent{Store: st, Model: model, NoTitles: true, Backoff: quick}
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// run runs a turn and returns its events and result.
func (b *workbench) run(ctx context.Context, in agent.Input) (events []agent.Event, err error) {
	for e, failure := range b.Run(ctx, b.id, in) {
		if failure != nil {
			err = failure
			continue
		}
		events = append(events, e)
	}
	return events, err
}

// runText runs a turn that must succeed.
func (b *workbench) runText(text string) agent.Outcome {
	b.t.Helper()
	events, err := b.run(b.t.Context(), agent.TextInput(text))
	if err != nil {
		b.t.Fatal(err)
	}
	done, ok := events[len(events)-1].(agent.Finished)
	if !ok {
		b.t.Fatalf("the last event is %T", events[len(events)-1])
	}
	return done.Outcome
}

// entries reads the session.
func (b *workbench) entries() []firn.Entry {
	b.t.Helper()
	var all []firn.Entry
	for rec, err := range b.Store.Read(b.t.Context(), b.id, store.Start) {
		if err != nil {
			b.t.Fatal(err)
		}
		e, err := rec.Entry()
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// log lists the messages of the session in short form.
func (b *workbench) log() string {
	b.t.Helper()
	var lines []string
	for _, e := range b.entries() {
		switch body := e.Body.(type) {
		case *firn.Message:
			lines = append(lines, brief(body))
		case *firn.Compaction:
			lines = append(lines, "compaction")
		case *firn.Title:
			lines = append(lines, "title "+string(body.Source)+": "+body.Name)
		}
	}
	return strings.Join(lines, "\n")
}

func brief(m *firn.Message) string {
	var parts []string
	for _, p := range m.Parts {
		switch p := p.(type) {
		case firn.Text:
			parts = append(parts, p.Text)
		case firn.Thinking:
			parts = append(parts, "("+p.Text+")")
		case firn.ToolCall:
			parts = append(parts, p.Name+string(p.Arguments))
		case firn.ToolResult:
			word := "="
			if p.IsError {
				word = "!"
			}
			parts = append(parts, word+firn.JoinText(p.Content))
		}
	}
	line := string(m.Role) + ": " + strings.Join(parts, " ")
	if m.StopReason == firn.StopError || m.StopReason == firn.StopAborted {
		line += " [" + string(m.StopReason) + "]"
	}
	return line
}

// want compares a text with the expected lines.
func want(t *testing.T, got string, lines ...string) {
	t.Helper()
	if expected := strings.Join(lines, "\n"); got != expected {
		t.Errorf("got\n%s\nwant\n%s", got, expected)
	}
}

// accepted checks every request that the model received against its provider's rules.
func (b *workbench) accepted() {
	b.t.Helper()
	for i, req := range b.model.Requests() {
		if err := windowtest.Check(b.model.Info().Profile, req.Window); err != nil {
			b.t.Errorf("request %d is refused: %v", i+1, err)
		}
	}
}

// echo returns a tool that returns its argument.
func echo(name string) tool.Tool {
	type args struct {
		Text string `json:"text"`
	}
	return tool.New(name, "says it", func(_ context.Context, a args) (tool.Result, error) {
		if a.Text == "fail" {
			return tool.Result{}, errors.New("it did not work")
		}
		return tool.TextResult(a.Text), nil
	})
}

func arg(text string) string { return fmt.Sprintf(`{"text":%q}`, text) }

func TestTurn(t *testing.T) {
	b := play(t, scripted.Think("hm", "Hello, Ada."))
	out := b.runText("I am Ada.")
	if out.Text != "Hello, Ada." || out.Silent || out.Rounds != 1 || out.Stop != firn.StopEnd {
		t.Errorf("the result is %+v", out)
	}
	want(t, b.log(), "user: I am Ada.", "assistant: (hm) Hello, Ada.")
	b.accepted()
}

// TestOrder checks that the user's message is durable before the model is called, the call
// before the tool runs, and the result before the model is called again.
func TestOrder(t *testing.T) {
	var b *workbench
	var seen []string
	look := func(what string) {
		lines := strings.Split(b.log(), "\n")
		seen = append(seen, what+" after "+lines[len(lines)-1])
	}
	asked := func(s scripted.Step) scripted.Step {
		s.Before = func(context.Context) error { look("asked"); return nil }
		return s
	}
	b = play(t, asked(scripted.Call("1", "look", `{}`)), asked(scripted.Reply("done")))
	b.Tools = []tool.Tool{tool.New("look", "looks", func(context.Context, struct{}) (tool.Result, error) {
		look("ran")
		return tool.TextResult("seen"), nil
	})}
	b.runText("go")
	want(t, strings.Join(seen, "\n"), "asked after user: go", "ran after assistant: look{}", "asked after toolResult: =seen")
}

// TestParallelCalls checks that results are in the order of the calls even if the calls finish
// in the opposite order.
func TestParallelCalls(t *testing.T) {
	second := make(chan struct{})
	b := play(t,
		scripted.Join(scripted.Call("1", "slow", `{}`), scripted.Call("2", "quick", `{}`), scripted.Call("3", "none", `{}`)),
		scripted.Reply("done"))
	b.Tools = []tool.Tool{
		tool.New("slow", "", func(context.Context, struct{}) (tool.Result, error) { <-second; return tool.TextResult("a"), nil }),
		tool.New("quick", "", func(context.Context, struct{}) (tool.Result, error) { close(second); return tool.TextResult("b"), nil }),
	}
	out := b.runText("go")
	if out.Calls != 3 {
		t.Errorf("%d calls", out.Calls)
	}
	want(t, b.log(), "user: go", "assistant: slow{} quick{} none{}", "toolResult: =a", "toolResult: =b",
		`toolResult: !unknown tool "none"; the tools are: quick, slow`, "assistant: done")
	b.accepted()
}

// TestLargeResult checks that the model gets the beginning and the end of a large result, and
// that the log has all of it.
func TestLargeResult(t *testing.T) {
	large := strings.Repeat("0123456789\n", 100_000)
	b := play(t, scripted.Call("1", "large", `{}`), scripted.Reply("long"))
	b.Tools = []tool.Tool{tool.New("large", "", func(context.Context, struct{}) (tool.Result, error) { return tool.TextResult(large), nil })}
	b.runText("go")
	result := b.entries()[3].Body.(*firn.Message).Parts[0].(firn.ToolResult)
	if shown := len(firn.JoinText(result.Content)); shown > 60_000 {
		t.Errorf("%d bytes are sent to the model", shown)
	}
	var details struct{ Full string }
	if err := json.Unmarshal(result.Details, &details); err != nil || details.Full != large {
		t.Errorf("%d of %d bytes are stored (%v)", len(details.Full), len(large), err)
	}
}

func TestBrokenTool(t *testing.T) {
	b := play(t, scripted.Call("1", "break", `{}`), scripted.Reply("oh"))
	b.Tools = []tool.Tool{tool.New("break", "", func(context.Context, struct{}) (tool.Result, error) { panic("no") })}
	b.runText("go")
	want(t, b.log(), "user: go", "assistant: break{}", "toolResult: !the tool panicked: no", "assistant: oh")
}

// TestFailures plays models that fail in every way. Each failure returns a typed error, and
// the session can be continued.
func TestFailures(t *testing.T) {
	temporary := &provider.Error{Kind: provider.Temporary, Provider: "scripted", Status: 529}
	auth := &provider.Error{Kind: provider.Auth, Provider: "scripted", Status: 401}
	bad := &provider.Error{Kind: provider.BadRequest, Provider: "scripted", Status: 400}
	hello := scripted.Reply("Hello, who are you and what do you want?")
	for name, c := range map[string]struct {
		steps []scripted.Step
		kind  provider.Kind // of the error; empty if there is none
		log   []string      // between "go" and the next message
	}{
		"overloaded once":       {[]scripted.Step{scripted.Fail(temporary), hello}, "", []string{"assistant: " + hello.Parts[0].(firn.Text).Text}},
		"always overloaded":     {slices.Repeat([]scripted.Step{scripted.Fail(temporary)}, 4), provider.Temporary, []string{"assistant:  [error]"}},
		"key rejected":          {[]scripted.Step{scripted.Fail(auth)}, provider.Auth, []string{"assistant:  [error]"}},
		"refused":               {[]scripted.Step{scripted.Fail(bad)}, provider.BadRequest, []string{"assistant:  [error]"}},
		"cut off, then whole":   {[]scripted.Step{scripted.Cut(1, hello), hello}, "", []string{"assistant: Hello, who are y [error]", "assistant: " + hello.Parts[0].(firn.Text).Text}},
		"always cut off":        {slices.Repeat([]scripted.Step{scripted.Cut(1, hello)}, 4), provider.Temporary, slices.Repeat([]string{"assistant: Hello, who are y [error]"}, 4)},
		"cut off within a call": {[]scripted.Step{scripted.Cut(1, scripted.Call("1", "echo", arg("x"))), hello}, "", []string{"assistant: " + hello.Parts[0].(firn.Text).Text}},
		"ends without an end":   {[]scripted.Step{{Parts: hello.Parts, End: scripted.Silent, After: 1}, hello}, "", []string{"assistant: Hello, who are y [error]", "assistant: " + hello.Parts[0].(firn.Text).Text}},
		"empty, then not":       {[]scripted.Step{{}, hello}, "", []string{"assistant: ", "assistant: " + hello.Parts[0].(firn.Text).Text}},
		"only thinking":         {[]scripted.Step{scripted.Think("hm", ""), hello}, "", []string{"assistant: (hm) ", "assistant: " + hello.Parts[0].(firn.Text).Text}},
	} {
		t.Run(name, func(t *testing.T) {
			b := play(t, append(c.steps, scripted.Reply("still here"))...)
			b.Tools = []tool.Tool{echo("echo")}
			_, err := b.run(t.Context(), agent.TextInput("go"))
			if provider.KindOf(err) != c.kind || (err == nil) != (c.kind == "") {
				t.Fatalf("the error is %v", err)
			}
			b.runText("and now?")
			want(t, b.log(), slices.Concat([]string{"user: go"}, c.log, []string{"user: and now?", "assistant: still here"})...)
			b.accepted()
		})
	}
}

func TestOnlyEmptyAnswers(t *testing.T) {
	b := play(t, scripted.Step{}, scripted.Step{}, scripted.Reply("still here"))
	if _, err := b.run(t.Context(), agent.TextInput("go")); err == nil || !strings.Contains(err.Error(), "empty answer") {
		t.Fatalf("the error is %v", err)
	}
	b.runText("and now?")
	b.accepted()
}

// TestStopped stops a turn at each of its events, by canceling and by breaking out of the
// loop. Started work is recorded, and the session continues.
func TestStopped(t *testing.T) {
	script := func() []scripted.Step {
		return []scripted.Step{
			scripted.Join(scripted.Reply("Let me look at it."), scripted.Call("1", "echo", arg("a")), scripted.Call("2", "wait", `{}`)),
			scripted.Reply("All is well."),
		}
	}
	build := func(t *testing.T, more ...scripted.Step) *workbench {
		b := play(t, append(script(), more...)...)
		b.Tools = []tool.Tool{echo("echo"), tool.New("wait", "", func(ctx context.Context, _ struct{}) (tool.Result, error) {
			if ctx.Err() != nil {
				return tool.Result{}, ctx.Err()
			}
			return tool.TextResult("waited"), nil
		})}
		return b
	}
	whole, err := build(t).run(t.Context(), agent.TextInput("go"))
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	for n := range whole[:len(whole)-1] {
		for _, leave := range []bool{false, true} {
			t.Run(fmt.Sprintf("at %d %T leaving %t", n, whole[n], leave), func(t *testing.T) {
				b := build(t, scripted.Forever(scripted.Reply("still here")))
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				i := 0
				var failure error
				for _, err := range b.Run(ctx, b.id, agent.TextInput("go")) {
					if failure = err; i == n {
						if leave {
							break
						}
						cancel(stop)
					}
					i++
				}
				// The answer may be complete before the last request is canceled.
				faster := failure == nil && n > lastResult(whole) && strings.HasSuffix(b.log(), "assistant: All is well.")
				if !leave && !errors.Is(failure, stop) && !faster {
					t.Errorf("the error is %v", failure)
				}
				checkClosed(t, b)
				b.runText("and now?")
				b.accepted()
			})
		}
	}
}

// checkClosed checks that every call has a result, and that an unfinished turn is marked as
// stopped.
func checkClosed(t *testing.T, b *workbench) {
	t.Helper()
	var last *firn.Message
	open := map[string]bool{}
	for _, e := range b.entries() {
		m, ok := e.Body.(*firn.Message)
		if !ok {
			continue
		}
		last = m
		for _, p := range m.Parts {
			switch p := p.(type) {
			case firn.ToolCall:
				open[p.ID] = m.StopReason == firn.StopToolUse
			case firn.ToolResult:
				delete(open, p.CallID)
			}
		}
	}
	for id, waiting := range open {
		if waiting {
			t.Errorf("call %s has no result:\n%s", id, b.log())
		}
	}
	if last.Role != firn.RoleAssistant {
		t.Errorf("the log does not record how the turn ended:\n%s", b.log())
	}
}

// TestLoopGuard checks that a tool that fails repeatedly, with any arguments, stops the turn.
func TestLoopGuard(t *testing.T) {
	var steps []scripted.Step
	for i := range 30 {
		steps = append(steps, scripted.Call(fmt.Sprint(i), "broken", fmt.Sprintf(`{"n":%d}`, i)))
	}
	b := play(t, steps...)
	b.Tools = []tool.Tool{tool.New("broken", "", func(_ context.Context, a struct {
		N int `json:"n"`
	}) (tool.Result, error) {
		return tool.Result{}, fmt.Errorf("no %d", a.N)
	})}
	_, err := b.run(t.Context(), agent.TextInput("go"))
	var loop *agent.Loop
	if !errors.As(err, &loop) || loop.Tool != "broken" || loop.Times != 10 || !loop.Failing {
		t.Fatalf("the error is %v", err)
	}
	if !strings.Contains(b.log(), "has failed 5 times in a row") {
		t.Error("the model was not warned")
	}
	b.accepted()
}

func TestSameCallAgainAndAgain(t *testing.T) {
	b := play(t, scripted.Forever(scripted.Call("1", "echo", arg("x"))))
	b.Tools = []tool.Tool{echo("echo")}
	_, err := b.run(t.Context(), agent.TextInput("go"))
	var loop *agent.Loop
	if !errors.As(err, &loop) || loop.Failing || loop.Times != 10 {
		t.Fatalf("the error is %v", err)
	}
}

func TestRoundsAreBounded(t *testing.T) {
	n := 0
	b := playOn(t, scripted.New(scripted.Info(), scripted.Forever(scripted.Call("1", "count", `{}`))))
	b.Rounds = 7
	b.Tools = []tool.Tool{tool.New("count", "", func(context.Context, struct{}) (tool.Result, error) {
		n++
		return tool.TextResult(fmt.Sprint(n)), nil
	})}
	if _, err := b.run(t.Context(), agent.TextInput("go")); !errors.Is(err, firn.ErrTooLarge) || n != 7 {
		t.Fatalf("after %d calls the error is %v", n, err)
	}
}

// TestMessageFromAnotherClient checks that a user message during an answer is handled in the
// same turn, in order.
func TestMessageFromAnotherClient(t *testing.T) {
	var b *workbench
	first := scripted.Reply("Fine.")
	first.Before = func(ctx context.Context) error {
		_, err := b.Store.Append(ctx, b.id, store.Any, firn.UserText("and more"))
		return err
	}
	b = play(t, first, scripted.Reply("Even better."))
	b.runText("go")
	want(t, b.log(), "user: go", "user: and more", "assistant: Fine.", "assistant: Even better.")
}

// TestAnsweredMeanwhile checks that a turn does not call the model for a message that another
// turn has answered.
func TestAnsweredMeanwhile(t *testing.T) {
	b := play(t, scripted.Reply("Never asked."))
	b.Hooks.BeforeRun = func(ctx context.Context, _ agent.Run) ([]window.Injection, error) {
		_, err := b.Store.Append(ctx, b.id, store.Any, firn.AssistantText("I was faster."))
		return nil, err
	}
	if _, err := b.run(t.Context(), agent.TextInput("go")); !errors.Is(err, firn.ErrConflict) {
		t.Fatalf("the error is %v", err)
	}
	if n := len(b.model.Requests()); n != 0 {
		t.Errorf("the model was called %d times", n)
	}
}

// TestRewindDuringAnswer rewinds the session during an answer: the answer stays on its branch
// and the head is not moved.
func TestRewindDuringAnswer(t *testing.T) {
	var b *workbench
	second := scripted.Reply("Too late.")
	second.Before = func(ctx context.Context) error {
		to := firn.NewEntry(&firn.Head{})
		to.Parent = b.entries()[2].ID // the first answer
		_, err := b.Store.Append(ctx, b.id, store.Any, to)
		return err
	}
	b = play(t, scripted.Reply("One."), second, scripted.Reply("Three."))
	b.runText("one")
	if _, err := b.run(t.Context(), agent.TextInput("two")); !errors.Is(err, agent.ErrMoved) {
		t.Fatalf("the error is %v", err)
	}
	b.runText("three")
	path, err := window.Collect(b.Store.ReadBack(t.Context(), b.id, store.End))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range path.Entries {
		if m, ok := e.Body.(*firn.Message); ok {
			texts = append(texts, m.Text())
		}
	}
	want(t, strings.Join(texts, " "), "one One. three Three.")
	if !strings.Contains(b.log(), "Too late.") {
		t.Error("the answer is lost")
	}
}

// TestRepeatedInput checks that a message that is sent twice is stored once.
func TestRepeatedInput(t *testing.T) {
	auth := &provider.Error{Kind: provider.Auth}
	b := play(t, scripted.Fail(auth), scripted.Reply("Hello."))
	in := agent.TextInput("go")
	in.ID = firn.NewEntryID()
	if _, err := b.run(t.Context(), in); provider.KindOf(err) != provider.Auth {
		t.Fatal(err)
	}
	if _, err := b.run(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	want(t, b.log(), "user: go", "assistant:  [error]", "assistant: Hello.")
	if _, err := b.run(t.Context(), in); !errors.Is(err, firn.ErrConflict) {
		t.Errorf("answering it again returned %v", err)
	}
}

// TestTurnWithoutInput runs a turn without input: it answers an unanswered message, and fails if
// there is none.
func TestTurnWithoutInput(t *testing.T) {
	b := play(t, scripted.Fail(&provider.Error{Kind: provider.Auth}), scripted.Reply("Hello."))
	_, _ = b.run(t.Context(), agent.TextInput("go"))
	if _, err := b.run(t.Context(), agent.Input{}); err != nil {
		t.Fatal(err)
	}
	want(t, b.log(), "user: go", "assistant:  [error]", "assistant: Hello.")
	if _, err := b.run(t.Context(), agent.Input{}); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a turn without a message returned %v", err)
	}
}

// TestSuppliedHistory runs a turn on messages that the caller supplies: the session's own
// messages are not sent, and the supplied ones are not stored.
func TestSuppliedHistory(t *testing.T) {
	b := play(t, scripted.Reply("one"), scripted.Call("1", "echo", arg("x")), scripted.Reply("two"))
	b.Tools = []tool.Tool{echo("echo")}
	b.runText("in the session")
	in := agent.TextInput("now")
	in.History = []firn.Message{
		{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "elsewhere"}}},
		{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: "yes"}}, StopReason: firn.StopEnd},
	}
	if _, err := b.run(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	want(t, b.log(), "user: in the session", "assistant: one", "user: now", `assistant: echo{"text":"x"}`, "toolResult: =x", "assistant: two")
	var sent []string
	for _, it := range b.model.Requests()[2].Window.Items {
		sent = append(sent, brief(&it.Message))
	}
	want(t, strings.Join(sent, "\n"), "user: elsewhere", "assistant: yes", "user: now", `assistant: echo{"text":"x"}`, "toolResult: =x")
}
