package wire

import "encoding/json"

// Approval is a tool call that waits for the answer of a user.
type Approval struct {
	// Call is the ID of the call, Name its tool.
	Call      string          `json:"call"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Digest is the SHA-256 of tool and arguments. An answer must repeat it.
	Digest string `json:"digest"`
	// Effect is what the call can do: read, edit, fetch or run.
	Effect string `json:"effect,omitempty"`
	// Rule is the rule that an answer with the scope session or project adds.
	Rule string `json:"rule,omitempty"`
	// Diff is the change that the call would make, as a unified diff.
	Diff string `json:"diff,omitempty"`
	// Outside is the path outside of the workspace that the call uses, absolute.
	Outside string `json:"outside,omitempty"`
}

// The decisions and scopes of an answer.
const (
	ApprovalAllow   = "allow"
	ApprovalRefuse  = "refuse"
	ApprovalOnce    = "once"
	ApprovalSession = "session"
	ApprovalProject = "project"
)

// ApprovalAnswer is the answer to an approval.
type ApprovalAnswer struct {
	// Call is the call that was answered; only in events.
	Call string `json:"call,omitempty"`
	// Decision is allow or refuse.
	Decision string `json:"decision"`
	// Scope is once, or session or project to add a rule for later calls; default: once.
	Scope string `json:"scope,omitempty"`
	// Digest is that of the approval.
	Digest string `json:"digest"`
	// Rule replaces the offered rule, such as shell(git diff *). It must allow the call.
	Rule string `json:"rule,omitempty"`
	// Reason is sent to the model after a refusal.
	Reason string `json:"reason,omitempty"`
}
