package conversation

import (
	"fmt"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// approvalPending returns the problem of a turn that waits for an approval. The protocol has
// no such question, so the request ends; the turn keeps waiting for the answer.
func approvalPending(id firn.ID, e wire.Event) error {
	q := wire.DataOf[wire.Approval](e)
	return &wire.Problem{
		Kind:    wire.Conflict,
		Message: fmt.Sprintf("the agent's call %s %s waits for approval in session %s", prose.Clean(q.Name), prose.OneLine(string(q.Arguments), 200), id),
		Hint:    fmt.Sprintf("firn approvals allow %[1]s %[2]s, or firn approvals deny %[1]s %[2]s; then the agent continues in the session", id, prose.Clean(q.Call)),
	}
}
