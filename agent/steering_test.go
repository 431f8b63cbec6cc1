package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/tool"
	"firn.dev/window"
)

// mem is the store in memory that a workbench is made with.
func (b *workbench) mem() *memstore.Store { return b.Store.(*memstore.Store) }

// sent lists the messages of a request in short form.
func (b *workbench) sent(request int) string {
	b.t.Helper()
	var lines []string
	for _, it := range b.model.Requests()[request].Window.Items {
		lines = append(lines, brief(&it.Message))
	}
	return strings.Join(lines, "\n")
}

// speak appends a user message outside of a turn.
func (b *workbench) speak(text string) {
	b.t.Helper()
	if _, err := b.Store.Append(context.Background(), b.id, store.Any, firn.UserText(text)); err != nil {
		b.t.Error(err)
	}
}

// meanwhile returns a step during which a user message is appended.
func meanwhile(b **workbench, text string, s scripted.Step) scripted.Step {
	s.Before = func(context.Context) error { (*b).speak(text); return nil }
	return s
}

// TestMessageWhileAnswering checks that a user message during an answer follows that answer
// in the next request, and that the turn ends only when everything is answered.
func TestMessageWhileAnswering(t *testing.T) {
	var b *workbench
	b = play(t, meanwhile(&b, "and two?", scripted.Reply("One.")), meanwhile(&b, "and three?", scripted.Reply("Two.")), scripted.Reply("Three."))
	if out := b.runText("one?"); out.Text != "Three." || out.Rounds != 3 {
		t.Errorf("the result is %+v", out)
	}
	want(t, b.log(), "user: one?", "user: and two?", "assistant: One.", "user: and three?", "assistant: Two.", "assistant: Three.")
	want(t, b.sent(1), "user: one?", "assistant: One.", "user: and two?")
	want(t, b.sent(2), "user: one?", "assistant: One.", "user: and two?", "assistant: Two.", "user: and three?")
	if _, err := b.run(t.Context(), agent.Input{}); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("something is left to answer: %v", err)
	}
	b.accepted()
}

// TestMessageDuringAnAppend adds a user message at the moment the answer is stored.
func TestMessageDuringAnAppend(t *testing.T) {
	b := play(t, scripted.Reply("One."), scripted.Reply("Two."))
	b.Store = &butting{Store: b.mem(), in: b, role: firn.RoleAssistant, text: "and two?"}
	if out := b.runText("one?"); out.Text != "Two." {
		t.Errorf("the result is %+v", out)
	}
	want(t, b.log(), "user: one?", "user: and two?", "assistant: One.", "assistant: Two.")
	want(t, b.sent(1), "user: one?", "assistant: One.", "user: and two?")
	b.accepted()
}

// butting is a store in which a user message is added once, right before an entry with the
// given role or native type is written.
type butting struct {
	*memstore.Store
	in     *workbench
	role   firn.Role
	custom string
	text   string
}

func (s *butting) Append(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (firn.Pos, error) {
	if text := s.text; text != "" && s.waitsFor(entries[len(entries)-1]) {
		s.text = ""
		s.in.speak(text)
	}
	return s.Store.Append(ctx, id, expect, entries...)
}

func (s *butting) AppendDeferred(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (firn.Pos, error) {
	return s.Append(ctx, id, expect, entries...)
}

func (s *butting) waitsFor(e firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Message:
		return s.role != "" && b.Role == s.role
	case *firn.Custom:
		return s.custom != "" && b.Type == s.custom
	}
	return false
}

// TestMessageDuringATool checks that a user message during a tool call follows the result in
// the next request.
func TestMessageDuringATool(t *testing.T) {
	b := play(t, scripted.Call("1", "wait", `{}`), scripted.Reply("Both done."))
	b.Tools = []tool.Tool{tool.New("wait", "", func(context.Context, struct{}) (tool.Result, error) {
		b.speak("and that too")
		return tool.TextResult("waited"), nil
	})}
	b.runText("do this")
	want(t, b.log(), "user: do this", "assistant: wait{}", "user: and that too", "toolResult: =waited", "assistant: Both done.")
	want(t, b.sent(1), "user: do this", "assistant: wait{}", "toolResult: =waited", "user: and that too")
	b.accepted()
}

// TestMessageWhileCompacting checks that a user message during a compaction is neither lost
// nor delayed.
func TestMessageWhileCompacting(t *testing.T) {
	for _, purpose := range []provider.Purpose{provider.ForSummary, provider.ForFlush} {
		t.Run(string(purpose), func(t *testing.T) {
			b := full(t)
			spoken := false
			b.Model = watching(b.model, func(req provider.Request) {
				if req.Purpose == purpose && !spoken {
					spoken = true
					b.speak("and more")
				}
			})
			out := b.runText("go")
			if compactions(b) == 0 || !spoken || out.Rounds != 1 {
				t.Fatalf("%d compactions, message added: %t, %+v", compactions(b), spoken, out)
			}
			requests := b.model.Requests()
			if last := b.sent(len(requests) - 1); !strings.HasSuffix(last, "go and more") {
				t.Errorf("the last request ends with %q", last[max(0, len(last)-80):])
			}
			b.accepted()
		})
	}
}

// watching returns a model that reports each request first.
func watching(m provider.Model, report func(provider.Request)) provider.Model {
	return watched{m, report}
}

type watched struct {
	provider.Model
	tell func(provider.Request)
}

func (w watched) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	w.tell(req)
	return w.Model.Stream(ctx, req)
}

// TestMessageThenKilled sends a message during an answer and kills the turn at each append:
// continuing answers the remaining messages in order.
func TestMessageThenKilled(t *testing.T) {
	for n := 1; ; n++ {
		var b *workbench
		b = play(t,
			meanwhile(&b, "and two?", scripted.Call("1", "echo", arg("x"))), meanwhile(&b, "and three?", scripted.Reply("One and two.")), scripted.Reply("Three."),
			scripted.Forever(scripted.Reply("All of it.")))
		b.Tools = []tool.Tool{echo("echo")}
		inner := b.mem()
		f := &failing{Store: inner, op: "Append", at: n, forever: true}
		a := *b
		a.Agent = &agent.Agent{Store: f, Model: b.model, Tools: b.Tools, NoTitles: true, Backoff: quick}
		_, err := a.run(t.Context(), agent.TextInput("one?"))
		if err == nil {
			if n < 5 {
				t.Errorf("it was killed %d times", n-1)
			}
			return
		}
		if n == 1 {
			continue // no message was stored
		}
		t.Run(fmt.Sprint("killed at append ", n), func(t *testing.T) {
			b.t = t
			if _, err := b.run(t.Context(), agent.Input{}); err != nil {
				t.Fatalf("continuing with\n%s\ngave %v", b.log(), err)
			}
			requests := b.model.Requests()
			if last := b.sent(len(requests) - 1); !strings.Contains(last, "one?") || strings.Contains(b.log(), "two?") != strings.Contains(last, "two?") {
				t.Errorf("the request was\n%s", last)
			}
			if items := requests[len(requests)-1].Window.Items; items[len(items)-1].Message.Role == firn.RoleAssistant {
				t.Error("the model was called about its own answer")
			}
			if _, err := b.run(t.Context(), agent.Input{}); !errors.Is(err, firn.ErrInvalid) {
				t.Errorf("something is left to answer: %v", err)
			}
			b.accepted()
		})
	}
}

// TestMessageIsMarked checks that only such an answer is marked with the entry it was based
// on.
func TestMessageIsMarked(t *testing.T) {
	var b *workbench
	b = play(t, meanwhile(&b, "and two?", scripted.Reply("One.")), scripted.Reply("Two."))
	b.runText("one?")
	var knew []string
	entries := b.entries()
	for i, e := range entries {
		for _, before := range entries[:i] {
			if id := window.LastSeen(e); id != "" && before.ID == id {
				knew = append(knew, brief(e.Body.(*firn.Message))+" knew "+brief(before.Body.(*firn.Message)))
			}
		}
	}
	want(t, strings.Join(knew, "\n"), "assistant: One. knew user: one?")
}
