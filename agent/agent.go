// Package agent runs turns: the user speaks, the model answers, tools run
// until it is done, and all of it is in the log before it counts.
//
// An [Agent] is a model with instructions, tools and habits. [Agent.Run] runs
// one turn of one session and yields what happens as it happens. Between turns
// nothing is kept in memory: every turn begins with what the log says, so it
// does not matter whether the one before it ended, was stopped or was killed.
//
// The order of things is the promise. The user's message is durable before
// the model is asked; the answer with its tool calls before a tool runs; the
// results before the model is asked again. What the model said so far is kept
// while it speaks. So a crash at any point leaves a session that the next turn
// goes on with, and nobody was told anything that is not on disk.
//
// Sessions come from a store: store.LoadOrCreate finds the one of a key. A turn
// that a crash cut short ([Unfinished] tells, [CutOff] what had come of the answer)
// is gone on with by an [Input] without parts.
// [Agent.Move] goes on from an earlier entry, on a branch; [Agent.Compact] makes
// room, and compact.Undo takes that back. Why a model did not answer is told
// by provider.KindOf, what went wrong with a store by errors.Is and the errors
// of package firn.
package agent

import (
	"context"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/compact"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

// Agent is who talks. Fill in what is needed and use it by its pointer; it must
// not be changed once a turn was run. Its methods may be called from many
// goroutines, though one session should have one turn at a time.
type Agent struct {
	// Name is the agent's id; empty means "main".
	Name  string
	Store store.Store
	// Model answers, unless a session chose another one that Models finds.
	// Models may be nil: then there is no choice.
	Model  provider.Model
	Models func(providerName, model string) (provider.Model, error)
	// Fallbacks are asked, in this order, for the rest of a turn whose model is
	// not let in, or does not answer however often it is asked again. The answer
	// says so.
	Fallbacks []provider.Model
	// System is the system prompt, Tools what the model may call.
	System string
	Tools  []tool.Tool
	// Thinking is how hard the model thinks unless the session chose otherwise.
	Thinking provider.Thinking
	Hooks    Hooks

	// Compaction says when to compact. Summarizer makes the summaries; nil
	// means the model of the turn.
	Compaction compact.Settings
	Summarizer provider.Model
	Flush      Flush
	Pruning    Pruning
	// ResultBudget bounds the characters of all tool results that are sent;
	// zero means no bound. 50,000 is a good one.
	ResultBudget int
	// Turns bounds how many turns of the user are sent; zero means all.
	Turns int

	// Rounds bounds how often the model is asked within a turn; zero means 100.
	Rounds int
	// Failures is after how many failing calls of a tool in a row the turn is
	// stopped; zero means 10. Half way there the model is warned.
	Failures int
	// Results bounds what the model sees of one tool result.
	Results tool.Limits
	// Silence says which answers are kept from the user.
	Silence Silence
	Backoff provider.Backoff
	// NoTitles leaves sessions without automatic titles.
	NoTitles bool
	// Resident keeps the live parts of sessions in memory between turns; nil
	// means that each turn reads its session.
	Resident Resident
	// Workspace is the directory that sessions are begun in if nobody names another one;
	// empty if there is none.
	Workspace string
	// Delegator runs the turns of other sessions that the session tools ask for; nil
	// means that the agent runs them itself.
	Delegator Delegator
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
	// Counter counts tokens; nil means window.Chars.
	Counter window.TokenCounter

	background work
	// naming has the sessions that are being named.
	naming sync.Map
	// counting has the sessions that are being counted from their beginning.
	counting sync.Map
}

// Resident keeps live parts of sessions in memory. It is only a help: what was
// written since, by whomever, is read before a turn begins. Its methods may be
// called from many goroutines, and it may forget at any time.
type Resident interface {
	// Load returns what is kept of a session; false if nothing is.
	Load(id firn.ID) (window.Path, bool)
	// Keep keeps the live part of a session instead of what was kept before.
	// The path must not be changed.
	Keep(id firn.ID, p window.Path)
}

// Close waits for what still runs in the background, the naming of a session
// or a child's turn, after telling it to stop. No turn may run meanwhile.
func (a *Agent) Close() error {
	a.background.close()
	return nil
}

// Wait waits for what runs in the background, and lets it finish.
func (a *Agent) Wait() { a.background.wait() }

// name is the agent's id.
func (a *Agent) name() string {
	if a.Name == "" {
		return "main"
	}
	return a.Name
}

func (a *Agent) now() time.Time {
	if a.Clock != nil {
		return a.Clock()
	}
	return time.Now()
}

func (a *Agent) counter() window.TokenCounter {
	if a.Counter != nil {
		return a.Counter
	}
	return window.Chars{}
}

func (a *Agent) rounds() int {
	if a.Rounds > 0 {
		return a.Rounds
	}
	return 100
}

// Hooks are called at certain points of a turn. All of them may be nil, and
// all may be called from many goroutines. An error of a hook ends the turn,
// recorded as a failure, where nothing else is said. A hook that panics fails.
type Hooks struct {
	// BeforeRun is called once per turn, when the user's message is durable,
	// and returns what the model shall know in this turn only.
	BeforeRun func(ctx context.Context, run Run) ([]window.Injection, error)
	// BeforeTool may deny a call or change its arguments.
	BeforeTool func(ctx context.Context, run Run, call firn.ToolCall) (Verdict, error)
	// AfterTool may change what the model is told of a call.
	AfterTool func(ctx context.Context, run Run, call firn.ToolCall, result tool.Result) (tool.Result, error)
	// BeforeCompaction may cancel a compaction or supply its summary. If it
	// fails, so does the compaction, and the turn goes on without.
	BeforeCompaction func(ctx context.Context, run Run, plan compact.Plan) (compact.Decision, error)
	// Around is told that a step of a turn begins, and returns the context that
	// it is done in, and what to call when it is over: with how it failed in a
	// word, or nothing. It changes nothing else.
	Around func(ctx context.Context, run Run, step Step) (context.Context, func(failure string))
	// AfterTurn is told how a turn ended. Its error is reported and changes
	// nothing.
	AfterTurn func(ctx context.Context, run Run, outcome Outcome) error
}

// Run is the turn that a hook is called for.
type Run struct {
	Agent   string
	Session firn.ID
	// Path is the live part of the session, with the user's message.
	Path window.Path
	// Said is what the user says in this turn; empty when a turn goes on with
	// what was not answered.
	Said string
	// Bounds is what the turn may see and change besides its own session.
	Bounds route.Bounds
	// Preview says that no turn runs: somebody looks at what its request would be, and
	// nothing may be changed or recorded.
	Preview bool
}

// Verdict is what a hook says of a call. The zero verdict lets it run.
type Verdict struct {
	// Deny is why the call must not run; the model is told.
	Deny string
	// Arguments replace those of the call, if not nil.
	Arguments []byte
}

// work is what an agent does in the background.
type work struct {
	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	closed bool
}

// start runs f in the background, unless the agent is closed.
func (w *work) start(f func(ctx context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if w.ctx == nil {
		w.ctx, w.cancel = context.WithCancel(context.Background())
	}
	w.group.Go(func() {
		// One session that breaks down must not take the others with it. What it
		// had to say about it, it has recorded.
		defer func() { _ = recover() }()
		f(w.ctx)
	})
	return true
}

func (w *work) wait() { w.group.Wait() }

func (w *work) close() {
	w.mu.Lock()
	w.closed = true
	if w.cancel != nil {
		w.cancel()
	}
	w.mu.Unlock()
	w.group.Wait()
}
