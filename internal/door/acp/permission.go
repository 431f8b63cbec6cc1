package acp

import (
	"context"
	"encoding/json"

	sdk "github.com/coder/acp-go-sdk"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// The options of a permission request.
const (
	allowOnce    sdk.PermissionOptionId = "allow"
	allowSession sdk.PermissionOptionId = "allow-session"
	denyOnce     sdk.PermissionOptionId = "refuse"
)

// askPermission asks the editor about a call that waits for approval, and sends the answer.
// A call is denied if the editor cannot ask.
func (t *turnUpdates) askPermission(ctx context.Context, session firn.ID, q wire.Approval) {
	response, err := t.d.conn.RequestPermission(ctx, permissionRequest(t.id, q))
	if ctx.Err() != nil {
		return // the turn is over, or another client has answered
	}
	a := wire.ApprovalAnswer{Decision: wire.ApprovalRefuse, Digest: q.Digest}
	switch {
	case err != nil:
		a.Reason = "the editor did not ask for permission: " + err.Error()
	case response.Outcome.Selected == nil: // the prompt was canceled, which stops the turn
		return
	default:
		switch response.Outcome.Selected.OptionId {
		case allowOnce:
			a.Decision = wire.ApprovalAllow
		case allowSession:
			a.Decision, a.Scope = wire.ApprovalAllow, wire.ApprovalSession
		}
	}
	if _, err := t.d.c.Approvals.Answer(ctx, session, q.Call, a); err != nil && ctx.Err() == nil {
		t.update(sdk.UpdateAgentThoughtText("The answer was not accepted: " + err.Error() + "\n"))
	}
}

// permissionRequest returns the request for a call, with its change.
func permissionRequest(id sdk.SessionId, q wire.Approval) sdk.RequestPermissionRequest {
	title, kind, status := prose.OneLine(q.Name+" "+short(q.Arguments), 120), kindOf(q.Name), sdk.ToolCallStatusPending
	if q.Outside != "" {
		title = prose.Clean(q.Name) + " outside the workspace: " + prose.Path(q.Outside)
	}
	call := sdk.ToolCallUpdate{ToolCallId: sdk.ToolCallId(q.Call), Title: &title, Kind: &kind, Status: &status}
	var input any
	if json.Unmarshal(q.Arguments, &input) == nil {
		call.RawInput = input
	}
	if q.Diff != "" {
		call.Content = []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock("```diff\n" + prose.CleanLines(q.Diff) + "\n```"))}
	}
	options := []sdk.PermissionOption{{Kind: sdk.PermissionOptionKindAllowOnce, Name: "Allow", OptionId: allowOnce}}
	if q.Rule != "" {
		options = append(options, sdk.PermissionOption{Kind: sdk.PermissionOptionKindAllowAlways, Name: "Always in this session: " + prose.OneLine(q.Rule, 100), OptionId: allowSession})
	}
	options = append(options, sdk.PermissionOption{Kind: sdk.PermissionOptionKindRejectOnce, Name: "Deny", OptionId: denyOnce})
	return sdk.RequestPermissionRequest{SessionId: id, ToolCall: call, Options: options}
}

// permissions are the open permission requests of a turn, by call.
type permissions map[string]context.CancelFunc

// handle asks about a call, or withdraws a question that was answered elsewhere.
func (p permissions) handle(ctx context.Context, t *turnUpdates, session firn.ID, e wire.Event) {
	switch e.Name {
	case wire.ApprovalRequested:
		q := wire.DataOf[wire.Approval](e)
		if p[q.Call] != nil {
			return
		}
		asking, cancel := context.WithCancel(ctx)
		p[q.Call] = cancel
		go t.askPermission(asking, session, q)
	case wire.ApprovalAnswered:
		if cancel := p[wire.DataOf[wire.ApprovalAnswer](e).Call]; cancel != nil {
			cancel()
		}
	}
}
