package agent_test

import (
	"context"
	"errors"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider/scripted"
	"firn.dev/store"
)

// takeOver takes the session over as another gateway would, and answers.
func (b *workbench) takeOver() {
	b.t.Helper()
	answer := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: "Theirs."}}, StopReason: firn.StopEnd})
	if _, err := b.Store.Append(context.Background(), b.id, store.Any, agent.Fence("b"), answer); err != nil {
		b.t.Error(err)
	}
}

// end returns the end position of the session.
func (b *workbench) end() firn.Pos {
	b.t.Helper()
	end := store.Start
	for rec, err := range b.Store.ReadBack(context.Background(), b.id, store.End) {
		if err != nil {
			b.t.Fatal(err)
		}
		end = rec.Next
		break
	}
	return end
}

// TestFenced takes a session over during an answer: the turn ends and writes nothing after the
// fence.
func TestFenced(t *testing.T) {
	var b *workbench
	taken := scripted.Reply("Ours.")
	taken.Before = func(context.Context) error { b.takeOver(); return nil }
	b = play(t, scripted.Reply("Zero."), taken)
	b.runText("zero?")
	since := b.end()
	in := agent.TextInput("one?")
	in.Since = &since
	_, err := b.run(t.Context(), in)
	if !errors.Is(err, agent.ErrFenced) || !errors.Is(err, firn.ErrConflict) {
		t.Errorf("the turn ended with %v", err)
	}
	want(t, b.log(), "user: zero?", "assistant: Zero.", "user: one?", "assistant: Theirs.")
	b.accepted()
}

// TestFencedBefore takes a session over between the position from which a turn may write and
// its first append. Earlier fences have no effect.
func TestFencedBefore(t *testing.T) {
	b := play(t, scripted.Reply("Zero."), scripted.Reply("One."))
	b.runText("zero?")
	b.takeOver()
	since := b.end()
	in := agent.TextInput("one?")
	in.Since = &since
	if _, err := b.run(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	b.takeOver()
	if _, err := b.run(t.Context(), in); !errors.Is(err, agent.ErrFenced) {
		t.Errorf("the turn ended with %v", err)
	}
	want(t, b.log(), "user: zero?", "assistant: Zero.", "assistant: Theirs.", "user: one?", "assistant: One.", "assistant: Theirs.")
}

// TestFencedByTheOwner stops a turn whose write right was revoked: the session stays as
// after a crash, for the new owner.
func TestFencedByTheOwner(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	step := scripted.Reply("Ours.")
	step.Before = func(ctx context.Context) error {
		cancel(agent.ErrFenced)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	b := play(t, step)
	since := store.Start
	in := agent.TextInput("one?")
	in.Since = &since
	if _, err := b.run(ctx, in); !errors.Is(err, agent.ErrFenced) {
		t.Errorf("the turn ended with %v", err)
	}
	want(t, b.log(), "user: one?")
	b.accepted()
}
