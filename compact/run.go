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

// Job is one compaction to be run.
type Job struct {
	Store   store.Store
	Session firn.ID
	// Model summarises; nil means that no model is asked.
	Model provider.Model
	Settings
	// Window is the size of the window that must fit; zero means the Model's.
	Window int64
	// System, Tools and Injected are tokens that compaction cannot shrink. System
	// counts only if it is more than what Build.System comes to, Injected only
	// if Build injects nothing.
	System, Tools, Injected int64
	// Hint is what the user wants the summary to heed.
	Hint   string
	Reason Reason
	// By says who asked, for the record. Extra are fields that the entry carries.
	By    string
	Extra firn.Fields
	// Identity is the agent's system prompt, so that the summary keeps who the
	// agent is and what it knows of the user.
	Identity string
	// Before is asked before anything is summarised.
	Before func(ctx context.Context, p Plan) (Decision, error)
	// Observe is told of each call of the summariser before it is made.
	Observe func(Progress)
	// Counter counts tokens; nil means that of Build, or [window.Chars].
	Counter window.TokenCounter
	// Build is how the window will be built.
	Build window.Options
	// Keep is an entry that is not summarised, nor is anything behind it: the message
	// that is to be answered. Empty means that everything may be.
	Keep firn.EntryID
	// Refused is how many tokens the request had that the provider refused, if the
	// reason is Overflow; zero if that is not known.
	Refused int64
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
}

// Decision is what a hook makes of a plan. The zero value lets it happen.
type Decision struct {
	// Cancel ends the run with ErrCancelled.
	Cancel bool
	// Summary, if not empty, is used instead of asking a model.
	Summary string
}

// Progress tells which piece is being summarised: Chunk of Chunks, from 1.
type Progress struct {
	Chunk, Chunks int
	// Try counts from 1; above 1 the answer before was of no use.
	Try int
}

// Strategy says how a summary was made.
type Strategy string

// How a summary was made.
const (
	// ByModel: a model wrote all of it.
	ByModel Strategy = "model"
	// Extractive: it was put together from pieces of what was said.
	Extractive Strategy = "extractive"
	// ByHook: a hook supplied it.
	ByHook Strategy = "hook"
	// Mixed: a model wrote part of it, the rest is extractive.
	Mixed Strategy = "mixed"
)

// Result is what a run did.
type Result struct {
	// Entry is the compaction as it was appended.
	Entry firn.Entry
	// Before is how many tokens the window had, as well as is known; After is
	// what the counter makes of it now.
	Before, After int64
	Strategy      Strategy
	// Chunks is how many pieces were summarised by a model, Calls how often it was asked.
	Chunks, Calls int
	// Usage sums up what the summariser's answers cost, those that were of no use included.
	Usage firn.Usage
	// End is the end of the session behind the entry.
	End firn.Pos
	// Count is how many compactions count on this branch now, as far as known.
	Count int
	// Failure is why the summariser failed; nil if it did not, or was not asked.
	Failure error
}

// Run compacts a session. It returns when a compaction was appended, or with
// an error when none was: ErrNothing, ErrOpen, ErrCancelled, ErrMoved, a
// [*TooBig], the context's cause, or that of the store. A run that failed by
// itself (TooBig, or a hook that failed) appends a record of the failure; when
// the context ends nothing is written at all.
//
// A model that fails is no error: the summary is then extractive, and the failure
// counts for the [Breaker]. The model is
// asked at most twice for each of at most 32 pieces for what is older and as
// many for the beginning of a split turn, and no more than 64 times in all.
//
// No lock is held. What others append meanwhile is kept, as long as it follows
// what was there; else the error is ErrMoved.
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
		f := failure{Reason: j.Reason, Error: err.Error(), Row: Failures(r.path) + 1}
		err = errors.Join(err, recordFailure(ctx, j.Store, j.Session, f))
	}
	return Result{}, err
}

// failed reports whether an error counts for the breaker.
func (r *run) failed(err error) bool {
	var big *TooBig
	return errors.As(err, &big) || errors.Is(err, errHook)
}

// errHook marks the failure of a hook.
var errHook = errors.New("the hook before compaction failed")

// run is a compaction under way. Path is what it was when the run began; what
// is said later does not change what is summarised.
type run struct {
	Job
	path    window.Path
	counter window.TokenCounter
	build   window.Options
	knife   *knife
	// window is the size of the window, limit what must be met of it, and room
	// what the limit leaves for messages and summary.
	window, limit, room int64
	// before is the best that is known of the window's size, counted what the
	// counter makes of it, empty what it makes of a window with no messages. Assumed
	// is the size that decides what is cut: before, or the whole window if it was
	// refused.
	before, counted, assumed int64
	empty                    size
	// carried is what the previous compaction remembers, body its summary.
	carried Details
	body    string
	// found are the pins that had to be looked for.
	found map[firn.EntryID]Pin
	// weighed keeps what was gathered for each cut, by its place.
	weighed map[int]choice
}

// do is Run without the record of a failure.
func (r *run) do(ctx context.Context) (Result, error) {
	var err error
	if r.path, err = collect(ctx, r.Store, r.Session); err != nil {
		return Result{}, err
	}
	breaker := BreakerOf(r.path)
	open := breaker.Open(r.Settings, r.now()) && r.Reason != Manual
	if open && breaker.Nothing && r.Reason == Threshold {
		return Result{}, fmt.Errorf("%w, until %s", ErrOpen, breaker.Until(r.Settings).Local().Format("15:04"))
	}
	r.prepare()
	choice, err := r.choose(ctx, 0)
	if err != nil {
		return Result{}, err
	}
	s := r.summariser(open)
	choice, err = r.summarise(ctx, choice, s)
	if err != nil {
		return Result{}, err
	}
	return r.commit(ctx, choice, s)
}

// collect reads the live part of a session.
func collect(ctx context.Context, st store.Store, id firn.ID) (window.Path, error) {
	return window.Collect(st.ReadBack(ctx, id, store.End))
}

// prepare works out the figures.
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
	r.window = known(r.window)
	r.limit = r.Limit(r.window)
	r.empty = r.sizeOf(window.Build(window.Path{}, r.build))
	r.room = r.limit - r.empty.total()
	r.knife = newKnife(r.path.Entries, r.counter)
	r.keep()
	r.figures()
	if r.path.Compaction != nil {
		if c, ok := r.path.Compaction.Body.(*firn.Compaction); ok {
			r.carried, r.body = DetailsOf(c), bodyOf(c.Summary)
			if c.FromHook && r.carried.Strategy == "" { // not ours: its lists may mean something else
				r.carried.ReadFiles, r.carried.ModifiedFiles = nil, nil
			}
		}
	}
}

// keep sees to it that the message to be answered is kept. If it alone is above the
// limit that the settings wish for, only what the window takes counts.
func (r *run) keep() {
	tail, ok := r.knife.keep(r.Keep)
	if !ok || tail+minBody <= r.room {
		return
	}
	hard := r.Settings
	hard.Threshold, hard.Fraction = 0, 0
	r.limit = hard.Limit(r.window)
	r.room = r.limit - r.empty.total()
}

// figures measures the window as it is.
func (r *run) figures() {
	w := window.Build(r.path, r.build)
	r.counted = r.sizeOf(w).total()
	r.before = r.counted
	if w.Tokens.Reported > 0 {
		r.before = w.Tokens.Total
	}
	r.assumed = r.before
	if r.Reason == Overflow { // whatever was reported before
		r.before = max(r.before, r.Refused)
		r.assumed = max(r.before, r.window)
	}
}

// summariser makes the summariser of the run. One that is mute asks no model.
func (r *run) summariser(mute bool) *summariser {
	model := r.Model
	if mute {
		model = nil
	}
	s := newSummariser(model, r.Settings, r.counter)
	s.session, s.identity, s.hint, s.observe = r.Session, r.Identity, r.Hint, r.Observe
	return s
}
