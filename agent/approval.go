package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/approve"
	"firn.dev/tool"
	"firn.dev/window"
)

// Approver decides which tool calls may run, and asks users about the others. Its methods
// are called concurrently.
type Approver interface {
	// Decide decides about a call without waiting. [CallOf] returns the call of ctx.
	Decide(ctx context.Context, run Run, call firn.ToolCall) Ruling
	// Ask waits for the answer to a question. The question is in the log. If ctx is done,
	// Ask returns its cause. If the error is [ErrSuspended], the turn ends without a result
	// for the call, and the next turn of the session asks again.
	Ask(ctx context.Context, run Run, q Question) (Answer, error)
}

// Ruling is a decision about a call. The zero value allows it.
type Ruling struct {
	// Refuse is the reason why the call must not run; it is sent to the model.
	Refuse string
	// Ask means that a user has to answer first. Rule is offered for answers that also
	// apply to later calls; empty if there is none.
	Ask  bool
	Rule string
	// Outside is the path outside of the workspace that the call may use if it runs, see
	// [tool.WithOutside]; empty if it needs none.
	Outside string
}

// ErrSuspended means that a turn ended while it waited for an approval. Nothing is recorded,
// so that the next turn of the session asks again.
var ErrSuspended = errors.New("the turn is waiting for approval")

// The types of approval entries. A question without an answer, of a call without a result,
// is pending. A call whose answer is in the log is never run again: it may have run.
const (
	AskedType    = "firn.approval.asked"
	AnsweredType = "firn.approval.answered"
)

// Question is a call that a user has to approve.
type Question struct {
	// Call is the ID of the call, Name its tool. Digest identifies tool and arguments.
	Call   string `json:"call"`
	Name   string `json:"name"`
	Digest string `json:"digest"`
	// Arguments are the actual arguments. In the log they are absent if they are those of
	// the call.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Rule is offered for answers that also apply to later calls.
	Rule string `json:"rule,omitempty"`
	// Diff is the change that the call would make, as a unified diff. In the log it is absent
	// if Outside is set.
	Diff string `json:"diff,omitempty"`
	// Outside is the path outside of the workspace that the call uses; empty if it uses none.
	Outside string `json:"outside,omitempty"`
	// Workplace is the directory of the turn's [Workplace]; empty if it has none. The call
	// runs only there.
	Workplace string `json:"workplace,omitempty"`
}

// Answer is the answer to a question.
type Answer struct {
	Call   string `json:"call"`
	Digest string `json:"digest"`
	// Allow is true for yes. Reason is sent to the model after a no.
	Allow  bool   `json:"allow"`
	Reason string `json:"reason,omitempty"`
	// Scope and Rule describe an answer that applies to later calls too, By names its author.
	// They are recorded and have no effect here.
	Scope string          `json:"scope,omitempty"`
	Rule  string          `json:"rule,omitempty"`
	By    json.RawMessage `json:"by,omitempty"`
	// Stored is called when the answer is durable, or could not be stored; may be nil.
	Stored func(error) `json:"-"`
}

// PendingApprovals returns the pending questions of a path, in the order of the calls. They
// belong to the last answer of the path. An unreadable entry is ignored.
func PendingApprovals(p window.Path) []Question {
	asked, closed := make(map[string]Question), make(map[string]bool)
	for _, e := range slices.Backward(p.Entries) {
		switch b := e.Body.(type) {
		case *firn.Custom:
			noteApproval(b, asked, closed)
		case *firn.Message:
			for _, part := range b.Parts {
				if r, ok := part.(firn.ToolResult); ok {
					closed[r.CallID] = true
				}
			}
			if b.Role == firn.RoleAssistant {
				return pendingOf(callsOf(b), asked, closed)
			}
		}
	}
	return nil
}

// noteApproval records a question or an answer. It is called with the latest entry first,
// so the latest question of a call counts.
func noteApproval(c *firn.Custom, asked map[string]Question, closed map[string]bool) {
	switch c.Type {
	case AskedType:
		var q Question
		if json.Unmarshal(c.Data, &q) != nil || q.Call == "" {
			return
		}
		if _, later := asked[q.Call]; !later {
			asked[q.Call] = q
		}
	case AnsweredType:
		var a Answer
		if json.Unmarshal(c.Data, &a) == nil {
			closed[a.Call] = true
		}
	}
}

// pendingOf returns the questions about calls without an answer and a result. A question
// whose digest differs from that of the call is ignored.
func pendingOf(calls []firn.ToolCall, asked map[string]Question, closed map[string]bool) []Question {
	var pending []Question
	for _, call := range calls {
		q, ok := asked[call.ID]
		if !ok || closed[call.ID] {
			continue
		}
		if len(q.Arguments) == 0 {
			q.Arguments = call.Arguments
		}
		if q.Name == call.Name && q.Digest == approve.Digest(q.Name, q.Arguments) {
			pending = append(pending, q)
		}
	}
	return pending
}

// turnCalls runs the tool calls of a turn, once they are approved.
type turnCalls struct{ *turn }

// approver returns the approver of the turn; nil if every call may run.
func (t turnCalls) approver() Approver {
	if t.in.Approver != nil {
		return t.in.Approver
	}
	return t.a.Approver
}

// resumeCalls continues calls that were pending when the previous turn ended: it asks again
// and runs those that are allowed.
func (t turnCalls) resumeCalls() error {
	if t.approver() == nil || len(t.tools) == 0 {
		return nil
	}
	pending := slices.DeleteFunc(PendingApprovals(t.path), func(q Question) bool { return q.Workplace != t.workplace() })
	if len(pending) == 0 {
		return nil
	}
	t.asked = make(map[string]Question, len(pending))
	for _, q := range pending {
		t.asked[q.Call] = q
	}
	var calls []firn.ToolCall
	for _, e := range slices.Backward(t.path.Entries) {
		if m, ok := messageWithRole(e, firn.RoleAssistant); ok {
			calls = slices.DeleteFunc(callsOf(m), func(c firn.ToolCall) bool { return t.asked[c.ID].Call == "" })
			t.answer = e.ID
			break
		}
	}
	return t.call(calls)
}

// approve decides about a call and asks if necessary. It returns the reason of a refusal,
// empty if the call may run, and the path outside of the workspace that the call may use.
// Original is the call as it is in the log.
func (t turnCalls) approve(r *runningCalls, run Run, original, call firn.ToolCall) (outside, refusal string, err error) {
	approver := t.approver()
	if approver == nil {
		return "", "", nil
	}
	ruling, err := callHook(func() (Ruling, error) { return approver.Decide(t.withCall(r.ctx, call), run, call), nil })
	if err != nil {
		return "", "", err
	}
	earlier, again := t.asked[call.ID]
	switch {
	case ruling.Refuse != "":
		return "", ruling.Refuse, nil
	case !ruling.Ask && !again:
		return ruling.Outside, "", nil
	}
	q := Question{Call: call.ID, Name: call.Name, Digest: approve.Digest(call.Name, call.Arguments), Rule: ruling.Rule, Outside: ruling.Outside, Workplace: t.workplace()}
	if string(call.Arguments) != string(original.Arguments) {
		q.Arguments = call.Arguments
	}
	if q.Diff, err = t.previewCall(r.ctx, call, q.Outside); err != nil {
		return "", "", err
	}
	entry := approvalEntry(AskedType, q.stored())
	q.Arguments = call.Arguments
	if again && earlier.Digest == q.Digest {
		entry = nil // the question is in the log
	}
	if err := r.store(entry, ApprovalRequested{q}); err != nil {
		return "", "", fmt.Errorf("ask for approval: %w", err)
	}
	answer, err := callHook(func() (Answer, error) { return approver.Ask(r.ctx, run, q) })
	if err != nil {
		return "", "", err
	}
	refusal, err = t.acceptAnswer(r, q, answer)
	return q.Outside, refusal, err
}

// stored returns the question for the log. The contents of a file outside of the workspace
// are shown to the user, but not stored before the answer.
func (q Question) stored() Question {
	if q.Outside != "" {
		q.Diff = ""
	}
	return q
}

// acceptAnswer stores an answer. An answer to another call counts as a failure.
func (t turnCalls) acceptAnswer(r *runningCalls, q Question, answer Answer) (refusal string, err error) {
	if answer.Call == "" && answer.Digest == "" {
		answer.Call, answer.Digest = q.Call, q.Digest
	}
	if answer.Call != q.Call || answer.Digest != q.Digest {
		err = fmt.Errorf("the answer is about another call: %w", firn.ErrConflict)
	} else {
		err = r.store(approvalEntry(AnsweredType, answer), ApprovalAnswered{answer})
	}
	if answer.Stored != nil {
		answer.Stored(err)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("record the approval: %w", err)
	case answer.Allow:
		return "", nil
	case answer.Reason != "":
		return "the user denied it: " + answer.Reason, nil
	}
	return "the user denied it; ask what to do instead", nil
}

// failedPreview is the error of a call that would fail, so that no approval is requested.
type failedPreview struct{ error }

// previewCall returns the change that a call would make. The error of a call outside of the
// workspace is not returned, so that the model learns nothing of the file before the answer.
func (t turnCalls) previewCall(ctx context.Context, call firn.ToolCall, outside string) (diff string, err error) {
	p, ok := t.tools[call.Name].(tool.Previewer)
	if !ok {
		return "", nil
	}
	diff, err = callHook(func() (string, error) { return p.Preview(withOutside(t.withCall(ctx, call), outside), call.Arguments) })
	if errors.Is(err, ErrToolsGone) {
		return "", err
	}
	if err != nil && outside != "" {
		return "", nil
	}
	if err != nil {
		return "", failedPreview{err}
	}
	return diff, nil
}

// withOutside allows a call one path outside of the workspace, unless it is empty.
func withOutside(ctx context.Context, path string) context.Context {
	if path == "" {
		return ctx
	}
	return tool.WithOutside(ctx, path)
}

// approvalEntry returns an approval entry.
func approvalEntry(kind string, data any) *firn.Entry {
	e := firn.NewEntry(&firn.Custom{Type: kind, Data: mustJSON(data)})
	return &e
}
