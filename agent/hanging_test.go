package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/tool"
	"firn.dev/window"
)

// A bubble of synctest does not end before all its goroutines did: that nothing
// is left running is proven by every test of this file.

// noticed is how long a stopped turn may take to end.
const noticed = 5 * time.Second

// odd is a model that for one purpose does something no model should do.
type odd struct {
	provider.Model
	purpose provider.Purpose
	do      func()
}

func (o odd) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	if req.Purpose != o.purpose {
		return o.Model.Stream(ctx, req)
	}
	return func(yield func(provider.Event, error) bool) {
		if yield(provider.TextDelta{Text: "Well,"}, nil) {
			o.do()
		}
		yield(nil, errors.New("it woke up"))
	}
}

// full returns an agent whose session is so full that it saves notes and is compacted before
// it answers.
func full(t *testing.T) *workbench {
	b := playOn(t, small(8000, func(req provider.Request) scripted.Step {
		last := req.Window.Items[len(req.Window.Items)-1].Message
		if req.Purpose == provider.ForFlush && last.Role == firn.RoleUser {
			return scripted.Call("n", "remember", arg("a note"))
		}
		return scripted.Reply("Fine.")
	}))
	b.Tools = []tool.Tool{echo("remember")}
	seed(t, b, 20)
	return b
}

// TestHangingModel stops turns whose model ignores cancellation, whatever it was called for:
// they end, the stop is recorded, and the session can be continued.
func TestHangingModel(t *testing.T) {
	for _, purpose := range []provider.Purpose{provider.ForTurn, provider.ForFlush, provider.ForSummary} {
		t.Run("asked for "+string(purpose), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, release := full(t), make(chan struct{})
				good := b.Model
				b.Model = odd{good, purpose, func() { <-release }}
				stopUncancelable(t, b)
				checkClosed(t, b)
				if text := strings.HasSuffix(b.log(), "assistant: Well, [aborted]"); text != (purpose == provider.ForTurn) {
					t.Errorf("the log ends with\n%s", b.log()[len(b.log())-60:])
				}
				close(release)
				b.Model = good
				b.runText("and now?")
				b.accepted()
			})
		})
	}
}

// stopUncancelable runs a turn, stops it after a second, and checks that it ends in time.
func stopUncancelable(t *testing.T, b *workbench) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	_, err := b.run(ctx, agent.TextInput("go"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(began); took > time.Second+noticed {
		t.Errorf("it took %v", took)
	}
}

// TestHangingTool stops a turn whose tool ignores cancellation: its call is recorded as
// canceled, and the parallel one as done.
func TestHangingTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := play(t, scripted.Join(scripted.Call("1", "deaf", `{}`), scripted.Call("2", "echo", arg("x"))), scripted.Reply("Fine."))
		b.Tools = []tool.Tool{echo("echo"), uncancelableTool("deaf", release)}
		stopUncancelable(t, b)
		want(t, b.log(), "user: go", `assistant: deaf{} echo{"text":"x"}`,
			"toolResult: ![firn] the call was canceled before it finished", "toolResult: =x", "assistant:  [aborted]")
		close(release)
		synctest.Wait()
		b.runText("and now?")
		if strings.Contains(b.log(), "late") {
			t.Error("a late result is in the log")
		}
		b.accepted()
	})
}

func uncancelableTool(name string, release chan struct{}) tool.Tool {
	return tool.Func(name, "", nil, func(context.Context, json.RawMessage) (tool.Result, error) {
		<-release
		return tool.TextResult("late"), nil
	})
}

// TestHangingFlush stops a turn while notes are saved with a tool that ignores cancellation.
func TestHangingFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, release := full(t), make(chan struct{})
		good := b.Tools
		b.Tools = []tool.Tool{uncancelableTool("remember", release)}
		stopUncancelable(t, b)
		checkClosed(t, b)
		close(release)
		b.Tools = good
		b.runText("and now?")
		b.accepted()
	})
}

// TestBrokenModel checks that a panic of the model fails the turn if it was called for an
// answer, and is recorded; for anything else the turn continues without it.
func TestBrokenModel(t *testing.T) {
	for purpose, fails := range map[provider.Purpose]bool{provider.ForTurn: true, provider.ForFlush: false, provider.ForSummary: false, provider.ForTitle: false} {
		t.Run("asked for "+string(purpose), func(t *testing.T) {
			b := full(t)
			b.NoTitles = false
			good := b.Model
			b.Model = odd{good, purpose, func() { panic("a bug") }}
			_, err := b.run(t.Context(), agent.TextInput("go"))
			b.Wait()
			if (err != nil) != fails || fails && !strings.Contains(err.Error(), "a bug") {
				t.Errorf("the error is %v", err)
			}
			checkClosed(t, b)
			b.Model = good
			b.runText("and now?")
			b.accepted()
		})
	}
}

// TestBrokenHooks checks that a panic in a hook is handled as a failure of the hook.
func TestBrokenHooks(t *testing.T) {
	for name, c := range map[string]struct {
		set   func(*agent.Hooks)
		fails bool
	}{
		"before the run": {func(h *agent.Hooks) {
			h.BeforeRun = func(context.Context, agent.Run) ([]window.Injection, error) { panic("a bug") }
		}, true},
		"before a tool": {func(h *agent.Hooks) {
			h.BeforeTool = func(context.Context, agent.Run, firn.ToolCall) (agent.Verdict, error) { panic("a bug") }
		}, true},
		"after a tool": {func(h *agent.Hooks) {
			h.AfterTool = func(context.Context, agent.Run, firn.ToolCall, tool.Result) (tool.Result, error) { panic("a bug") }
		}, true},
		"before a compaction": {func(h *agent.Hooks) {
			h.BeforeCompaction = func(context.Context, agent.Run, compact.Plan) (compact.Decision, error) { panic("a bug") }
		}, false},
		"after the turn": {func(h *agent.Hooks) {
			h.AfterTurn = func(context.Context, agent.Run, agent.Outcome) error { panic("a bug") }
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := playOn(t, small(8000, func(req provider.Request) scripted.Step {
				if last := req.Window.Items[len(req.Window.Items)-1].Message; last.Role == firn.RoleUser && last.Text() == "go" {
					return scripted.Call("1", "echo", arg("x"))
				}
				return scripted.Reply("Fine.")
			}))
			b.Tools = []tool.Tool{echo("echo")}
			seed(t, b, 20)
			c.set(&b.Hooks)
			events, err := b.run(t.Context(), agent.TextInput("go"))
			if (err != nil) != c.fails || !strings.Contains(fmt.Sprint(events, err), "a bug") {
				t.Errorf("the error is %v, and the events are %s", err, kinds(events))
			}
			checkClosed(t, b)
			b.Hooks = agent.Hooks{}
			b.runText("and now?")
			b.accepted()
		})
	}
}

// TestClose checks that closing an agent stops its background work, even if the model
// ignores cancellation, and that no new work starts.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := play(t, scripted.Forever(scripted.Reply("Fine.")))
		b.NoTitles = false
		b.Model = odd{b.model, provider.ForTitle, func() { <-release }}
		b.runText("Hello.")
		began := time.Now()
		if err := b.Close(); err != nil || time.Since(began) > noticed {
			t.Errorf("closing took %v, %v", time.Since(began), err)
		}
		close(release)
		synctest.Wait()
		b.id, b.Model = firn.NewID(), b.model
		b.runText("Hello again.")
		synctest.Wait()
		if n := purposes(b.model)[provider.ForTitle]; n != 0 {
			t.Errorf("a title was requested %d times after closing", n)
		}
	})
}

// TestWait checks that Wait waits for background work.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := scripted.Reply("A slow title")
		slow.Delay = time.Second
		b := playOn(t, byPurpose(map[provider.Purpose]scripted.Step{provider.ForTitle: slow, provider.ForTurn: scripted.Reply("Fine.")}))
		b.NoTitles = false
		b.runText("Hello.")
		if strings.Contains(b.log(), "A slow title") {
			t.Error("the turn waited for the title")
		}
		b.Wait()
		if !strings.Contains(b.log(), "A slow title") {
			t.Errorf("there is no title:\n%s", b.log())
		}
	})
}
