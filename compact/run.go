package compact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/window"
)

// Job describes a compaction.
type Job struct {
	Store   store.Store
	Session firn.ID
	// Model writes the summary; if nil, it is made without a model.
	Model provider.Model
	Settings
	// Window is the size of the window to fit; zero means the Model's.
	Window int64
	// System, Tools and Injected are tokens that compaction cannot shrink. System applies
	// only if it is more than the size of Build.System, Injected only if Build has no
	// injections.
	System, Tools, Injected int64
	// Hint is the user's instruction for the summary.
	Hint   string
	Reason Reason
	// By is the user or program that requested the compaction, for the record. Extra holds
	// additional fields of the entry.
	By    string
	Extra firn.Fields
	// Identity is the agent's system prompt, so that the summary preserves the agent's role
	// and its knowledge of the user.
	Identity string
	// Before is called before anything is summarized.
	Before func(ctx context.Context, p Plan) (Decision, error)
	// Observe is called before each call of the summarizer.
	Observe func(Progress)
	// Counter counts tokens; nil means that of Build, or [window.Chars].
	Counter window.TokenCounter
	// Build configures how the window will be built.
	Build window.Options
	// Keep is an entry that must be kept, with everything after it: the message to be
	// answered. If empty, everything may be summarized.
	Keep firn.EntryID
	// Refused is the size in tokens of the request that the provider rejected, if the
	// reason is Overflow; zero if unknown.
	Refused int64
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
}

// Decision is a hook's decision about a plan. The zero value approves it.
type Decision struct {
	// Cancel ends the run with ErrCanceled.
	Cancel bool
	// Summary, if not empty, is used instead of a model's.
	Summary string
}

// Progress identifies the piece being summarized: Chunk of Chunks, from 1.
type Progress struct {
	Chunk, Chunks int
	// Try counts from 1; above 1, the previous answer was unusable.
	Try int
}

// Strategy is the method by which a summary was made.
type Strategy string

// Methods of making a summary.
const (
	// ByModel: a model wrote all of it.
	ByModel Strategy = "model"
	// Extractive: it was assembled from excerpts of the conversation.
	Extractive Strategy = "extractive"
	// ByHook: a hook supplied it.
	ByHook Strategy = "hook"
	// Mixed: a model wrote part of it, the rest is extractive.
	Mixed Strategy = "mixed"
)

// Result is the result of a run.
type Result struct {
	// Entry is the compaction as it was appended.
	Entry firn.Entry
	// Before is the best estimate of the window's tokens before the run. After is the
	// counter's total for the new window.
	Before, After int64
	Strategy      Strategy
	// Chunks is the number of pieces that a model summarized, Calls the number of model
	// calls.
	Chunks, Calls int
	// Usage is the total usage of the summarizer, including unusable answers.
	Usage firn.Usage
	// End is the end of the session after the entry.
	End firn.Pos
	// Count is the known number of compactions now in effect on this branch.
	Count int
	// Failure is the summarizer's error; nil if it succeeded or was not called.
	Failure error
}

// Run compacts a session. It returns after a compaction was appended, or with an error if
// none was: ErrNothing, ErrPaused, ErrCanceled, ErrMoved, a [*TooBig], the context's cause,
// or the store's error. A run that fails with TooBig or because of the hook appends a
// record of the failure. If the context ends, nothing is written.
//
// A failing model is not an error: the summary is then extractive, and the failure counts
// for the [Breaker]. The model is called at most twice for each of at most 32 pieces of
// history and as many of the start of a split turn, and at most 64 times in all.
//
// No lock is held. Entries that others append in the meantime are kept as long as they
// extend the path; otherwise the error is ErrMoved.
func Run(ctx context.Context, j Job) (Result, error) {
	if j.Reason == "" {
		j.Reason = Manual
	}
	r := &run{Job: j}
	result, err := r.do(ctx)
	if err == nil {
		return result, nil
	}
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("compact session %s: %w", j.Session, context.Cause(ctx))
	}
	err = fmt.Errorf("compact session %s: %w", j.Session, err)
	if r.failed(err) {
		f := failure{Reason: j.Reason, Error: err.Error(), Row: failures(r.path) + 1}
		err = errors.Join(err, recordFailure(ctx, j.Store, j.Session, f))
	}
	return Result{}, err
}

// failed reports whether an error counts for the breaker.
func (r *run) failed(err error) bool {
	var big *TooBig
	return errors.As(err, &big) || errors.Is(err, errHook)
}

// errHook wraps the error of a hook.
var errHook = errors.New("the pre-compaction hook failed")

// run is a compaction in progress. path is the path at the start of the run; entries
// appended later are not summarized.
type run struct {
	Job
	path    window.Path
	counter window.TokenCounter
	build   window.Options
	cutter  *cutter
	// window is the size of the window, limit the size to reach, and room the part of the
	// limit available for messages and summary.
	window, limit, room int64
	// before is the best estimate of the window's size, counted the counter's total, and
	// empty that of a window without messages. assumed is the size that determines the cut:
	// before, or the whole window if the provider rejected it.
	before, counted, assumed int64
	empty                    size
	// carried holds the details of the previous compaction, body its summary.
	carried Details
	body    string
	// found holds the pins that were searched for.
	found map[firn.EntryID]Pin
	// measured caches the input collected for each cut, by its index.
	measured map[int]choice
}

// do is Run without the recording of failures.
func (r *run) do(ctx context.Context) (Result, error) {
	var err error
	if r.path, err = collect(ctx, r.Store, r.Session); err != nil {
		return Result{}, err
	}
	breaker := BreakerOf(r.path)
	open := breaker.IsOpen(r.Settings, r.now()) && r.Reason != Manual
	if open && breaker.Nothing && r.Reason == Threshold {
		return Result{}, fmt.Errorf("%w, until %s", ErrPaused, breaker.Until(r.Settings).Local().Format("15:04"))
	}
	r.prepare()
	choice, err := r.choose(ctx, 0)
	if err != nil {
		return Result{}, err
	}
	s := r.newSummarizer(open)
	choice, err = r.summarize(ctx, choice, s)
	if err != nil {
		return Result{}, err
	}
	return r.commit(ctx, choice, s)
}

// collect reads the live part of a session.
func collect(ctx context.Context, st store.Store, id firn.ID) (window.Path, error) {
	return window.Collect(st.ReadBack(ctx, id, store.End))
}

// prepare computes the figures of the run.
func (r *run) prepare() {
	r.counter, r.build = r.Counter, r.Build
	if r.counter == nil {
		r.counter = r.build.Counter
	}
	if r.counter == nil {
		r.counter = window.Chars{}
	}
	r.build.Counter = r.counter
	r.window = r.Window
	if r.window <= 0 && r.Model != nil {
		r.window = r.Model.Info().Window
	}
	r.window = windowSize(r.window)
	r.limit = r.Limit(r.window)
	r.empty = r.sizeOf(window.Build(window.Path{}, r.build))
	r.room = r.limit - r.empty.total()
	r.cutter = newCutter(r.path.Entries, r.counter)
	r.keep()
	r.figures()
	if r.path.Compaction != nil {
		if c, ok := r.path.Compaction.Body.(*firn.Compaction); ok {
			r.carried, r.body = DetailsOf(c), bodyOf(c.Summary)
			if c.FromHook && r.carried.Strategy == "" { // not written by firn: its lists may have another meaning
				r.carried.ReadFiles, r.carried.ModifiedFiles = nil, nil
			}
		}
	}
}

// keep makes sure that the message to be answered is kept. If it alone exceeds the
// configured limit, only the window's size limits the conversation.
func (r *run) keep() {
	tail, ok := r.cutter.keep(r.Keep)
	if !ok || tail+minBody <= r.room {
		return
	}
	hard := r.Settings
	hard.Threshold, hard.Fraction = 0, 0
	r.limit = hard.Limit(r.window)
	r.room = r.limit - r.empty.total()
}

// figures measures the current window.
func (r *run) figures() {
	w := window.Build(r.path, r.build)
	r.counted = r.sizeOf(w).total()
	r.before = r.counted
	if w.Tokens.Reported > 0 {
		r.before = w.Tokens.Total
	}
	r.assumed = r.before
	if r.Reason == Overflow { // regardless of the reported size
		r.before = max(r.before, r.Refused)
		r.assumed = max(r.before, r.window)
	}
}

// newSummarizer returns the summarizer of the run. A mute one uses no model.
func (r *run) newSummarizer(mute bool) *summarizer {
	model := r.Model
	if mute {
		model = nil
	}
	s := newSummarizer(model, r.Settings, r.counter)
	s.session, s.identity, s.hint, s.observe = r.Session, r.Identity, r.Hint, r.Observe
	return s
}
