package acp

import (
	"context"
	"fmt"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"firn.dev"
	"firn.dev/wire"
)

// Prompt sends a message in a session and reports the progress until it is answered.
// Canceling it stops the turn.
func (d *agent) Prompt(ctx context.Context, q sdk.PromptRequest) (sdk.PromptResponse, error) {
	d.turns.Add(1)
	defer d.turns.Done()
	id, err := d.c.Resolve(ctx, string(q.SessionId))
	if err != nil {
		return sdk.PromptResponse{}, failure(err)
	}
	turn, err := turnOf(q.Prompt)
	if err != nil {
		return sdk.PromptResponse{}, failure(err)
	}
	if dir, ok := d.dirs.Load(q.SessionId); ok {
		turn.CWD = dir.(string)
	}
	if mode := d.approval(q.SessionId); mode != configured {
		turn.Approve = string(mode)
	}
	t := &turnUpdates{d: d, id: q.SessionId, ctx: context.WithoutCancel(ctx)}
	answer, err := d.run(ctx, id, turn, t)
	switch {
	case ctx.Err() != nil || d.ctx.Err() != nil:
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	case err != nil:
		return sdk.PromptResponse{}, failure(err)
	}
	t.flushRest(answer)
	reason := sdk.StopReasonEndTurn
	if answer.Stop == string(firn.StopLength) {
		reason = sdk.StopReasonMaxTokens
	}
	return sdk.PromptResponse{StopReason: reason}, nil
}

// Cancel stops the turn of a session. The prompt that started it returns with stop reason
// canceled.
func (d *agent) Cancel(context.Context, sdk.CancelNotification) error {
	return nil // the context of the prompt has ended
}

// stopTimeout limits the time to stop a turn.
const stopTimeout = 5 * time.Second

// run runs a turn. If ctx ends, the turn is stopped, and run still waits for its end.
func (d *agent) run(ctx context.Context, id firn.ID, turn wire.Turn, t *turnUpdates) (wire.Answer, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := func() { d.stop(running, id, cancel) }
	defer context.AfterFunc(ctx, stop)()
	defer context.AfterFunc(d.ctx, stop)()
	asked := make(permissions)
	for e, err := range d.streamTurn(running, t.id, id, turn) {
		if err != nil {
			return wire.Answer{}, err
		}
		if e.Name == wire.TurnCompleted {
			return wire.DataOf[wire.Answer](e), nil
		}
		t.handle(e)
		asked.handle(running, t, id, e)
	}
	return wire.Answer{}, &wire.Problem{Kind: wire.Internal, Message: "the turn ended without a result"}
}

// stop stops the turn of a session, and retries if the turn has not started yet. If that
// fails, it calls giveUp.
func (d *agent) stop(ctx context.Context, id firn.ID, giveUp func()) {
	ctx, done := context.WithTimeout(ctx, stopTimeout)
	defer done()
	again := time.NewTicker(stopTimeout / 100)
	defer again.Stop()
	for {
		if stopped, err := d.c.Stop(ctx, id); stopped {
			return
		} else if err != nil {
			giveUp()
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done(): // the turn is over
			giveUp()
			return
		}
	}
}

// turnOf converts the user's content blocks to a turn: text, images and links.
func turnOf(blocks []sdk.ContentBlock) (wire.Turn, error) {
	var turn wire.Turn
	var texts []string
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			texts = append(texts, b.Text.Text)
		case b.Image != nil:
			turn.Images = append(turn.Images, wire.Image{MimeType: b.Image.MimeType, Data: b.Image.Data})
		case b.ResourceLink != nil:
			texts = append(texts, fmt.Sprintf("[%s](%s)", b.ResourceLink.Name, b.ResourceLink.Uri))
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			texts = append(texts, fmt.Sprintf("<resource uri=%q>\n%s\n</resource>", r.Uri, r.Text))
		default:
			return turn, &wire.Problem{Kind: wire.Invalid, Message: "the prompt has a part that is neither text nor an image nor a text resource"}
		}
	}
	turn.Text = strings.Join(texts, "\n")
	if strings.TrimSpace(turn.Text) == "" && len(turn.Images) == 0 {
		return turn, &wire.Problem{Kind: wire.Invalid, Message: "empty prompt"}
	}
	return turn, nil
}

// turnUpdates sends the progress of a turn to the editor.
type turnUpdates struct {
	d   *agent
	id  sdk.SessionId
	ctx context.Context
	// sent is the part of the current answer that was sent; missed is true if some of it
	// may have been lost.
	sent   string
	missed bool
}

// handle processes an event.
func (t *turnUpdates) handle(e wire.Event) {
	switch e.Name {
	case wire.DeltaText:
		delta := wire.DataOf[wire.Delta](e)
		t.sent += delta.Text
		t.update(ofMessage(sdk.UpdateAgentMessageText(delta.Text), delta.Entry))
	case wire.DeltaThinking:
		delta := wire.DataOf[wire.Delta](e)
		t.update(ofMessage(sdk.UpdateAgentThoughtText(delta.Text), delta.Entry))
	case wire.ToolStarted:
		t.sent = ""
		call := wire.DataOf[wire.Tool](e)
		t.update(callStarted(call.Call, call.Name, call.Arguments, sdk.ToolCallStatusInProgress))
	case wire.ToolCompleted:
		call := wire.DataOf[wire.Tool](e)
		t.update(callEnded(call.Call, call.Text, call.State != "done"))
	case wire.WindowUsage:
		u := wire.DataOf[wire.Usage](e)
		t.update(sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{Used: int(u.Tokens), Size: int(u.Window)}})
	case wire.Retry:
		t.sent = ""
		t.update(sdk.UpdateAgentThoughtText("Retrying: " + wire.DataOf[wire.Notice](e).Text + "\n"))
	case wire.NoticeEvent:
		t.update(sdk.UpdateAgentThoughtText(wire.DataOf[wire.Notice](e).Text + "\n"))
	case wire.CompactionStarted:
		t.update(sdk.UpdateAgentThoughtText("Compacting the session.\n"))
	case wire.SessionUpdated:
		if title := wire.DataOf[wire.Session](e).Title; title != "" {
			t.update(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{Title: &title}})
		}
	case wire.Gap:
		t.missed = true
	}
}

// ofMessage sets the ID of the message that an update belongs to: the ID of its entry. All
// parts of a message have the same.
func ofMessage(u sdk.SessionUpdate, entry firn.EntryID) sdk.SessionUpdate {
	id := string(entry)
	switch {
	case id == "":
	case u.AgentMessageChunk != nil:
		u.AgentMessageChunk.MessageId = &id
	case u.AgentThoughtChunk != nil:
		u.AgentThoughtChunk.MessageId = &id
	case u.UserMessageChunk != nil:
		u.UserMessageChunk.MessageId = &id
	}
	return u
}

// flushRest sends the part of the answer that was not streamed.
func (t *turnUpdates) flushRest(a wire.Answer) {
	switch {
	case a.Silent || a.Text == "":
	case t.sent == "":
		t.update(ofMessage(sdk.UpdateAgentMessageText(a.Text), a.Entry))
	case t.missed && t.sent != a.Text:
		t.update(ofMessage(sdk.UpdateAgentMessageText("\n\n"+a.Text), a.Entry))
	}
}

// update sends an update. Errors are ignored: the turn is stopped if the editor is gone.
func (t *turnUpdates) update(u sdk.SessionUpdate) { _ = t.d.update(t.ctx, t.id, u) }
