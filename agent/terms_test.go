package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

// TestCallersTools offers the model a tool that only the caller can run: the turn ends with
// the call, and continues once the caller has appended the result.
func TestCallersTools(t *testing.T) {
	b := play(t, scripted.Join(scripted.Reply("let me look"), scripted.Call("c1", "weather", `{"city":"Graz"}`)), scripted.Reply("it rains"))
	b.System = "be brief"
	b.Tools = []tool.Tool{tool.Now(nil)}
	terms := agent.TurnOptions{
		Instructions: "speak English", MaxTokens: 300,
		Tools: []provider.Tool{{Name: "weather", Schema: json.RawMessage(`{"type":"object"}`)}},
	}
	in := agent.TextInput("how is the weather?")
	in.Terms = terms
	out := b.finish(in)
	if out.Stop != firn.StopToolUse || out.Text != "let me look" || len(out.Pending) != 1 || out.Pending[0].ID != "c1" || out.Rounds != 1 {
		t.Errorf("the turn ended with %+v", out)
	}
	asked := b.model.Requests()[0]
	if asked.Window.System != "be brief\n\nspeak English" || asked.MaxTokens != 300 || len(asked.Tools) != 1 || asked.Tools[0].Name != "weather" {
		t.Errorf("the model received %q, %d and %v", asked.Window.System, asked.MaxTokens, asked.Tools)
	}
	result := firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{
		firn.ToolResult{CallID: "c1", Name: "weather", Content: []firn.Part{firn.Text{Text: "rain"}}},
	}})
	if _, err := b.Store.Append(t.Context(), b.id, store.Any, result); err != nil {
		t.Fatal(err)
	}
	if out := b.finish(agent.Input{Terms: terms}); out.Text != "it rains" || len(out.Pending) != 0 {
		t.Errorf("it continued with %+v", out)
	}
	want(t, b.log(), "user: how is the weather?", `assistant: let me look weather{"city":"Graz"}`, "toolResult: =rain", "assistant: it rains")
}

// TestBareTurn checks that only the conversation is sent.
func TestBareTurn(t *testing.T) {
	b := play(t, scripted.Reply("yes"), scripted.Reply("no"))
	b.System = "be brief"
	b.Tools = []tool.Tool{tool.Now(nil)}
	b.Hooks.BeforeRun = func(context.Context, agent.Run) ([]window.Injection, error) {
		return nil, errors.New("a bare turn has no hooks before it")
	}
	in := agent.TextInput("hello")
	in.Terms.Bare = true
	b.finish(in)
	if asked := b.model.Requests()[0]; asked.Window.System != "" || len(asked.Tools) != 0 {
		t.Errorf("the model received %q and has %v", asked.Window.System, asked.Tools)
	}
	b.Hooks.BeforeRun = nil
	in = agent.TextInput("hello")
	in.Terms.NoTools = true
	b.finish(in)
	if asked := b.model.Requests()[1]; asked.Window.System != "be brief" || len(asked.Tools) != 0 {
		t.Errorf("the model received %q and has %v", asked.Window.System, asked.Tools)
	}
}

// TestInvalidTerms checks that invalid terms are rejected before the model is called.
func TestInvalidTerms(t *testing.T) {
	b := play(t)
	in := agent.TextInput("hello")
	in.Terms.Tools = []provider.Tool{{Name: "a"}, {Name: "a"}}
	_, err := b.run(t.Context(), in)
	if !errors.Is(err, firn.ErrInvalid) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("the error is %v", err)
	}
}

// finish runs a turn that must go well.
func (b *workbench) finish(in agent.Input) agent.Outcome {
	b.t.Helper()
	events, err := b.run(b.t.Context(), in)
	if err != nil {
		b.t.Fatal(err)
	}
	done, ok := events[len(events)-1].(agent.Finished)
	if !ok {
		b.t.Fatalf("the last event is %T", events[len(events)-1])
	}
	return done.Outcome
}
