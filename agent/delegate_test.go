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
)

// TestDepth checks that sessions can message each other three levels deep, by sending or
// spawning.
func TestDepth(t *testing.T) {
	for _, by := range []string{"sending", "spawning"} {
		t.Run(by, func(t *testing.T) {
			var ids []firn.ID
			b := playOn(t, asked(func(_ provider.Request, message string) scripted.Step {
				depth := strings.Count(message, "x")
				switch {
				case message == "":
					return scripted.Reply("Back.")
				case by == "spawning":
					return spawn(message+"x", "")
				}
				// in parallel, for the race detector
				return scripted.Join(send(ids[2*depth], message+"x"), send(ids[2*depth+1], message+"x"))
			}))
			for range 10 {
				ids = append(ids, began(t, b.Store, "main"))
			}
			b.Tools = b.SessionTools()
			b.runText("go")
			var asked []string
			for info, err := range b.Store.List(t.Context(), store.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				there := b.at(info.ID)
				if log := there.log(); strings.Contains(log, "user: goxxxx") {
					t.Errorf("the nesting is too deep:\n%s", log)
				} else if strings.Contains(log, "user: goxxx\n") {
					asked = there.results()
				}
			}
			wanted := "!sessions can delegate at most 3 levels deep; do the task here: too large"
			if len(asked) == 0 || slices.ContainsFunc(asked, func(line string) bool { return line != wanted }) {
				t.Errorf("at the deepest level it receives %q", asked)
			}
		})
	}
}

// TestCyclicCallsAreRejected checks that a session cannot message one that waits for it.
func TestCyclicCallsAreRejected(t *testing.T) {
	var b *workbench
	var other firn.ID
	b = playOn(t, asked(func(_ provider.Request, message string) scripted.Step {
		switch message {
		case "go":
			return send(other, "What do you think?")
		case "What do you think?":
			return send(b.id, "What do you?")
		case "your turn":
			return send(b.id, "And now?")
		}
		return scripted.Reply("Fine.")
	}))
	other = began(t, b.Store, "main")
	b.Tools = b.SessionTools()
	b.runText("go")
	want(t, b.at(other).results()[0], fmt.Sprintf("!session %s is waiting for this one, so it cannot be sent a message now: locked", b.id))
	want(t, b.results()[0], fmt.Sprintf("=session %s answered:", other), "Fine.")
	b.at(other).runText("your turn") // the wait is over
	want(t, b.at(other).results()[1], fmt.Sprintf("=session %s answered:", b.id), "Fine.")
}

// TestMutualCallsDoNotDeadlock has two sessions message each other at the same time, both
// called by others. One of them is rejected, so that neither waits forever.
func TestMutualCallsDoNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left, right firn.ID
		b := playOn(t, asked(func(_ provider.Request, message string) scripted.Step {
			step := scripted.Reply("Fine.")
			switch message {
			case "ask left":
				return send(left, "ask the right one")
			case "ask right":
				return send(right, "ask the left one")
			case "ask the right one":
				step = send(right, "How are you?")
			case "ask the left one":
				step = send(left, "How are you?")
			}
			step.Delay = time.Second
			return step
		}))
		left, right = began(t, b.Store, "main"), began(t, b.Store, "main")
		b.Tools = b.SessionTools()
		start := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.at(firn.NewID()).runText("ask left")
		}()
		b.runText("ask right")
		<-done
		if took := time.Since(start); took > time.Minute {
			t.Errorf("they waited %v", took)
		}
		texts := append(b.at(left).results(), b.at(right).results()...)
		refused := slices.DeleteFunc(slices.Clone(texts), func(line string) bool { return !strings.Contains(line, "is waiting for this one") })
		if len(texts) != 2 || len(refused) != 1 {
			t.Errorf("the texts are %q", texts)
		}
	})
}

// TestStoppedWhileWaiting stops a turn that waits for nested children and for a busy
// session: everything it waits for stops, and turns that have not started never do.
func TestStoppedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy firn.ID
		b := playOn(t, asked(func(_ provider.Request, message string) scripted.Step {
			switch message {
			case "occupy":
				return scripted.Call("1", "sessions_send", fmt.Sprintf(`{"session":%q,"message":"Stay.","timeout_seconds":0}`, busy))
			case "go":
				return scripted.Join(spawn("outer", ""), send(busy, "Hello?"))
			case "outer":
				return spawn("inner", "")
			case "inner", "Stay.":
				return scripted.Hang(0, scripted.Reply("Never."))
			}
			return scripted.Reply("Fine.")
		}))
		busy = began(t, b.Store, "main")
		b.Tools = b.SessionTools()
		b.at(firn.NewID()).runText("occupy")
		synctest.Wait()
		stop := errors.New("stop it")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { cancel(stop) })
		if _, err := b.run(ctx, agent.TextInput("go")); !errors.Is(err, stop) {
			t.Errorf("the error is %v", err)
		}
		synctest.Wait()
		children := b.children()
		if len(children) != 2 {
			t.Fatalf("there are %d children", len(children))
		}
		for _, id := range append(children, b.id) {
			if log := b.at(id).log(); !strings.HasSuffix(log, "[aborted]") {
				t.Errorf("the stop is not reported:\n%s", log)
			}
		}
		want(t, b.at(busy).log(), "user: Hello.", "assistant: Hello to you.", "user: Stay.") // this turn does not belong to the stopped one
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		want(t, b.at(busy).log(), "user: Hello.", "assistant: Hello to you.", "user: Stay.", "assistant:  [aborted]")
	})
}

// TestDelegatedTurnOutlivesItsCaller checks that delegated turns continue when the turn that
// started them ends.
func TestDelegatedTurnOutlivesItsCaller(t *testing.T) {
	for timeout, wanted := range map[int]string{
		-1: "=accepted: session CHILD is working; sessions_history shows the result later", 0: "=accepted: session CHILD is working; sessions_history shows the result later",
		3: "=timeout: session CHILD is still working; sessions_history shows the result later",
	} {
		t.Run(fmt.Sprint(timeout), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := playOn(t, asked(func(_ provider.Request, message string) scripted.Step {
					switch message {
					case "go":
						return spawn("count", fmt.Sprintf(`,"timeout_seconds":%d`, timeout))
					case "count":
						step := scripted.Reply("One.")
						step.Delay = time.Minute
						return step
					}
					return scripted.Reply("So be it.")
				}))
				b.Tools = b.SessionTools()
				ctx, cancel := context.WithCancel(t.Context())
				start := time.Now()
				if _, err := b.run(ctx, agent.TextInput("go")); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != time.Duration(max(timeout, 0))*time.Second {
					t.Errorf("it waited %v", took)
				}
				cancel()
				child := b.children()[0]
				want(t, b.results()[0], strings.ReplaceAll(wanted, "CHILD", string(child)))
				b.Wait()
				want(t, b.at(child).log(), "title auto: count", "user: count", "assistant: One.")
			})
		})
	}
}

// TestClosedWhileAsked closes the agent during a delegated turn that is not awaited: it is
// stopped and recorded as such.
func TestClosedWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := playOn(t, asked(func(_ provider.Request, message string) scripted.Step {
			switch message {
			case "go":
				return spawn("count", `,"timeout_seconds":0`)
			case "count":
				return scripted.Hang(0, scripted.Reply("Never."))
			}
			return scripted.Reply("So be it.")
		}))
		b.Tools = b.SessionTools()
		b.runText("go")
		synctest.Wait()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		want(t, b.at(b.children()[0]).log(), "title auto: count", "user: count", "assistant:  [aborted]")
	})
}

// brittle is a store that panics when it is asked to store a certain word.
type brittle struct{ store.Store }

func (s brittle) Append(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (firn.Pos, error) {
	for _, e := range entries {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleUser && m.Text() == "break" {
			panic("broken")
		}
	}
	return s.Store.Append(ctx, id, expect, entries...)
}

// TestDelegatedTurnPanics checks that a panic in a delegated turn is reported as a
// failure and that the session stays usable.
func TestDelegatedTurnPanics(t *testing.T) {
	var target firn.ID
	b := playOn(t, asked(func(req provider.Request, message string) scripted.Step {
		switch n := len(req.Window.Items); {
		case message == "go":
			return send(target, "break")
		case message == "" && n == 3:
			return send(target, "And now?")
		}
		return scripted.Reply("Fine.")
	}))
	b.Store = brittle{b.Store}
	target = began(t, b.Store, "main")
	b.Tools = b.SessionTools()
	b.runText("go")
	texts := b.results()
	if !strings.HasPrefix(texts[0], fmt.Sprintf("!session %s: ", target)) || !strings.Contains(texts[0], "broken") {
		t.Errorf("the text is %q", texts[0])
	}
	want(t, texts[1], fmt.Sprintf("=session %s answered:", target), "Fine.")
}
