package mcp

import (
	"context"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// pending handles a call that waits for approval. The gateway keeps waiting, and the result
// says how to answer. A gateway in this process ends with the client, so the call is denied
// and the agent continues without it.
func (d *toolServer) pending(ctx context.Context, id firn.ID, q wire.Approval) error {
	if !d.alone {
		return &approvalPending{fmt.Sprintf("the agent's call %s %s in session %s waits for approval; the user allows it with: firn approvals allow %s %s, or denies it with: firn approvals deny %s %s; the agent then continues, and the answer is in the session",
			prose.Clean(q.Name), prose.OneLine(string(q.Arguments), 200), id, id, prose.Clean(q.Call), id, prose.Clean(q.Call))}
	}
	_, err := d.c.Approvals.Answer(ctx, id, q.Call, wire.ApprovalAnswer{
		Decision: wire.ApprovalRefuse, Digest: q.Digest, Reason: "MCP without a running gateway cannot ask for approval; see approvals.mode and firn serve",
	})
	if wire.KindOf(err) == wire.NotFound {
		return nil // it was answered meanwhile
	}
	return err
}

// approvalPending is the outcome of a message whose turn waits for approval.
type approvalPending struct{ text string }

func (a *approvalPending) Error() string { return a.text }

// isPending returns the text for a turn that waits for approval.
func isPending(err error) (string, bool) {
	var p *approvalPending
	if !errors.As(err, &p) {
		return "", false
	}
	return p.text, true
}
