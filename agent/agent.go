// Package agent runs turns: it stores the user's message, sends the conversation to the
// model and runs tools until the model is done. Everything is written to the log before it
// takes effect.
//
// An [Agent] is a model with instructions, tools and settings. [Agent.Run] runs one turn of
// one session and yields events as they happen. Nothing is kept in memory between turns:
// every turn starts from the log, so it does not matter whether the previous turn ended
// normally, was stopped or was killed.
//
// The user's message is durable before the model is called, the answer with its tool calls
// before a tool runs, and the results before the model is called again. A streaming answer
// is stored while it arrives. A crash at any point therefore leaves a session that the next
// turn can continue, and no acknowledged entry is lost.
//
// Sessions come from a store: store.LoadOrCreate finds the session of a key. To continue a
// turn that a crash interrupted (see [Unfinished], and [PartialAnswer] for the partial answer),
// run an [Input] without parts. [Agent.Move] continues from an earlier entry on a new
// branch. [Agent.Compact] makes room, and compact.Undo reverts that. Use provider.KindOf to
// classify model errors, and errors.Is with the errors of package firn for store errors.
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

// Agent is a model with instructions, tools and settings. Use it by pointer and do not
// modify it after the first turn. Its methods may be called concurrently, but a session
// should have one turn at a time.
type Agent struct {
	// Name is the agent's ID; empty means "main".
	Name  string
	Store store.Store
	// Model answers unless a session chose another model that Models finds. If Models is
	// nil, sessions cannot choose.
	Model  provider.Model
	Models func(providerName, model string) (provider.Model, error)
	// Fallbacks are tried in this order for the rest of a turn when the model's credentials
	// are rejected or its retries are exhausted. The answer records the fallback.
	Fallbacks []provider.Model
	// System is the system prompt; Tools are the tools the model may call.
	System string
	Tools  []tool.Tool
	// MoreTools returns further tools for a turn, for example those of servers that are
	// started when they are needed, and notices for the user about tools that are missing.
	// Tools whose name is in use are left out. May be nil.
	MoreTools func(ctx context.Context, run Run) (tools []tool.Tool, notices []string)
	// Thinking is the thinking level unless the session chose another.
	Thinking provider.Thinking
	Hooks    Hooks
	// Approver decides which tool calls may run; nil means all.
	Approver Approver

	// Compaction configures when to compact. Summarizer writes the summaries; nil means the
	// model of the turn.
	Compaction compact.Settings
	Summarizer provider.Model
	Flush      Flush
	Pruning    Pruning
	// ResultBudget limits the total number of characters of tool results that are sent;
	// zero means no limit. 50,000 is a good value.
	ResultBudget int
	// Turns limits the number of user turns that are sent; zero means all.
	Turns int

	// Rounds limits the number of model calls within a turn; zero means 100.
	Rounds int
	// Failures is the number of consecutive failing calls of a tool after which the turn is
	// stopped; zero means 10. The model is warned after half of them.
	Failures int
	// Results limits the size of one tool result as sent to the model.
	Results tool.Limits
	// Silence configures which answers are hidden from the user.
	Silence Silence
	Backoff provider.Backoff
	// NoTitles disables automatic session titles.
	NoTitles bool
	// Resident caches the live parts of sessions between turns; nil means that each turn
	// reads its session.
	Resident Resident
	// Changes returns the recorder for the file changes of a tool call in an answer; nil
	// means that they are not recorded.
	Changes func(session firn.ID, answer firn.EntryID, call firn.ToolCall) tool.ChangeRecorder
	// Workspace is the default directory of new sessions; may be empty. WorkspaceTools are
	// the names of the tools that act in it, which the tools of a [Workplace] replace.
	Workspace      string
	WorkspaceTools []string
	// RealWorkspace is Workspace without symbolic links; it may be empty if there are none.
	RealWorkspace string
	// Delegator runs turns of other sessions for the session tools; nil means that the
	// agent runs them itself.
	Delegator Delegator
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
	// Counter counts tokens; nil means window.Chars.
	Counter window.TokenCounter

	background work
	// naming holds the sessions whose title is being generated.
	naming sync.Map
	// counting holds the sessions whose counters are being recomputed from the start.
	counting sync.Map
}

// Resident caches live parts of sessions in memory. It is only an optimization: newer
// entries are always read before a turn starts. Its methods may be called concurrently, and
// it may drop entries at any time.
type Resident interface {
	// Load returns the cached path of a session. It returns false if there is none.
	Load(id firn.ID) (window.Path, bool)
	// Keep caches the live part of a session and replaces the previous one. The path must
	// not be modified.
	Keep(id firn.ID, p window.Path)
}

// Close cancels background work, such as title generation or the turn of a child
// session, and waits for
// it to end. No turn may be running.
func (a *Agent) Close() error {
	a.background.close()
	return nil
}

// Wait waits for background work to finish.
func (a *Agent) Wait() { a.background.wait() }

// name returns the agent's ID.
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

// Hooks are called at certain points of a turn. Each may be nil, and each may be called
// concurrently. Unless noted otherwise, an error from a hook ends the turn and is recorded
// as its failure. A panic counts as an error.
type Hooks struct {
	// BeforeRun is called once per turn after the user's message is durable. It returns
	// text to inject into this turn only.
	BeforeRun func(ctx context.Context, run Run) ([]window.Injection, error)
	// BeforeTool may deny a call or change its arguments.
	BeforeTool func(ctx context.Context, run Run, call firn.ToolCall) (Verdict, error)
	// AfterTool may change the result that is sent to the model.
	AfterTool func(ctx context.Context, run Run, call firn.ToolCall, result tool.Result) (tool.Result, error)
	// BeforeCompaction may cancel a compaction or supply its summary. If it fails, the
	// compaction fails and the turn continues without it.
	BeforeCompaction func(ctx context.Context, run Run, plan compact.Plan) (compact.Decision, error)
	// Around is called when a step of a turn starts. It returns the context for the step
	// and a function that is called when the step ends, with a one-word failure or an empty
	// string. It is meant for tracing.
	Around func(ctx context.Context, run Run, step Step) (context.Context, func(failure string))
	// AfterTurn is called with the outcome of a turn. Its error is reported and has no
	// other effect.
	AfterTurn func(ctx context.Context, run Run, outcome Outcome) error
}

// Run describes the turn that a hook is called for.
type Run struct {
	Agent   string
	Session firn.ID
	// Path is the live part of the session, including the user's message.
	Path window.Path
	// Prompt is the text of the user's message. When a turn continues an unanswered message,
	// it is that message.
	Prompt string
	// Bounds limits the access of the turn beyond its own session.
	Bounds route.Bounds
	// Preview means that no turn runs and only the request is built. The hook must not
	// change or record anything.
	Preview bool
	// Workplace replaces the agent's workspace in this turn; nil means that the agent's own
	// workspace is used.
	Workplace *Workplace
}

// Verdict is a hook's decision about a tool call. The zero value allows it.
type Verdict struct {
	// Deny is the reason why the call must not run; it is sent to the model.
	Deny string
	// Arguments replaces the arguments of the call unless nil.
	Arguments []byte
}

// work tracks the background work of an agent.
type work struct {
	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	closed bool
}

// start runs f in the background. It returns false if the agent is closed.
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
		// A panic in one session must not crash the others. The session has already
		// recorded its failure.
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
