package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/compact"
	"firn.dev/internal/base/failure"
	"firn.dev/provider"
	"firn.dev/window"
)

// Pruning configures when old tool results are shortened in the window. The log keeps the
// full results.
type Pruning struct {
	// After is the idle time after which results are pruned. By then the provider's prompt
	// cache has expired, so that changing the prompt costs nothing extra. Zero disables
	// pruning. Five minutes is typical.
	After time.Duration
	window.Pruning
}

// pruneType is the type of entries that mark the position up to which results are pruned.
// The mark is permanent, so that the prompt does not change back and forth.
const pruneType = "firn.prune"

type pruneMark struct {
	// Window is the size of the window that determines how much is pruned.
	Window int64 `json:"window"`
}

// fitting holds the state for fitting the window of a turn to its model.
type fitting struct {
	// tokens is the estimated size of the last request.
	tokens int64
	// tight is the factor by which the model's window is assumed to be smaller than stated,
	// because the model rejected a request that should have fit.
	tight int64
	// stated is the limit that the provider reported when it rejected a request, own the
	// same limit in our token count, and sent the provider's count of the request; zero if
	// not reported.
	stated, own, sent int64
	// overflows counts consecutive rejections; compactions counts the compactions of this
	// turn caused by rejections.
	overflows, compactions int
	// refused is the size of the last rejected request.
	refused int64
	// level is how full the window was before the turn, if measured; warned is the level of
	// the last warning. omitted means that turns are left out of the request.
	level, warned     Level
	measured, omitted bool
	// bare means that thinking is no longer sent back in this turn.
	bare bool
	// thoughts means that the last request contained thinking.
	thoughts bool
	// suggested means that the caller was notified that compaction is due.
	suggested bool
	// stuck means that compaction did not help in this turn and is not tried again.
	stuck bool
}

// sourcePath returns the path the window is built from: the session, or the caller's
// history plus the entries of the turn.
func (t *turn) sourcePath() window.Path {
	p := t.path
	if t.in.History != nil {
		p = window.PathOf(t.in.History)
		p.Entries = append(slices.Clip(p.Entries), t.turnEntries()...)
		p.Head, p.End = t.path.Head, t.path.End
	}
	p = p.Limit(cmp.Or(t.in.Turns, t.a.Turns))
	p = (fitter{t}).applyPruning(p)
	if t.a.ResultBudget > 0 {
		p = p.BoundResults(t.a.ResultBudget)
	}
	return p
}

// turnEntries returns the entries of the path starting with the user's message.
func (t *turn) turnEntries() []firn.Entry {
	i := slices.IndexFunc(t.path.Entries, func(e firn.Entry) bool { return e.ID == t.user })
	if i < 0 {
		return t.log.own
	}
	return t.path.Entries[i:]
}

// options returns the options for building windows in this turn.
func (t *turn) options() window.Options {
	o := window.Options{
		System: t.system(), Profile: t.info.Profile, Ask: t.info.Ask(),
		Injected: t.injected, Counter: t.a.counter(), MaxImages: t.maxImages(), Agent: t.a.name(), Owner: t.owner(),
	}
	if t.fit.bare {
		o.Ask.Model = t.info.Name + " without its thinking" // does not match any answer, so that no thinking is sent back
	}
	return o
}

// maxImages returns the image limit: none for a model that is known not to support images.
func (t *turn) maxImages() int {
	if !t.info.Sees && !t.info.Assumed {
		return -1
	}
	return 0
}

// request builds the request. As a last resort, it leaves out the oldest turns to make the
// window fit.
func (t *turn) request() (provider.Request, error) {
	if err := t.reinjectIfNarrowed(); err != nil {
		return provider.Request{}, err
	}
	if t.in.Terms.Format != nil && !t.info.Formats {
		return provider.Request{}, fmt.Errorf("ask %s/%s: the model cannot answer in a JSON schema: %w", t.info.Provider, t.info.Name, firn.ErrUnsupported)
	}
	if fixed := t.fixed().all(); fixed >= t.info.Window {
		return provider.Request{}, (fitter{t}).tooBig(nil)
	}
	source := t.sourcePath()
	fitted := (fitter{t}).fitPath(source)
	t.fit.omitted = len(fitted.Out) > len(source.Out)
	w := window.Build(fitted, t.options())
	if len(w.Items) == 0 {
		return provider.Request{}, failure.Of(firn.ErrInvalid, "ask %s: there is nothing to answer", t.info.Name)
	}
	t.fit.tokens, t.fit.thoughts = w.Tokens.System+w.Tokens.Items+t.fixed().tools, hasThinking(w)
	return provider.Request{
		Window: w, Tools: t.specs, MaxTokens: t.maxTokens(t.fit.tokens),
		Thinking: t.thinking, Session: t.log.id, Stop: t.in.Terms.Stop, Format: t.in.Terms.Format,
	}, nil
}

// hasThinking reports whether a window contains thinking.
func hasThinking(w window.Window) bool {
	return slices.ContainsFunc(w.Items, func(it window.Item) bool {
		return slices.ContainsFunc(it.Message.Parts, func(p firn.Part) bool { _, ok := p.(firn.Thinking); return ok })
	})
}

// maxTokens limits the answer to the rest of a nearly full window. Otherwise the caller or
// the model sets the limit.
func (t *turn) maxTokens(tokens int64) int64 {
	most := t.in.Terms.MaxTokens
	left := t.info.Window - tokens - tokens/16
	if t.info.MaxOutput > 0 && left < t.info.MaxOutput && (most == 0 || left < most) {
		return max(left, 256)
	}
	return most
}

// windowSize returns the assumed size of the model's window.
func (t *turn) windowSize() int64 {
	size := t.info.Window
	if t.fit.own > 0 {
		size = min(size, t.fit.own)
	}
	if t.fit.tight > 1 {
		return size / t.fit.tight
	}
	return size
}

// outputReserve returns the number of tokens reserved for the answer.
func (t *turn) outputReserve() int64 {
	return max(t.windowSize()-t.a.Compaction.Limit(t.windowSize()), 0) / 2
}

// fixedTokens are the tokens that every request contains.
type fixedTokens struct{ system, tools, injected int64 }

func (f fixedTokens) all() int64 { return f.system + f.tools + f.injected }

func (t *turn) fixed() fixedTokens {
	counter := t.a.counter()
	f := fixedTokens{system: counter.CountText(t.system())}
	for _, s := range t.specs {
		f.tools += s.Tokens(counter)
	}
	for _, in := range t.injected {
		f.injected += counter.CountMessage(&firn.Message{Role: firn.RoleUser, Parts: in.Parts})
	}
	return f
}

// fitter fits the path of a turn to the model's window.
type fitter struct{ *turn }

// makeRoom refreshes the path and compacts the session if that is due.
func (t fitter) makeRoom() error {
	if err := t.refreshPath(); err != nil {
		return err
	}
	if t.in.History == nil && !unanswered(t.path) {
		return fmt.Errorf("ask %s: another turn has already answered: %w", t.info.Name, firn.ErrConflict)
	}
	if err := t.prune(); err != nil {
		return err
	}
	t.fit.level = t.levelBefore()
	if t.in.History != nil || t.fit.stuck || t.a.Compaction.Mode == compact.Off {
		return nil
	}
	if t.inputTokens() > 0 {
		return nil // older turns are left out; a summary of the message itself would not help
	}
	tokens := t.requestTokens()
	if err := t.flush(tokens); err != nil {
		return err
	}
	if !t.a.Compaction.Due(tokens, t.windowSize()) && !t.overfull() {
		return nil
	}
	if !t.autoCompacts() {
		t.suggestCompaction(tokens)
		return nil
	}
	return t.compact(compact.Threshold, tokens)
}

// overfull reports whether turns have to be left out. A size that the provider reported for
// a window with omissions does not count for the whole.
func (t fitter) overfull() bool {
	p := t.sourcePath()
	return len(t.fitPath(p).Out) > len(p.Out)
}

// fitPath leaves out the oldest turns if they do not fit.
func (t fitter) fitPath(p window.Path) window.Path {
	budget := t.windowSize() - t.outputReserve() - t.fixed().all()
	return p.Fit(max(budget, 1), t.a.counter())
}

// requestTokens returns the size of the next request: the size that the provider reported
// plus an estimate for later entries, or else an estimate.
func (t *turn) requestTokens() int64 {
	w := window.Build(t.sourcePath(), t.options())
	tokens := w.Tokens.Total
	if w.Tokens.Reported == 0 {
		tokens += t.fixed().tools
	}
	return tokens
}

// isFatal reports whether a compaction error ends the turn: it was stopped, or the session
// cannot be written.
func (t *turn) isFatal(err error) bool {
	return context.Cause(t.ctx) != nil || errors.Is(err, firn.ErrNotSaved) || errors.Is(err, firn.ErrReplaced) || errors.Is(err, ErrMoved)
}

// compact runs a compaction and refreshes the path. A failed compaction is reported and is
// an error only if the turn cannot continue; otherwise turns are left out to make the
// window fit.
func (t fitter) compact(reason compact.Reason, tokens int64) error {
	t.emit(CompactionStarted{Reason: string(reason), Tokens: tokens})
	result, err := t.runCompaction(t.compactionJob(reason))
	done := CompactionDone{
		Entry: result.Entry.ID, Before: result.Before, After: result.After, Count: result.Count, Strategy: string(result.Strategy),
		Failure: result.Failure, Err: err,
	}
	t.emit(done)
	t.addUsage(&result.Usage)
	if err != nil {
		t.fit.stuck = true
		if t.isFatal(err) {
			return err
		}
		if err := t.refreshPath(); err != nil {
			return err
		}
		t.breakerNotice()
		return nil
	}
	if t.verbose {
		t.emit(Notice{Text: compactionNotice(done)})
	}
	if err := t.refreshPath(); err != nil {
		return err
	}
	if result.Failure != nil {
		t.breakerNotice()
	}
	return nil
}

// runCompaction runs a compaction as a step.
func (t fitter) runCompaction(job compact.Job) (compact.Result, error) {
	ctx, end := t.around(t.ctx, t.hookRun(), Step{Kind: StepCompaction, Name: string(job.Reason)})
	result, err := compact.Run(ctx, job)
	if err != nil {
		end("failed")
	} else {
		end("")
	}
	return result, err
}

// compactionJob returns a compaction job for this session and model.
func (t fitter) compactionJob(reason compact.Reason) compact.Job {
	fixed := t.fixed()
	job := compact.Job{
		Store: t.a.Store, Session: t.log.id, Model: guardedModel{t.model}, Settings: t.a.Compaction,
		Window: t.windowSize(), System: fixed.system, Tools: fixed.tools, Injected: fixed.injected,
		Reason: reason, Identity: t.system(), Counter: t.a.counter(), Build: t.options(), Clock: t.a.Clock,
	}
	if t.out.Rounds == 0 {
		job.Keep = t.user
	}
	if reason == compact.Overflow {
		job.Refused = max(t.fit.tokens, t.fit.sent)
	}
	if t.a.Summarizer != nil {
		job.Model = guardedModel{t.a.Summarizer}
	}
	if hook := t.a.Hooks.BeforeCompaction; hook != nil {
		job.Before = func(ctx context.Context, plan compact.Plan) (compact.Decision, error) {
			return callHook(func() (compact.Decision, error) { return hook(ctx, t.hookRun(), plan) })
		}
	}
	return job
}

// compactionNotice returns the notice to the user about a compaction.
func compactionNotice(c CompactionDone) string {
	text := fmt.Sprintf("Compaction finished: about %d tokens became %d", c.Before, c.After)
	if c.Count > 1 {
		return text + fmt.Sprintf("; %d so far.", c.Count)
	}
	return text + "; the first."
}

// handleRefusal handles the error of a model call and reports whether to call again. A
// provider may reject old thinking, for example after a change of account; the call is then
// repeated once without it.
func (t fitter) handleRefusal(err error) (again bool, _ error) {
	switch provider.KindOf(err) {
	case provider.Overflow:
		return t.handleOverflow(err)
	case provider.BadRequest:
		if !t.fit.bare && t.fit.thoughts {
			t.fit.bare = true
			return true, nil
		}
	case provider.Auth, provider.Temporary:
		if t.fallBack(err) {
			return true, nil
		}
	}
	if err == nil {
		t.fit.overflows, t.fit.refused = 0, 0
	}
	return false, err
}

// handleOverflow handles a request that was too large for the model: it compacts the
// session and retries once. If that does not help, the error names the largest part.
func (t fitter) handleOverflow(err error) (again bool, _ error) {
	t.fit.overflows++
	if !t.learnLimit(err) {
		t.fit.tight = max(t.fit.tight, 1) * 2
	}
	if t.inputTokens() > 0 {
		return false, t.tooBig(err)
	}
	if t.in.History != nil || !t.autoCompacts() {
		t.suggestCompaction(t.fit.tokens)
		// Leave out more turns on each attempt: the real window is smaller than the
		// rejected request, whatever its stated size.
		shrank := t.fit.refused == 0 || t.fit.tokens < t.fit.refused
		if t.fit.own == 0 {
			t.fit.tight = max(t.fit.tight, 2*t.info.Window/max(t.fit.tokens, 1))
		}
		if t.fit.refused = t.fit.tokens; shrank && t.fit.overflows < mostRefusals {
			return true, nil
		}
		return false, t.tooBig(err)
	}
	if t.fit.overflows > 1 || t.fit.compactions >= mostCompactions {
		return false, t.tooBig(err)
	}
	t.fit.tight = min(t.fit.tight, maxShrink)
	t.fit.compactions++
	return true, t.compact(compact.Overflow, t.fit.tokens)
}

const (
	// maxShrink is the largest factor by which a compaction reduces the assumed window.
	maxShrink = 16
	// mostRefusals is the maximum number of consecutive attempts with fewer turns, without
	// compaction.
	mostRefusals = 5
	// mostCompactions is the maximum number of compactions per turn caused by rejections.
	mostCompactions = 2
)

// autoCompacts reports whether the session may be compacted without asking.
func (t fitter) autoCompacts() bool {
	return t.a.Compaction.Mode != compact.Off && t.a.Compaction.Mode != compact.Suggest
}

// suggestCompaction reports, once per turn, that compaction is due.
func (t fitter) suggestCompaction(tokens int64) {
	if t.a.Compaction.Mode == compact.Suggest && !t.fit.suggested {
		t.fit.suggested = true
		t.emit(CompactionDue{Tokens: tokens, Limit: t.a.Compaction.Limit(t.windowSize())})
	}
}

// learnLimit records the limit that a provider reported with a rejection, and reports
// whether it is new. The provider's token count is used to convert the limit to our count.
func (t fitter) learnLimit(err error) bool {
	limit, sent := provider.ReportedLimit(err)
	if limit <= 0 || limit == t.fit.stated {
		return false
	}
	t.fit.stated, t.fit.own, t.fit.sent = limit, limit, sent
	if sent > 0 && t.fit.tokens > 0 {
		t.fit.own = max(int64(float64(limit)*float64(t.fit.tokens)/float64(sent)), 1)
	}
	return true
}

// inputTokens returns the size of the message that the turn answers if it does not fit even
// alone; otherwise zero. After the first answer it is known to fit.
func (t *turn) inputTokens() int64 {
	if t.out.Rounds > 0 || t.user == "" {
		return 0
	}
	for _, e := range slices.Backward(t.path.Entries) {
		if m, ok := messageWithRole(e, firn.RoleUser); ok && e.ID == t.user {
			if n := t.a.counter().CountMessage(m); n+t.fixed().all() > t.windowSize() {
				return n
			}
			return 0
		}
	}
	return 0
}

// tooBig returns the error for a repeated rejection. It names the parts that take up the
// window.
func (t fitter) tooBig(cause error) error {
	fixed := t.fixed()
	_, counted := provider.ReportedLimit(cause)
	return &compact.TooBig{
		System: fixed.system, Tools: fixed.tools, Injected: fixed.injected,
		Tail: max(t.fit.tokens-fixed.all(), 0), Limit: t.windowSize(), Window: t.info.Window,
		Model: t.info.Provider + "/" + t.info.Name, Reported: t.fit.stated, Counted: counted, Input: t.inputTokens(), Cause: cause,
	}
}

// prune marks old tool results to be shortened from now on, if the provider's cache has
// expired.
func (t fitter) prune() error {
	if t.a.Pruning.After <= 0 || t.in.History != nil || len(t.path.Entries) == 0 {
		return nil
	}
	last := lastAnswer(t.path)
	if last == nil || t.a.now().Sub(last.Time) < t.a.Pruning.After {
		return nil
	}
	mark := pruneMark{Window: t.info.Window}
	if pruned := t.path.Prune(t.a.Pruning.Pruning, mark.Window); len(pruned.Out) == len(t.path.Out) {
		return nil
	}
	if err := t.log.append(t.ctx, customEntry(pruneType, mark)); err != nil {
		return err
	}
	return t.refreshPath()
}

// lastAnswer returns the latest answer on a path.
func lastAnswer(p window.Path) *firn.Message {
	for _, e := range slices.Backward(p.Entries) {
		if m, ok := messageWithRole(e, firn.RoleAssistant); ok {
			return m
		}
	}
	return nil
}

// applyPruning applies the latest mark: results before it are pruned, always in the same
// way; later ones are not.
func (t fitter) applyPruning(p window.Path) window.Path {
	if t.a.Pruning.After <= 0 {
		return p
	}
	for i := len(p.Entries) - 1; i >= 0; i-- {
		c, ok := p.Entries[i].Body.(*firn.Custom)
		if !ok || c.Type != pruneType {
			continue
		}
		var mark pruneMark
		if json.Unmarshal(c.Data, &mark) != nil {
			return p
		}
		return p.PruneBefore(i, t.a.Pruning.Pruning, mark.Window)
	}
	return p
}
