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
	"firn.dev/provider"
	"firn.dev/window"
)

// Pruning says when old tool results are shortened in the window. The log
// keeps them whole.
type Pruning struct {
	// After is how long nothing must have been asked: a provider that keeps
	// what it was sent for a while then has forgotten it, and the change costs
	// nothing. Zero means that nothing is pruned. Five minutes is usual.
	After time.Duration
	window.Pruning
}

// pruneType is the type of entries that say up to where results are pruned.
// Once said it stays so: what the model is sent must not change back and forth.
const pruneType = "firn.prune"

type pruneMark struct {
	// Window is the size of the window that decides how much is pruned.
	Window int64 `json:"window"`
}

// fitting is how the window of a turn is made to fit its model.
type fitting struct {
	// tokens is what the last request was estimated at.
	tokens int64
	// tight is by how much the model's window is taken for smaller than it says,
	// because it refused what by our count it should have taken.
	tight int64
	// stated is the limit that the provider named when it refused, own the same by our
	// count, and sent how many tokens it counted; zero if it named none.
	stated, own, sent int64
	// overflows counts refusals in a row, compactions those of this turn that a
	// refusal led to.
	overflows, compactions int
	// refused is the size of the request that was refused last.
	refused int64
	// level is how full the window was before the turn, if that was measured; warned is
	// what the user was warned of. Omitted: turns are left out of the request.
	level, warned     Level
	measured, omitted bool
	// bare: no thinking is sent back any more in this turn.
	bare bool
	// thoughts: the last request had thinking in it.
	thoughts bool
	// suggested: the caller was told that compaction is due.
	suggested bool
	// stuck: compacting did not help in this turn; it is not tried again.
	stuck bool
}

// source is what the window is built of: the session, or what the caller
// supplied and the turn added.
func (t *turn) source() window.Path {
	p := t.path
	if t.in.History != nil {
		p = window.PathOf(t.in.History)
		p.Entries = append(slices.Clip(p.Entries), t.since()...)
		p.Head, p.End = t.path.Head, t.path.End
	}
	p = p.Limit(cmp.Or(t.in.Turns, t.a.Turns))
	p = t.pruned(p)
	if t.a.ResultBudget > 0 {
		p = p.BoundResults(t.a.ResultBudget)
	}
	return p
}

// since are the entries of the path from the user's message on.
func (t *turn) since() []firn.Entry {
	i := slices.IndexFunc(t.path.Entries, func(e firn.Entry) bool { return e.ID == t.user })
	if i < 0 {
		return t.log.own
	}
	return t.path.Entries[i:]
}

// options is how windows of this turn are built.
func (t *turn) options() window.Options {
	o := window.Options{
		System: t.system(), Profile: t.info.Profile, Ask: t.info.Ask(),
		Injected: t.injected, Counter: t.a.counter(), MaxImages: t.maxImages(), Agent: t.a.name(), Owner: t.owner(),
	}
	if t.fit.bare {
		o.Ask.Model = t.info.Name + " without its thinking" // said nothing, so it gets nothing back
	}
	return o
}

// maxImages sends no images to a model that is known not to see.
func (t *turn) maxImages() int {
	if !t.info.Sees && !t.info.Assumed {
		return -1
	}
	return 0
}

// request makes the request: the window, fitted as a last resort by leaving
// out the oldest turns.
func (t *turn) request() (provider.Request, error) {
	if err := t.injectWithin(); err != nil {
		return provider.Request{}, err
	}
	if fixed := t.fixed().all(); fixed >= t.info.Window {
		return provider.Request{}, t.tooBig(nil)
	}
	source := t.source()
	fitted := t.fitted(source)
	t.fit.omitted = len(fitted.Out) > len(source.Out)
	w := window.Build(fitted, t.options())
	if len(w.Items) == 0 {
		return provider.Request{}, fmt.Errorf("ask %s: there is nothing to answer: %w", t.info.Name, firn.ErrInvalid)
	}
	t.fit.tokens, t.fit.thoughts = w.Tokens.System+w.Tokens.Items+t.fixed().tools, thoughtful(w)
	return provider.Request{
		Window: w, Tools: t.specs, MaxTokens: t.maxTokens(t.fit.tokens),
		Thinking: t.thinking, Session: t.log.id,
	}, nil
}

// thoughtful reports whether a window holds anything that a model said to
// itself.
func thoughtful(w window.Window) bool {
	return slices.ContainsFunc(w.Items, func(it window.Item) bool {
		return slices.ContainsFunc(it.Message.Parts, func(p firn.Part) bool { _, ok := p.(firn.Thinking); return ok })
	})
}

// maxTokens bounds the answer to what is left of a window that is nearly full;
// otherwise it is for the caller to say, or for the model.
func (t *turn) maxTokens(tokens int64) int64 {
	most := t.in.Terms.MaxTokens
	left := t.info.Window - tokens - tokens/16
	if t.info.MaxOutput > 0 && left < t.info.MaxOutput && (most == 0 || left < most) {
		return max(left, 256)
	}
	return most
}

// windowSize is the model's window as far as it is believed.
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

// outputReserve is what is kept free for the answer.
func (t *turn) outputReserve() int64 {
	return max(t.windowSize()-t.a.Compaction.Limit(t.windowSize()), 0) / 2
}

// fixed are the tokens that are always sent.
type fixed struct{ system, tools, injected int64 }

func (f fixed) all() int64 { return f.system + f.tools + f.injected }

func (t *turn) fixed() fixed {
	counter := t.a.counter()
	f := fixed{system: counter.CountText(t.system())}
	for _, s := range t.specs {
		f.tools += s.Tokens(counter)
	}
	for _, in := range t.injected {
		f.injected += counter.CountMessage(&firn.Message{Role: firn.RoleUser, Parts: in.Parts})
	}
	return f
}

// makeRoom looks at the session as it is now and compacts it if it is due.
func (t *turn) makeRoom() error {
	if err := t.collect(); err != nil {
		return err
	}
	if t.in.History == nil && !unanswered(t.path) {
		return fmt.Errorf("ask %s: another turn gave the answer meanwhile: %w", t.info.Name, firn.ErrConflict)
	}
	if err := t.prune(); err != nil {
		return err
	}
	t.fit.level = t.levelBefore()
	if t.in.History != nil || t.fit.stuck || t.a.Compaction.Mode == compact.Off {
		return nil
	}
	if t.inputTokens() > 0 {
		return nil // older turns are left out; to summarise the message itself is no answer to it
	}
	tokens := t.measure()
	if err := t.flush(tokens); err != nil {
		return err
	}
	if !t.a.Compaction.Due(tokens, t.windowSize()) && !t.overfull() {
		return nil
	}
	if !t.auto() {
		t.suggest(tokens)
		return nil
	}
	return t.compact(compact.Threshold, tokens)
}

// overfull reports whether turns would have to be left out. What a provider
// reported of a window that had some left out says nothing of the whole.
func (t *turn) overfull() bool {
	p := t.source()
	return len(t.fitted(p).Out) > len(p.Out)
}

// fitted leaves out the oldest turns if there is no room for them.
func (t *turn) fitted(p window.Path) window.Path {
	budget := t.windowSize() - t.outputReserve() - t.fixed().all()
	return p.Fit(max(budget, 1), t.a.counter())
}

// measure is the size of the next request: what the provider reported and an
// estimate of what came since, else an estimate.
func (t *turn) measure() int64 {
	w := window.Build(t.source(), t.options())
	tokens := w.Tokens.Total
	if w.Tokens.Reported == 0 {
		tokens += t.fixed().tools
	}
	return tokens
}

// hopeless reports whether a failed compaction means that the turn cannot go
// on: it was stopped, or the session cannot be written.
func (t *turn) hopeless(err error) bool {
	return context.Cause(t.ctx) != nil || errors.Is(err, firn.ErrNotSaved) || errors.Is(err, firn.ErrReplaced) || errors.Is(err, ErrMoved)
}

// compact runs a compaction and reads the session anew. That a compaction
// failed is told, and is an error only if the turn cannot go on: the window is
// then fitted by leaving out turns.
func (t *turn) compact(reason compact.Reason, tokens int64) error {
	t.emit(CompactionStarted{Reason: string(reason), Tokens: tokens})
	result, err := t.runCompaction(t.job(reason))
	done := CompactionDone{
		Entry: result.Entry.ID, Before: result.Before, After: result.After, Count: result.Count, Strategy: string(result.Strategy),
		Failure: result.Failure, Err: err,
	}
	t.emit(done)
	t.spent(&result.Usage)
	if err != nil {
		t.fit.stuck = true
		if t.hopeless(err) {
			return err
		}
		if err := t.collect(); err != nil {
			return err
		}
		t.breakerNotice()
		return nil
	}
	if t.verbose {
		t.emit(Notice{Text: compactionNotice(done)})
	}
	if err := t.collect(); err != nil {
		return err
	}
	if result.Failure != nil {
		t.breakerNotice()
	}
	return nil
}

// runCompaction runs a compaction as a step of its own.
func (t *turn) runCompaction(job compact.Job) (compact.Result, error) {
	ctx, end := t.around(t.ctx, t.hook(), Step{Kind: StepCompaction, Name: string(job.Reason)})
	result, err := compact.Run(ctx, job)
	if err != nil {
		end("failed")
	} else {
		end("")
	}
	return result, err
}

// job is a compaction of this session for this model.
func (t *turn) job(reason compact.Reason) compact.Job {
	fixed := t.fixed()
	job := compact.Job{
		Store: t.a.Store, Session: t.log.id, Model: steady{t.model}, Settings: t.a.Compaction,
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
		job.Model = steady{t.a.Summarizer}
	}
	if hook := t.a.Hooks.BeforeCompaction; hook != nil {
		job.Before = func(ctx context.Context, plan compact.Plan) (compact.Decision, error) {
			return guardedHook(func() (compact.Decision, error) { return hook(ctx, t.hook(), plan) })
		}
	}
	return job
}

// compactionNotice tells the user of a compaction.
func compactionNotice(c CompactionDone) string {
	text := fmt.Sprintf("Compaction finished: about %d tokens became %d", c.Before, c.After)
	if c.Count > 1 {
		return text + fmt.Sprintf("; %d so far.", c.Count)
	}
	return text + "; the first."
}

// refused deals with the error of a question. What the model said to itself
// may have become something the provider does not know any more, after a
// change of account for instance: then it is asked once without.
func (t *turn) refused(err error) (again bool, _ error) {
	switch provider.KindOf(err) {
	case provider.Overflow:
		return t.overflowed(err)
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

// overflowed deals with a window that was too much for the model: the session
// is compacted and asked about once more; if that does not help, the error
// says what takes up the room.
func (t *turn) overflowed(err error) (again bool, _ error) {
	t.fit.overflows++
	if !t.learnLimit(err) {
		t.fit.tight = max(t.fit.tight, 1) * 2
	}
	if t.inputTokens() > 0 {
		return false, t.tooBig(err)
	}
	if t.in.History != nil || !t.auto() {
		t.suggest(t.fit.tokens)
		// Leaving out turns may do, more of them each time: there is room for
		// less than was refused, whatever the window is said to be.
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
	t.fit.tight = min(t.fit.tight, tightest)
	t.fit.compactions++
	return true, t.compact(compact.Overflow, t.fit.tokens)
}

const (
	// tightest is how far the size of a window is disbelieved by a compaction.
	tightest = 16
	// mostRefusals bounds how often in a row less is tried without one.
	mostRefusals = 5
	// mostCompactions bounds how often a turn compacts because it was refused.
	mostCompactions = 2
)

// auto reports whether the session may be compacted without asking.
func (t *turn) auto() bool {
	return t.a.Compaction.Mode != compact.Off && t.a.Compaction.Mode != compact.Suggest
}

// suggest tells the caller, once, that compaction is due.
func (t *turn) suggest(tokens int64) {
	if t.a.Compaction.Mode == compact.Suggest && !t.fit.suggested {
		t.fit.suggested = true
		t.emit(CompactionDue{Tokens: tokens, Limit: t.a.Compaction.Limit(t.windowSize())})
	}
}

// learnLimit takes the limit that a provider named when it refused, and reports whether
// that is news. What it counted tells how its count compares with ours.
func (t *turn) learnLimit(err error) bool {
	limit, sent := provider.Stated(err)
	if limit <= 0 || limit == t.fit.stated {
		return false
	}
	t.fit.stated, t.fit.own, t.fit.sent = limit, limit, sent
	if sent > 0 && t.fit.tokens > 0 {
		t.fit.own = max(int64(float64(limit)*float64(t.fit.tokens)/float64(sent)), 1)
	}
	return true
}

// inputTokens is the size of the message that the turn answers, if there is no room for
// it even alone; else zero. Once the model has answered, it had room.
func (t *turn) inputTokens() int64 {
	if t.out.Rounds > 0 || t.user == "" {
		return 0
	}
	for _, e := range slices.Backward(t.path.Entries) {
		if m, ok := saidBy(e, firn.RoleUser); ok && e.ID == t.user {
			if n := t.a.counter().CountMessage(m); n+t.fixed().all() > t.windowSize() {
				return n
			}
			return 0
		}
	}
	return 0
}

// tooBig names what takes up the room when the model refuses again.
func (t *turn) tooBig(cause error) error {
	fixed := t.fixed()
	return &compact.TooBig{
		System: fixed.system, Tools: fixed.tools, Injected: fixed.injected,
		Tail: max(t.fit.tokens-fixed.all(), 0), Limit: t.windowSize(), Window: t.info.Window,
		Model: t.info.Provider + "/" + t.info.Name, Stated: t.fit.stated, Input: t.inputTokens(), Cause: cause,
	}
}

// prune marks old tool results to be shortened from now on, if the provider
// has forgotten what it was sent.
func (t *turn) prune() error {
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
	if err := t.log.append(t.ctx, custom(pruneType, mark)); err != nil {
		return err
	}
	return t.collect()
}

// lastAnswer is the latest answer on a path.
func lastAnswer(p window.Path) *firn.Message {
	for _, e := range slices.Backward(p.Entries) {
		if m, ok := saidBy(e, firn.RoleAssistant); ok {
			return m
		}
	}
	return nil
}

// pruned applies the latest mark: what stands before it is pruned, always in
// the same way, what came later is not.
func (t *turn) pruned(p window.Path) window.Path {
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
