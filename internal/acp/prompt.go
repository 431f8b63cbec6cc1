package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"firn"
	"firn/wire"
)

// Prompt says something in a session, and tells what happens until it is
// answered. Cancelling it stops the turn.
func (d *desk) Prompt(ctx context.Context, q sdk.PromptRequest) (sdk.PromptResponse, error) {
	d.turns.Add(1)
	defer d.turns.Done()
	id, err := d.c.Resolve(ctx, string(q.SessionId))
	if err != nil {
		return sdk.PromptResponse{}, failure(err)
	}
	turn, err := spoken(q.Prompt)
	if err != nil {
		return sdk.PromptResponse{}, failure(err)
	}
	t := &telling{d: d, id: q.SessionId, ctx: context.WithoutCancel(ctx)}
	answer, err := d.run(ctx, id, turn, t)
	switch {
	case ctx.Err() != nil || d.ctx.Err() != nil:
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	case err != nil:
		return sdk.PromptResponse{}, failure(err)
	}
	t.rest(answer)
	reason := sdk.StopReasonEndTurn
	if answer.Stop == string(firn.StopLength) {
		reason = sdk.StopReasonMaxTokens
	}
	return sdk.PromptResponse{StopReason: reason}, nil
}

// Cancel stops the turn of a session. The prompt that began it says that it was
// cancelled.
func (d *desk) Cancel(context.Context, sdk.CancelNotification) error {
	return nil // the context of the prompt has ended
}

// stopping is how long it may take to stop a turn.
const stopping = 5 * time.Second

// run runs a turn. When ctx ends, it is stopped, and it is still told how it
// ends.
func (d *desk) run(ctx context.Context, id firn.ID, turn wire.Turn, t *telling) (wire.Answer, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := func() { d.stop(running, id, cancel) }
	defer context.AfterFunc(ctx, stop)()
	defer context.AfterFunc(d.ctx, stop)()
	for e, err := range d.c.StreamTurn(running, id, turn) {
		if err != nil {
			return wire.Answer{}, err
		}
		if e.Name == wire.TurnCompleted {
			return dataOf[wire.Answer](e), nil
		}
		t.hear(e)
	}
	return wire.Answer{}, &wire.Problem{Kind: wire.Internal, Message: "the turn broke off, and the gateway did not say why"}
}

// stop stops the turn of a session, for as long as it takes to begin. If that
// cannot be done, at least nobody waits for it.
func (d *desk) stop(ctx context.Context, id firn.ID, giveUp func()) {
	ctx, done := context.WithTimeout(ctx, stopping)
	defer done()
	again := time.NewTicker(stopping / 100)
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
		case <-ctx.Done(): // it is over
			giveUp()
			return
		}
	}
}

// spoken makes a turn of what the user says: text, images, and what else they
// point at.
func spoken(blocks []sdk.ContentBlock) (wire.Turn, error) {
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
		return turn, &wire.Problem{Kind: wire.Invalid, Message: "nothing is said"}
	}
	return turn, nil
}

// telling tells an editor what happens in a turn.
type telling struct {
	d   *desk
	id  sdk.SessionId
	ctx context.Context
	// said is what of the present answer was told; missed says that something of
	// it may not have been.
	said   string
	missed bool
}

// hear tells what happened; each kind has its line.
func (t *telling) hear(e wire.Event) {
	switch e.Name {
	case wire.DeltaText:
		piece := dataOf[wire.Delta](e).Text
		t.said += piece
		t.update(sdk.UpdateAgentMessageText(piece))
	case wire.DeltaThinking:
		t.update(sdk.UpdateAgentThoughtText(dataOf[wire.Delta](e).Text))
	case wire.ToolStarted:
		t.said = ""
		call := dataOf[wire.Tool](e)
		t.update(started(call.Call, call.Name, call.Arguments, sdk.ToolCallStatusInProgress))
	case wire.ToolCompleted:
		call := dataOf[wire.Tool](e)
		t.update(ended(call.Call, call.Text, call.State != "done"))
	case wire.WindowUsage:
		u := dataOf[wire.Usage](e)
		t.update(sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{Used: int(u.Tokens), Size: int(u.Window)}})
	case wire.Retry:
		t.said = ""
		t.update(sdk.UpdateAgentThoughtText("Asking again: " + dataOf[wire.Notice](e).Text + "\n"))
	case wire.NoticeGiven:
		t.update(sdk.UpdateAgentThoughtText(dataOf[wire.Notice](e).Text + "\n"))
	case wire.CompactionStarted:
		t.update(sdk.UpdateAgentThoughtText("Compacting the session.\n"))
	case wire.Gap:
		t.missed = true
	}
}

// rest tells what of the answer was not told while it came.
func (t *telling) rest(a wire.Answer) {
	switch {
	case a.Silent || a.Text == "":
	case t.said == "":
		t.update(sdk.UpdateAgentMessageText(a.Text))
	case t.missed && t.said != a.Text:
		t.update(sdk.UpdateAgentMessageText("\n\n" + a.Text))
	}
}

// update tells the editor. If it is gone, the turn will be stopped.
func (t *telling) update(u sdk.SessionUpdate) { _ = t.d.update(t.ctx, t.id, u) }

// dataOf reads what an event tells. What cannot be read is empty.
func dataOf[T any](e wire.Event) T {
	var data T
	_ = json.Unmarshal(e.Data, &data)
	return data
}
