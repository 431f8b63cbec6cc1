package chat

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// approvals are the tool calls that wait for the user's answer. It is safe for concurrent
// use.
type approvals struct {
	mu      sync.Mutex
	waiting []wire.Approval
	// seen are the questions of this turn that were added, so that none is added twice, and
	// shown the last one that was shown of each call.
	seen  map[string]bool
	shown map[string]string
	// arrived has a value if there may be a new question.
	arrived chan struct{}
}

func newApprovals() *approvals {
	return &approvals{seen: make(map[string]bool), shown: make(map[string]string), arrived: make(chan struct{}, 1)}
}

// add adds a question. It returns false if it was added before.
func (a *approvals) add(q wire.Approval) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen[q.Call+q.Digest] {
		return false
	}
	a.seen[q.Call+q.Digest] = true
	a.waiting = append(a.waiting, q)
	select {
	case a.arrived <- struct{}{}:
	default:
	}
	return true
}

// remove removes a question that was answered. It returns false if there is none.
func (a *approvals) remove(call string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.waiting)
	a.waiting = slices.DeleteFunc(a.waiting, func(q wire.Approval) bool { return q.Call == call })
	return len(a.waiting) < before
}

// forget removes a question, so that it is shown if it is asked again.
func (a *approvals) forget(q wire.Approval) {
	a.remove(q.Call)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.seen, q.Call+q.Digest)
	delete(a.shown, q.Call)
}

// reset forgets all questions when a turn has ended.
func (a *approvals) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = nil
	clear(a.seen)
	clear(a.shown)
}

// current returns the oldest question.
func (a *approvals) current() (wire.Approval, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) == 0 {
		return wire.Approval{}, false
	}
	return a.waiting[0], true
}

// unshown returns the oldest question if it was not shown yet, and marks it as shown. Only
// one question is on the screen, so that an answer cannot be meant for another one.
func (a *approvals) unshown() (wire.Approval, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) == 0 || a.shown[a.waiting[0].Call] == a.waiting[0].Digest {
		return wire.Approval{}, false
	}
	a.shown[a.waiting[0].Call] = a.waiting[0].Digest
	return a.waiting[0], true
}

// showsDiff reports whether the diff of a call was shown with its question.
func (a *approvals) showsDiff(call string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.shown[call] != ""
}

// approvalPrompt asks the user of a chat about tool calls.
type approvalPrompt struct{ *chat }

// approvalEvent handles the approval events of a turn.
func (c approvalPrompt) approvalEvent(ctx context.Context, e wire.Event) {
	switch e.Name {
	case wire.ApprovalRequested:
		c.question(ctx, wire.DataOf[wire.Approval](e))
	case wire.ApprovalAnswered:
		if a := wire.DataOf[wire.ApprovalAnswer](e); c.approvals.remove(a.Call) {
			c.screen.note("· %s", answerText(a))
			c.showNext()
		}
	case wire.Gap:
		c.fetchApprovals(ctx) // a question may have been missed
	}
}

// answerText describes an answer.
func answerText(a wire.ApprovalAnswer) string {
	switch {
	case a.Decision != wire.ApprovalAllow:
		return "denied"
	case a.Rule != "":
		return fmt.Sprintf("allowed, always in this %s: %s", prose.Clean(a.Scope), prose.OneLine(a.Rule, 200))
	}
	return "allowed"
}

// fetchApprovals shows the questions that wait in the session and reports whether there are
// any. Errors are ignored: the events bring the questions too.
func (c approvalPrompt) fetchApprovals(ctx context.Context) bool {
	all, err := c.client.Approvals.List(ctx, c.id)
	if err != nil {
		return false
	}
	for _, q := range all {
		c.question(ctx, q)
	}
	return len(all) > 0
}

// showNext shows the oldest question, unless it is shown already.
func (c approvalPrompt) showNext() {
	if q, ok := c.approvals.unshown(); ok {
		c.screen.endAnswer()
		c.showQuestion(q, foldedDiff)
	}
}

// question shows a question after those before it. Without a terminal, the call is denied.
func (c approvalPrompt) question(ctx context.Context, q wire.Approval) {
	if !c.approvals.add(q) {
		return
	}
	c.showNext()
	if c.looping {
		return // the loop reads the answer
	}
	if c.o.Terminal.In && c.o.Terminal.Err && c.o.Stdin != nil {
		c.askNow(ctx)
		return
	}
	c.sendAnswer(ctx, q, wire.ApprovalAnswer{Decision: wire.ApprovalRefuse, Reason: "there is no terminal to ask for approval; see --approve"})
}

// askNow reads answers from the terminal until one is understood. It is used without the
// loop, for a single question.
func (c approvalPrompt) askNow(ctx context.Context) {
	if c.stdin == nil {
		c.stdin = bufio.NewReader(c.o.Stdin)
	}
	for {
		c.screen.prompt()
		text, err := readLine(c.stdin)
		c.screen.typed(text)
		if err != nil && text == "" {
			text = "n"
		}
		if c.tryAnswer(ctx, text) {
			return
		}
	}
}

// showQuestion asks about a call: with all of its arguments, and with its diff. Of each at most
// most lines are shown.
func (c approvalPrompt) showQuestion(q wire.Approval, most int) {
	what := prose.CallTitle(q.Name, q.Arguments)
	c.screen.lines([]string{c.style(bold, "Allow "+what+"?")})
	details := prose.CallDetails(q.Name, q.Arguments, q.Diff != "")
	c.showDetails(what, details, most)
	if q.Outside != "" {
		c.screen.lines([]string{c.style(bold, "  outside the workspace: "+prose.Path(q.Outside))})
	}
	c.showDiff(what, q.Diff, most)
	choices := "  y yes · n [REASON] no"
	if q.Rule != "" {
		choices += " · a always in this session, p in this project: " + prose.OneLine(q.Rule, 200)
	}
	if strings.Count(q.Diff, "\n") > most || len(details) > most {
		choices += " · d show all of it"
	}
	c.screen.lines([]string{c.style(dimmed, choices)})
}

// tryAnswer uses a line as the answer to the oldest question. It returns false if there is
// none, or if the line is not an answer.
func (c approvalPrompt) tryAnswer(ctx context.Context, text string) bool {
	q, ok := c.approvals.current()
	if !ok {
		return false
	}
	word, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
	a := wire.ApprovalAnswer{Decision: wire.ApprovalAllow}
	switch strings.ToLower(word) {
	case "y", "yes":
	case "n", "no":
		a.Decision, a.Reason = wire.ApprovalRefuse, strings.TrimSpace(reason)
	case "a", "always":
		a.Scope = wire.ApprovalSession
	case "p", "project":
		a.Scope = wire.ApprovalProject
	case "d", "diff":
		c.showQuestion(q, maxDiffLines)
		return true
	default:
		c.screen.note("· please answer y, n, a or p; n REASON gives the agent a reason")
		return false
	}
	if a.Scope != "" && q.Rule == "" {
		c.screen.note("· there is no rule for this call; y allows it once")
		return false
	}
	c.sendAnswer(ctx, q, a)
	return true
}

// sendAnswer sends an answer. The event of the turn confirms it. If it is not accepted, because
// the turn that asks is not running yet, the turn asks again.
func (c approvalPrompt) sendAnswer(ctx context.Context, q wire.Approval, a wire.ApprovalAnswer) {
	a.Digest = q.Digest
	if _, err := c.client.Approvals.Answer(ctx, c.id, q.Call, a); err != nil {
		c.approvals.forget(q)
		c.reports.Add("the answer was not accepted: " + err.Error())
		c.showNext()
		return
	}
	if c.approvals.remove(q.Call) {
		a.Rule = q.Rule
		if a.Scope == "" {
			a.Rule = ""
		}
		c.screen.note("· %s", answerText(a))
		c.showNext()
	}
}

// consumeAnswers uses queued lines as answers. If the input has ended, the question is
// answered with no. Lines that a terminal queued before the question are messages.
func (c approvalPrompt) consumeAnswers(ctx context.Context) {
	for {
		q, ok := c.approvals.current()
		if !ok {
			return
		}
		switch {
		case !c.o.Terminal.In && len(c.queue) > 0:
			text := c.queue[0].text
			c.queue = c.queue[1:]
			c.screen.showQueue(texts(c.queue))
			c.tryAnswer(ctx, text)
		case c.ended:
			c.sendAnswer(ctx, q, wire.ApprovalAnswer{Decision: wire.ApprovalRefuse, Reason: "the input has ended"})
		default:
			return
		}
	}
}

// approveMode returns the approval mode of a message: the chosen one, or that for a user
// who can be asked.
func (c approvalPrompt) approveMode() string {
	if c.o.Approve == "" && c.looping && c.o.Terminal.In {
		return "auto"
	}
	return c.o.Approve
}
