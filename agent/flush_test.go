package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/tool"
)

// flushes returns how the flushes of a turn ended.
func flushes(events []agent.Event) []agent.Flushed {
	var done []agent.Flushed
	for _, e := range events {
		if f, ok := e.(agent.Flushed); ok {
			done = append(done, f)
		}
	}
	return done
}

// TestFailingFlush checks that a failed flush is reported and recorded, that the turn
// continues, and that it is not repeated before the next compaction.
func TestFailingFlush(t *testing.T) {
	b := full(t)
	b.Compaction.Mode = "suggest" // so that there is no compaction
	auth := &provider.Error{Kind: provider.Auth}
	b.Model = byAnother(b.model, provider.ForFlush, scripted.Fail(auth))
	events, err := b.run(t.Context(), agent.TextInput("go"))
	if done := flushes(events); err != nil || len(done) != 1 || !errors.Is(done[0].Err, auth) || done[0].Notes != 0 {
		t.Errorf("it ended with %+v, %v", done, err)
	}
	events, err = b.run(t.Context(), agent.TextInput("again"))
	if done := flushes(events); err != nil || len(done) != 0 {
		t.Errorf("then it ended with %+v, %v", done, err)
	}
	b.accepted()
}

// byAnother has another model answer for one purpose.
func byAnother(m *scripted.Model, purpose provider.Purpose, step scripted.Step) provider.Model {
	return another{m, purpose, scripted.New(m.Info(), scripted.Forever(step))}
}

type another struct {
	provider.Model
	purpose provider.Purpose
	other   provider.Model
}

func (a another) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	if req.Purpose == a.purpose {
		return a.other.Stream(ctx, req)
	}
	return a.Model.Stream(ctx, req)
}

// TestNoFlush checks that there is no flush without a tool for notes or when disabled.
func TestNoFlush(t *testing.T) {
	for name, set := range map[string]func(*workbench){
		"without the tool":  func(b *workbench) { b.Tools = []tool.Tool{echo("echo")} },
		"turned off":        func(b *workbench) { b.Flush.Off = true },
		"with another tool": func(b *workbench) { b.Flush.Tools = []string{"notebook"} },
		"far from full":     func(b *workbench) { b.Turns = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			b := full(t)
			set(b)
			events, err := b.run(t.Context(), agent.TextInput("go"))
			if err != nil || len(flushes(events)) != 0 || purposes(b.model)[provider.ForFlush] != 0 {
				t.Errorf("there was one: %s, %v", kinds(events), err)
			}
		})
	}
}

// TestRefusedFlush has notes that cannot be written: nothing is saved, and the turn continues.
func TestRefusedFlush(t *testing.T) {
	b := full(t)
	b.Tools = []tool.Tool{tool.Remember(func(context.Context, tool.Memo) (string, error) { return "", firn.ErrUnsupported })}
	events, err := b.run(t.Context(), agent.TextInput("go"))
	if done := flushes(events); err != nil || len(done) != 1 || done[0].Notes != 0 {
		t.Errorf("it ended with %+v, %v", done, err)
	}
	b.accepted()
}

// TestFlushPrompt checks the configured prompts and the added explanation of silence. The
// request fits even if the session does not.
func TestFlushPrompt(t *testing.T) {
	b := full(t)
	b.System = "Be good."
	b.Flush.Prompt, b.Flush.System = "Note it down.", "Pause. Say NO_REPLY if you have nothing to add."
	b.runText("go")
	req := b.model.Requests()[0]
	items := req.Window.Items
	if last := items[len(items)-1].Message.Text(); req.Purpose != provider.ForFlush || !strings.Contains(last, "Note it down. If no user-visible reply is needed, start with NO_REPLY.") {
		t.Errorf("the model receives %q", last)
	}
	if tokens := req.Window.Tokens.System + req.Window.Tokens.Items; tokens > 8000 {
		t.Errorf("%d tokens are sent", tokens)
	}
	want(t, req.Window.System, "Be good.", "", "Pause. Say NO_REPLY if you have nothing to add.")
	if strings.Contains(b.log(), "Note it down.") {
		t.Error("the flush is in the log")
	}
}

// TestFlushUnderHooks checks that a hook can deny the tool call that writes notes in a flush.
func TestFlushUnderHooks(t *testing.T) {
	b := full(t)
	b.Hooks.BeforeTool = func(_ context.Context, _ agent.Run, call firn.ToolCall) (agent.Verdict, error) {
		return agent.Verdict{Deny: "no notes"}, nil
	}
	events, err := b.run(t.Context(), agent.TextInput("go"))
	if done := flushes(events); err != nil || len(done) != 1 || done[0].Notes != 0 {
		t.Errorf("it ended with %+v, %v", done, err)
	}
	if asked := b.sent(1); !strings.Contains(asked, "not allowed: no notes") {
		t.Errorf("it receives\n%s", asked)
	}
}
