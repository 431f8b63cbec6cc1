package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/approve"
	"firn.dev/window"
	"firn.dev/wire"
)

// Approvals is the policy of an agent for tool calls.
type Approvals struct {
	// Mode is the default mode; empty means everything, or ask for callers that can be
	// asked.
	Mode  approve.Mode
	Rules approve.Rules
}

// RuleStore keeps the rules that users added with their answers. They are not taken from
// transcripts, so an imported one cannot allow anything.
type RuleStore interface {
	// Rules returns the rules of a session and of a project directory.
	Rules(session firn.ID, dir string) ([]approve.Rule, error)
	// AddForSession and AddForProject add a rule durably.
	AddForSession(session firn.ID, r approve.Rule) error
	AddForProject(dir string, r approve.Rule) error
	// Forget removes the rules of a session.
	Forget(session firn.ID) error
}

// approveField is the extra field with the approval mode of a message.
const approveField = "approve"

// autoMode is the requested mode of callers that can be asked: the setting, or ask.
const autoMode = "auto"

// approvalMode returns the mode of a message; empty means the agent's setting at the start
// of the turn. A restricted asker can only make it stricter.
func (s *Setup) approvalMode(agentName, requested string, who Asker) (approve.Mode, error) {
	setting := s.Habits[cmp.Or(agentName, s.Default)].Approvals.Mode
	switch requested {
	case "":
		return "", nil
	case autoMode:
		return cmp.Or(setting, approve.Ask), nil
	}
	mode, err := approve.ParseMode(requested)
	if err != nil || who.unrestricted() {
		return mode, err
	}
	return approve.Strictest(mode, cmp.Or(setting, approve.Everything)), nil
}

// allApprove reports whether all running and queued messages have an approval mode. The
// caller holds mu.
func (l *lane) allApprove(mode approve.Mode) bool {
	return !slices.ContainsFunc(slices.Concat(l.running, l.queue), func(t *ticket) bool { return t.Approve != mode })
}

// allOfClient reports whether all running and queued messages have the tools of the same
// client, or none. The caller holds mu.
func (l *lane) allOfClient(lease *toolLease) bool {
	return !slices.ContainsFunc(slices.Concat(l.running, l.queue), func(t *ticket) bool { return !t.lease().sameClient(lease) })
}

// turnApprover decides about the calls of one turn.
type turnApprover struct {
	g  *lanes
	id firn.ID
	// requested are the modes of the messages. resumed means that some of them were stored
	// by an earlier turn, so that their mode is in the log.
	requested []approve.Mode
	resumed   bool
	// lease is that of the client's tools; nil if there is none.
	lease *toolLease

	mu      sync.Mutex
	current approve.Mode
}

// approver returns the approver of the turn for a batch.
func (l *lane) approver(batch []*ticket) *turnApprover {
	a := &turnApprover{g: l.g, id: l.id, lease: batch[len(batch)-1].lease()}
	for _, t := range batch {
		a.requested = append(a.requested, t.Approve)
		a.resumed = a.resumed || t.state().resumes()
	}
	return a
}

// mode returns the mode of the turn, which is set by its first call.
func (a *turnApprover) mode(run agent.Run) approve.Mode {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current != "" {
		return a.current
	}
	setting := cmp.Or(a.g.policy(run.Agent).Mode, approve.Everything)
	modes := make([]approve.Mode, 0, len(a.requested)+1)
	for _, m := range a.requested {
		modes = append(modes, cmp.Or(m, setting))
	}
	if a.resumed {
		logged, ok := modeIn(run.Path)
		if !ok {
			logged = approve.Ask // the message was summarized: its mode is unknown
		}
		modes = append(modes, cmp.Or(logged, setting))
	}
	a.current = approve.Strictest(modes...)
	return a.current
}

// approvalMode returns the mode of the turn, which the sessions that it delegates to have
// too. The call that delegates has set it.
func (p turnPlace) approvalMode() approve.Mode {
	a, ok := p.approver.(*turnApprover)
	if !ok {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current
}

// modeIn returns the approval mode of the last user or machine message of a path, and
// whether there is such a message.
func modeIn(p window.Path) (approve.Mode, bool) {
	for _, e := range slices.Backward(p.Entries) {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleUser || byMachine(e) {
			var mode approve.Mode
			if raw := e.Extra.Get(approveField); raw != nil && json.Unmarshal(raw, &mode) != nil {
				return approve.ReadOnly, true
			}
			return mode, true
		}
	}
	return "", false
}

// policy returns the policy of an agent.
func (g *lanes) policy(agentName string) Approvals {
	return g.setup.Load().Habits[agentName].Approvals
}

// directory returns the workspace that the calls of the turn act in.
func (a *turnApprover) directory(agentName string) string {
	if a.lease != nil && !a.lease.offer.Added {
		return a.lease.offer.Directory
	}
	return a.g.workspaceOf(agentName)
}

// callOf returns a call to decide about.
func (a *turnApprover) callOf(agentName, name string, arguments json.RawMessage) approve.Call {
	c := approve.Call{Tool: name, Arguments: arguments, Workspace: a.directory(agentName)}
	switch {
	case a.lease.adds(name):
		c.Workspace = "" // its paths are those of the client
	case a.lease == nil || a.lease.offer.Added:
		c.Resolved = a.g.realWorkspaceOf(agentName)
	}
	return c
}

// gone returns the channel that is closed when the client that runs the tools is gone; nil
// if the gateway runs them.
func (a *turnApprover) gone() <-chan struct{} {
	if a.lease == nil {
		return nil
	}
	return a.lease.gone
}

// Decide implements [agent.Approver].
func (a *turnApprover) Decide(ctx context.Context, run agent.Run, call firn.ToolCall) agent.Ruling {
	dir := a.directory(run.Agent)
	c := a.callOf(run.Agent, call.Name, call.Arguments)
	outside := approve.OutsidePath(c)
	if outside != "" && isBelow(a.g.Home, outside) {
		return agent.Ruling{Refuse: fmt.Sprintf("%s belongs to firn, and no approval covers it", outside)}
	}
	if outside != "" && a.lease.confined() {
		return agent.Ruling{Refuse: fmt.Sprintf("%s is outside the workspace %s, and the tools of this terminal are confined to it", outside, dir)}
	}
	if known, ok := agent.CallOf(ctx); ok {
		c.ReadOnly = known.ReadOnly
	}
	mode, rules := a.mode(run), a.g.policy(run.Agent).Rules
	verdict, why := approve.Decide(mode, rules, c)
	if (verdict == approve.NeedsYes || verdict == approve.Refuse && outside != "") && a.g.Approved != nil {
		added, err := a.g.Approved.Rules(a.id, dir)
		if err != nil {
			a.g.Log.Warn("cannot read approval rules", "error", err)
		}
		verdict, why = approve.Decide(mode, approve.Rules{Allow: append(added, rules.Allow...), Deny: rules.Deny}, c)
	}
	switch verdict {
	case approve.Allow:
		return agent.Ruling{Outside: outside}
	case approve.Refuse:
		return agent.Ruling{Refuse: why}
	}
	r := agent.Ruling{Ask: true, Outside: outside}
	if offer := approve.Suggest(c); offer.Tool != "" && a.g.Approved != nil {
		r.Rule = offer.String()
	}
	return r
}

// isBelow reports whether a path is a directory or below it. Symbolic links are not resolved:
// the tool does that.
func isBelow(dir, path string) bool {
	rel, err := filepath.Rel(dir, filepath.FromSlash(path))
	return dir != "" && err == nil && filepath.IsLocal(rel)
}

// Ask implements [agent.Approver].
func (a *turnApprover) Ask(ctx context.Context, run agent.Run, q agent.Question) (agent.Answer, error) {
	w, err := a.g.approvals.add(&pendingAnswer{session: a.id, dir: a.directory(run.Agent), lease: a.lease, question: q, call: a.callOf(run.Agent, q.Name, q.Arguments)})
	if err != nil {
		return agent.Answer{}, err
	}
	answered := false
	defer func() {
		if !answered {
			a.g.approvals.remove(w)
		}
	}()
	select {
	case answer := <-w.answer:
		// Until the answer is in the log, another one finds the question and is refused.
		answered = true
		stored := answer.Stored
		answer.Stored = func(err error) {
			a.g.approvals.remove(w)
			stored(err)
		}
		return answer, nil
	case <-w.suspended:
		return agent.Answer{}, errSuspended
	case <-a.gone():
		return agent.Answer{}, errClientGone // the next turn asks again
	case <-ctx.Done():
		return agent.Answer{}, context.Cause(ctx)
	}
}

// errSuspended ends a turn that waits for an approval when the gateway shuts down.
var errSuspended = fmt.Errorf("%w: %w", &wire.Problem{
	Kind: wire.Closing, Message: "the gateway is shutting down while a call waits for approval", Hint: "you are asked again when the gateway is back",
}, agent.ErrSuspended)

// pendingAnswers are the questions that turns of this gateway wait for.
type pendingAnswers struct {
	mu     sync.Mutex
	all    []*pendingAnswer
	closed bool
	// changed is closed and replaced when a question is added.
	changed chan struct{}
}

// pendingAnswer is one question.
type pendingAnswer struct {
	session firn.ID
	// dir is the workspace of the call, lease that of the client that runs it, or nil.
	dir       string
	lease     *toolLease
	question  agent.Question
	call      approve.Call
	answer    chan agent.Answer
	suspended chan struct{}
	// taken is set when an answer was accepted.
	taken bool
}

// add adds a question. It fails if the gateway is shutting down.
func (p *pendingAnswers) add(w *pendingAnswer) (*pendingAnswer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errSuspended
	}
	w.answer, w.suspended = make(chan agent.Answer, 1), make(chan struct{})
	p.all = append(p.all, w)
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
	return w, nil
}

func (p *pendingAnswers) remove(w *pendingAnswer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(x *pendingAnswer) bool { return x == w })
}

// find returns the question about a call. If there is none, added is closed when one is
// added.
func (p *pendingAnswers) find(session firn.ID, call string) (w *pendingAnswer, added <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.all {
		if w.session == session && w.question.Call == call {
			return w, nil
		}
	}
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return nil, p.changed
}

// of returns the unanswered questions of a session.
func (p *pendingAnswers) of(session firn.ID) (all []agent.Question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.all {
		if w.session == session && !w.taken {
			all = append(all, w.question)
		}
	}
	return all
}

// take reserves a question for one answer. It returns false if it has one.
func (p *pendingAnswers) take(w *pendingAnswer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := !w.taken && !p.closed
	w.taken = w.taken || took
	return took
}

// suspend ends all waiting without an answer. The next gateway asks again.
func (p *pendingAnswers) suspend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	for _, w := range p.all {
		close(w.suspended)
	}
}

// approvalOf converts a question.
func approvalOf(q agent.Question) wire.Approval {
	return wire.Approval{Call: q.Call, Name: q.Name, Arguments: q.Arguments, Digest: q.Digest, Effect: string(approve.EffectOf(q.Name)), Rule: q.Rule, Diff: q.Diff, Outside: q.Outside}
}

// approvalAnswerOf converts an answer.
func approvalAnswerOf(a agent.Answer) wire.ApprovalAnswer {
	w := wire.ApprovalAnswer{Call: a.Call, Decision: wire.ApprovalRefuse, Scope: a.Scope, Digest: a.Digest, Rule: a.Rule, Reason: a.Reason}
	if a.Allow {
		w.Decision = wire.ApprovalAllow
	}
	return w
}
