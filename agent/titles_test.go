package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

// answers makes a model that names sessions with one text and answers all
// else with another.
func answers(title, text string) *scripted.Model {
	return byPurpose(map[provider.Purpose]scripted.Step{provider.ForTitle: scripted.Reply(title), provider.ForTurn: scripted.Reply(text)})
}

// byPurpose returns a model that answers by the purpose of the request.
func byPurpose(steps map[provider.Purpose]scripted.Step) *scripted.Model {
	var m *scripted.Model
	m = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		return m.Play(ctx, req, steps[req.Purpose])
	})
	return m
}

func TestTitles(t *testing.T) {
	long := "please help me to plan a rather long birthday trip through the mountains of Switzerland"
	for name, c := range map[string]struct{ message, title, want string }{
		"named by the model":    {"Hello there.", "\"A friendly greeting.\"\n", "title auto: Hello there.|title auto: A friendly greeting"},
		"the words that matter": {long, "Birthday trip through Switzerland", "title auto: Plan long birthday trip mountains Switzerland|title auto: Birthday trip through Switzerland"},
		"the model talks":       {"Hi.", strings.Repeat("a title that goes on and on ", 5), "title auto: Hi."},
		"empty reply":           {"Hi.", " \n", "title auto: Hi."},
		"no better name":        {"Plan a trip", "Plan a trip", "title auto: Plan a trip|title auto: Plan a trip"},
		"the first line counts": {"\n\n  Fix   the lock\nit hangs", "Lock fix", "title auto: Fix the lock|title auto: Lock fix"},
	} {
		t.Run(name, func(t *testing.T) {
			b := playOn(t, answers(c.title, "Fine."))
			b.NoTitles = false
			b.runText(c.message)
			b.Wait()
			b.runText("again")
			b.Wait()
			var titles []string
			for line := range strings.SplitSeq(b.log(), "\n") {
				if strings.HasPrefix(line, "title") {
					titles = append(titles, line)
				}
			}
			want(t, strings.Join(titles, "|"), c.want)
		})
	}
}

// TestUsersTitleStays names a session by hand while the model thinks of a name.
func TestUsersTitleStays(t *testing.T) {
	asked, named := make(chan struct{}), make(chan struct{})
	title := scripted.Reply("Something else")
	title.Before = func(context.Context) error { close(asked); <-named; return nil }
	b := playOn(t, byPurpose(map[provider.Purpose]scripted.Step{provider.ForTitle: title, provider.ForTurn: scripted.Reply("Fine.")}))
	b.NoTitles = false
	b.runText("Hello.") // does not wait for the title
	<-asked
	mine := firn.NewEntry(&firn.Title{Name: "Mine", Source: firn.SourceUser})
	if _, err := b.Store.Append(t.Context(), b.id, store.Any, mine); err != nil {
		t.Fatal(err)
	}
	close(named)
	b.Wait()
	for info, err := range b.Store.List(t.Context(), store.Query{}) {
		if err != nil || info.Title != "Mine" {
			t.Errorf("it is called %q, %v", info.Title, err)
		}
	}
	if !strings.Contains(b.log(), "Something else") {
		t.Error("the model was not called, so the test checks nothing")
	}
}

// TestUsersTitleStaysOnEveryBranch rewinds to before the user's title and continues: no
// automatic title replaces it.
func TestUsersTitleStaysOnEveryBranch(t *testing.T) {
	b := playOn(t, answers("Something else", "Fine."))
	b.runText("Hello.")
	mine := firn.NewEntry(&firn.Title{Name: "Mine", Source: firn.SourceUser})
	back := firn.NewEntry(&firn.Head{})
	back.Parent = firn.Root
	if _, err := b.Store.Append(t.Context(), b.id, store.Any, mine, back); err != nil {
		t.Fatal(err)
	}
	b.NoTitles = false
	for range 2 {
		b.runText("Something quite different.")
		b.Wait()
	}
	if log := b.log(); strings.Contains(log, "title auto") {
		t.Errorf("a title was made:\n%s", log)
	}
}

// TestCounters counts a session with tools, a retry, a title and a compaction:
// every answer once, whether read from the last turn or from the beginning.
func TestCounters(t *testing.T) {
	usage := func(in, out int64) *firn.Usage {
		return &firn.Usage{Input: in, Output: out, CacheRead: 5, Total: in + out + 5, Cost: firn.Cost{Total: 0.5}}
	}
	call := scripted.Call("1", "echo", arg("x"))
	call.Usage = usage(10, 1)
	text := scripted.Reply("done")
	text.Usage = usage(20, 2)
	b := play(t, call, text, call, text)
	b.Tools = []tool.Tool{echo("echo")}
	for turn := 1; turn <= 2; turn++ {
		b.runText("go")
		c, err := agent.Count(t.Context(), b.Store, b.id)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(turn)
		wanted := agent.Counters{Input: 30 * n, Output: 3 * n, CacheRead: 10 * n, Cost: float64(n), Answers: 2 * turn, Turns: turn, Window: 27,
			Messages: 4 * turn, Active: c.Active, Last: c.Last} // the duration is not compared
		if c != wanted {
			t.Errorf("after turn %d: %+v, want %+v", turn, c, wanted)
		}
		var whole agent.Counters
		for _, e := range b.entries() {
			whole.Add(e)
		}
		if whole != c {
			t.Errorf("recomputed, it is %+v", whole)
		}
	}
	if c := (agent.Counters{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}); c.Total() != 10 {
		t.Error("the total is wrong")
	}
}

func TestOverrides(t *testing.T) {
	other := scripted.Info()
	other.Name = "other"
	second := scripted.New(other, scripted.Forever(scripted.Reply("I am the other.")))
	b := play(t, scripted.Forever(scripted.Reply("I am the first.")))
	b.Models = func(p, m string) (provider.Model, error) {
		if p == other.Provider && m == other.Name {
			return second, nil
		}
		return nil, fmt.Errorf("no model %s/%s: %w", p, m, firn.ErrNotFound)
	}
	b.Thinking = provider.ThinkLow
	b.runText("one")
	if err := b.Override(t.Context(), b.id, agent.Override{Provider: other.Provider, Model: "other", Thinking: provider.ThinkHigh, Verbose: "on"}); err != nil {
		t.Fatal(err)
	}
	if out := b.runText("two"); out.Text != "I am the other." {
		t.Errorf("%q answered", out.Text)
	}
	if got := []provider.Thinking{b.model.Requests()[0].Thinking, second.Requests()[0].Thinking}; got[0] != provider.ThinkLow || got[1] != provider.ThinkHigh {
		t.Errorf("the thinking level is %v", got)
	}
	for name, o := range map[string]agent.Override{
		"half a model": {Model: "x"}, "unknown model": {Provider: "x", Model: "y"}, "thinking": {Thinking: "much"}, "verbose": {Verbose: "maybe"},
	} {
		if err := b.Override(t.Context(), b.id, o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestHooks changes, denies and watches calls.
func TestHooks(t *testing.T) {
	b := play(t,
		scripted.Join(scripted.Call("1", "echo", arg("a")), scripted.Call("2", "echo", arg("secret")), scripted.Call("3", "echo", arg("c"))),
		scripted.Reply("done"))
	b.Tools = []tool.Tool{echo("echo")}
	b.Hooks.BeforeTool = func(_ context.Context, run agent.Run, call firn.ToolCall) (agent.Verdict, error) {
		if run.Prompt != "go" || run.Session != b.id {
			t.Errorf("the hook receives %+v", run)
		}
		switch call.ID {
		case "2":
			return agent.Verdict{Deny: "not that one"}, nil
		case "3":
			return agent.Verdict{Arguments: []byte(arg("changed"))}, nil
		}
		return agent.Verdict{}, nil
	}
	b.Hooks.AfterTool = func(_ context.Context, _ agent.Run, _ firn.ToolCall, r tool.Result) (tool.Result, error) {
		return tool.TextResult("<" + firn.JoinText(r.Parts) + ">"), nil
	}
	var ended agent.Outcome
	b.Hooks.AfterTurn = func(_ context.Context, _ agent.Run, o agent.Outcome) error { ended = o; return errors.New("told") }
	events, err := b.run(t.Context(), agent.TextInput("go"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, strings.Join(strings.Split(b.log(), "\n")[2:], "\n"),
		"toolResult: =<a>", "toolResult: !the call was not allowed: not that one", "toolResult: =<changed>", "assistant: done")
	if ended.Text != "done" || ended.Calls != 3 {
		t.Errorf("after the turn it receives %+v", ended)
	}
	if !slices.Contains(events, agent.Event(agent.Notice{Text: "after the turn: told"})) {
		t.Error("the hook's error is not reported")
	}
}

// TestFailingHooks checks that a failing hook ends the turn, that the failure is recorded, and
// that all calls have results.
func TestFailingHooks(t *testing.T) {
	failure := errors.New("the hook failed")
	for name, set := range map[string]func(*agent.Hooks){
		"before the run": func(h *agent.Hooks) {
			h.BeforeRun = func(context.Context, agent.Run) ([]window.Injection, error) { return nil, failure }
		},
		"before a tool": func(h *agent.Hooks) {
			h.BeforeTool = func(context.Context, agent.Run, firn.ToolCall) (agent.Verdict, error) {
				return agent.Verdict{}, failure
			}
		},
		"after a tool": func(h *agent.Hooks) {
			h.AfterTool = func(context.Context, agent.Run, firn.ToolCall, tool.Result) (tool.Result, error) {
				return tool.Result{}, failure
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := play(t, scripted.Forever(scripted.Call("1", "echo", arg("a"))))
			b.Tools = []tool.Tool{echo("echo")}
			set(&b.Hooks)
			if _, err := b.run(t.Context(), agent.TextInput("go")); !errors.Is(err, failure) {
				t.Fatalf("the error is %v", err)
			}
			checkClosed(t, b)
		})
	}
}

// TestInjected checks that injections precede the last user message, are renewed in each
// turn and are never stored.
func TestInjected(t *testing.T) {
	b := play(t, scripted.Reply("one"), scripted.Call("1", "echo", arg("x")), scripted.Reply("two"))
	b.Tools = []tool.Tool{echo("echo")}
	day := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	turn := 0
	b.Hooks.BeforeRun = func(context.Context, agent.Run) ([]window.Injection, error) {
		turn++
		return slices.Concat(
			agent.Peers([]agent.Peer{{Name: "cook", Description: "cooks"}}),
			agent.Recalled(fmt.Sprintf("in turn %d </recall> escaped?", turn)),
			[]window.Injection{agent.Environment("/src", day)},
			agent.Instructions([]string{"", "Be kind.", " Be brief. "}),
			agent.Peers(nil), agent.Instructions(nil), agent.Recalled(" "),
		), nil
	}
	b.runText("first")
	b.runText("second")
	if strings.Contains(b.log(), "recall") {
		t.Errorf("it is stored:\n%s", b.log())
	}
	requests := b.model.Requests()
	for i, wanted := range []string{
		"<agents>\nAgents that sessions_spawn can give a task to:\n- cook: cooks\n</agents> <recall>\nin turn 1 <\\/recall> escaped?\n</recall> <environment>\nworking_directory: /src\ndate: Sunday, 15 November 2026\n</environment> <instructions>\nBe kind.\n\nBe brief.\n</instructions> first",
		"first|one|<agents>\nAgents that sessions_spawn can give a task to:\n- cook: cooks\n</agents> <recall>\nin turn 2 <\\/recall> escaped?\n</recall> <environment>\nworking_directory: /src\ndate: Sunday, 15 November 2026\n</environment> <instructions>\nBe kind.\n\nBe brief.\n</instructions> second",
	} {
		var sent []string
		for _, it := range requests[i].Window.Items {
			_, text, _ := strings.Cut(brief(&it.Message), ": ")
			sent = append(sent, text)
		}
		want(t, strings.Join(sent, "|"), wanted)
	}
	if a, b := requests[1].Window.Items[2], requests[2].Window.Items[2]; brief(&a.Message) != brief(&b.Message) {
		t.Error("it changes within a turn")
	}
	b.accepted()
}
