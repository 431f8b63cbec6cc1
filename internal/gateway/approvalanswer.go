package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/approve"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// Approvals returns the tool calls of a session that wait for approval. They are read from
// the log, so they are there also while no turn runs. Calls whose arguments are not in the
// log, because secrets in them were replaced, are there while their turn waits.
func (g *lanes) Approvals(ctx context.Context, id firn.ID) ([]wire.Approval, error) {
	path, err := window.Collect(g.Store.ReadBack(ctx, id, store.End))
	if err != nil {
		return nil, err
	}
	all := []wire.Approval{}
	if !agent.Unfinished(path) {
		return all, nil // the turn was stopped
	}
	for _, q := range agent.PendingApprovals(path) {
		all = append(all, approvalOf(q))
	}
	for _, q := range g.approvals.of(id) {
		at := slices.IndexFunc(all, func(a wire.Approval) bool { return a.Call == q.Call })
		if at < 0 {
			all = append(all, approvalOf(q))
		} else if q.Outside != "" {
			all[at].Diff = q.Diff // the log does not have it
		}
	}
	return all, nil
}

// maxReason limits the reason of a refusal, in bytes.
const maxReason = 4000

// AnswerApproval answers a pending call. The answer is durable when it returns. If no turn
// waits for the answer, the interrupted turn is continued first.
func (g *lanes) AnswerApproval(ctx context.Context, id firn.ID, call string, in wire.ApprovalAnswer) (wire.ApprovalAnswer, error) {
	answer, err := g.readAnswer(ctx, call, in)
	if err != nil {
		return wire.ApprovalAnswer{}, err
	}
	w, err := g.waitingCall(ctx, id, call)
	if err != nil {
		return wire.ApprovalAnswer{}, err
	}
	if w.lease != nil && !askerOf(ctx).sharesTurnWith(w.lease.asker) {
		return wire.ApprovalAnswer{}, &wire.Problem{Kind: wire.NotAllowed, Message: "the call runs in the terminal of another user; only that user can approve it"}
	}
	if answer.Digest != w.question.Digest {
		return wire.ApprovalAnswer{}, &wire.Problem{Kind: wire.Conflict, Message: "the answer is for another call: the digest differs", Hint: "fetch the approvals again"}
	}
	if answer.Rule, err = g.ruleOf(w, answer, in.Rule); err != nil {
		return wire.ApprovalAnswer{}, err
	}
	if !g.approvals.take(w) {
		return wire.ApprovalAnswer{}, &wire.Problem{Kind: wire.Conflict, Message: "the call is already answered"}
	}
	stored := make(chan error, 1)
	answer.Stored = func(err error) { stored <- err }
	w.answer <- answer
	select {
	case err := <-stored:
		return approvalAnswerOf(answer), err
	case <-time.After(answerWait):
		return wire.ApprovalAnswer{}, &wire.Problem{Kind: wire.Unknown, Message: "the answer may or may not have been saved", Hint: "fetch the approvals again"}
	case <-ctx.Done():
		return wire.ApprovalAnswer{}, context.Cause(ctx)
	}
}

// answerWait limits the wait for a turn: to ask its question, and to store the answer.
const answerWait = 20 * time.Second

// readAnswer checks an answer.
func (g *lanes) readAnswer(ctx context.Context, call string, in wire.ApprovalAnswer) (agent.Answer, error) {
	who := askerOf(ctx)
	a := agent.Answer{Call: call, Digest: in.Digest, Allow: in.Decision == wire.ApprovalAllow, Reason: firn.CutText(in.Reason, maxReason), Scope: cmp.Or(in.Scope, wire.ApprovalOnce), By: toJSON(who)}
	switch {
	case in.Decision != wire.ApprovalAllow && in.Decision != wire.ApprovalRefuse:
		return a, Invalid("the decision must be allow or refuse")
	case !slices.Contains([]string{wire.ApprovalOnce, wire.ApprovalSession, wire.ApprovalProject}, a.Scope):
		return a, Invalid("the scope must be once, session or project")
	case in.Digest == "":
		return a, Invalid("missing digest of the approval")
	case !a.Allow && a.Scope != wire.ApprovalOnce:
		return a, Invalid("a refusal applies to one call; to refuse more, set defaults.approvals.deny")
	case a.Scope == wire.ApprovalOnce && in.Rule != "":
		return a, Invalid("a rule requires the scope session or project")
	case a.Scope != wire.ApprovalOnce && g.Approved == nil:
		return a, Invalid("this gateway stores no rules; answer once")
	case a.Scope == wire.ApprovalProject && !who.unrestricted():
		return a, &wire.Problem{Kind: wire.NotAllowed, Message: "a restricted token cannot approve for the whole project", Hint: "use the scope session"}
	}
	return a, nil
}

// ruleOf adds the rule of an answer and returns it; empty if the answer has none.
func (g *lanes) ruleOf(w *pendingAnswer, a agent.Answer, wanted string) (string, error) {
	if a.Scope == wire.ApprovalOnce {
		return "", nil
	}
	dir := w.dir
	text := cmp.Or(wanted, w.question.Rule)
	if text == "" {
		return "", Invalid("no rule matches this call; answer once")
	}
	rule, err := approve.ParseRule(text)
	if err != nil {
		return "", err
	}
	if v, _ := approve.Decide(approve.Ask, approve.Rules{Allow: []approve.Rule{rule}}, w.call); v != approve.Allow {
		return "", Invalid("the rule %s does not allow this call", rule)
	}
	if a.Scope == wire.ApprovalSession {
		return rule.String(), g.Approved.AddForSession(w.session, rule)
	}
	if dir == "" {
		return "", Invalid("the agent has no workspace; use the scope session")
	}
	return rule.String(), g.Approved.AddForProject(dir, rule)
}

// waitingCall returns the question about a call. If no turn waits for it but it is pending
// in the log, the turn is continued.
func (g *lanes) waitingCall(ctx context.Context, id firn.ID, call string) (*pendingAnswer, error) {
	w, added := g.approvals.find(id, call)
	if w != nil {
		return w, nil
	}
	pending, err := g.Approvals(ctx, id)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(pending, func(a wire.Approval) bool { return a.Call == call }) {
		return nil, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("no call %q is waiting for approval", firn.CutText(call, 80)), Hint: "it is already answered, or its turn was stopped"}
	}
	if err := g.checkWorkplace(ctx, id); err != nil {
		return nil, err
	}
	if err := g.continueTurn(ctx, id); err != nil {
		return nil, err
	}
	timeout := time.After(answerWait)
	for {
		select {
		case <-added:
		case <-timeout:
			return nil, &wire.Problem{Kind: wire.Busy, Message: "the turn that waits for the answer did not start in time", Hint: "try again in a moment"}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if w, added = g.approvals.find(id, call); w != nil {
			return w, nil
		}
	}
}

// checkWorkplace returns an error if the pending turn of a session needs the tools of a
// client that is not there. A turn that is running has them.
func (g *lanes) checkWorkplace(ctx context.Context, id firn.ID) error {
	if g.running(id) {
		return nil
	}
	path, err := window.Collect(g.Store.ReadBack(ctx, id, store.End))
	if err != nil || !g.setup.Load().needsClientTools(path) {
		return err
	}
	return &wire.Problem{Kind: wire.Unavailable, Message: "the call runs in a terminal that is not connected", Hint: "open the chat there and enter /retry, then answer again"}
}

// continueTurn continues the interrupted turn of a session in the name of its asker, unless
// one is running.
func (g *lanes) continueTurn(ctx context.Context, id firn.ID) error {
	if _, err := g.recoverSession(ctx, id); err != nil {
		return err
	}
	if l := g.laneOf(id); l != nil {
		return nil
	}
	owed, err := g.pendingTickets(context.WithoutCancel(ctx), id)
	if err != nil {
		return err
	}
	for _, t := range owed {
		if err := g.queue(context.WithoutCancel(ctx), id, t); err != nil {
			return err
		}
	}
	return nil
}
