package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

// Input is the input of a turn.
type Input struct {
	// Parts is the user's message: text and images. Without parts the turn continues an
	// unanswered message.
	Parts []firn.Part
	// ID is the ID of the user's message. If the session has an entry with that ID, the
	// message is not stored again, and the turn answers it if it is still unanswered. Empty
	// means a new ID.
	ID firn.EntryID
	// Extra is stored with the message, for example its sender and channel.
	Extra firn.Fields
	// History is sent instead of the session's content, for switching providers or
	// replaying. It is not stored; the message and the answer are.
	History []firn.Message
	// Injected is sent in this turn only, in addition to the injections of hooks.
	Injected []window.Injection
	// Owner is the agent that the session belongs to, if this agent answers in another
	// agent's session; empty means this agent.
	Owner string
	// Turns overrides the agent's Turns; zero means no override.
	Turns int
	// Terms are the options of the turn.
	Terms TurnOptions
	// Bounds limits the access of tools and hooks beyond the session, see [BoundsOf]. It
	// should be the access of the user. The zero value admits nothing. [TextInput] sets it to
	// everything.
	Bounds route.Bounds
	// Narrow returns the bounds of the author of another entry that the turn answers: one
	// that was unanswered in the session or arrived during the turn. The turn keeps the
	// intersection. If nil, the bounds do not change.
	Narrow func(ctx context.Context, e firn.Entry) route.Bounds
	// Approver overrides the agent's Approver; nil means no override.
	Approver Approver
	// Workplace replaces the agent's workspace in this turn; nil means that the agent's
	// own workspace is used.
	Workplace *Workplace
	// Since is the position from which the turn has the right to write, if other gateways
	// can take the session over: a turn that finds a fence after it ends with [ErrFenced].
	// Nil means that no other gateway can.
	Since *firn.Pos
}

// TextInput returns an input with a text message from the owner of the agent, without bounds.
func TextInput(text string) Input {
	return Input{Parts: []firn.Part{firn.Text{Text: text}}, Bounds: route.Everything()}
}

// Run runs one turn of a session and yields its events. The last event is [Finished]; if
// the turn fails, the failure is recorded and an error is yielded instead. If the error is
// a firn.ErrNotSaved, the session could not be written and only the entries reported by
// Appended are stored.
//
// Canceling the context stops the turn: the partial answer is stored with a mark, running
// calls are recorded as canceled, and the error is the context's cause. Breaking out of the
// range loop has the same effect.
//
// The model is not called before the user's message is durable. If the session does not
// exist, it is created without a key.
func (a *Agent) Run(ctx context.Context, id firn.ID, in Input) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		t := &turn{a: a, cancel: cancel, in: in, yield: yield}
		t.ctx, t.bounds = withTurnBounds(withSession(ctx, id), in.Bounds)
		t.log = ledger{st: a.Store, id: id, onForeign: t.narrow}
		if in.Since != nil {
			t.log.right = writeRight{bounded: true, since: *in.Since}
		}
		t.guard.limit = a.Failures
		err := t.run()
		t.close(err)
	}
}

// errLeft is the cause when the caller breaks out of the range loop.
var errLeft = errors.New("the consumer stopped reading")

// turn is the state of a running turn.
type turn struct {
	a      *Agent
	ctx    context.Context
	cancel context.CancelCauseFunc
	in     Input
	yield  func(Event, error) bool
	// bounds limits the access of the turn; nil if it runs no tools. narrowed means that
	// the bounds were narrowed since the last injection.
	bounds   *turnBounds
	narrowed bool
	// preview means that no turn runs and only its request is built.
	preview bool
	// left means that the caller stopped ranging.
	left bool

	log  ledger
	path window.Path
	// opened means that the session was read; first, that it starts with this turn. began
	// means that the user's message is durable.
	opened bool
	first  bool
	// user is the message the turn answers; empty if it continues an earlier one.
	user    firn.EntryID
	began   bool
	prompt  string
	verbose bool
	// shared means that several agents answer in the session, or that it belongs to another
	// agent.
	shared bool

	model    provider.Model
	info     provider.Info
	thinking provider.Thinking
	// failed are the models that failed in this turn; fallen describes the model that the
	// current one replaces.
	failed   []string
	fallen   fallback
	injected []window.Injection
	tools    map[string]tool.Tool
	specs    []provider.Tool
	// asked are the questions that were pending when the turn started, by call.
	asked map[string]Question

	guard guard
	fit   fitting
	// answer is the entry whose tool calls are running.
	answer firn.EntryID
	// emptied means that the previous answer was empty.
	emptied bool
	out     Outcome
}

// run runs the whole turn; each step has its own file.
func (t *turn) run() error {
	if err := (starter{t}).startTurn(); err != nil {
		return err
	}
	t.narrowToUnanswered()
	if err := t.prepare(); err != nil {
		return err
	}
	if err := (turnCalls{t}).resumeCalls(); err != nil {
		return err
	}
	for t.out.Rounds < t.a.rounds() {
		if err := (fitter{t}).makeRoom(); err != nil {
			return err
		}
		answer, err := t.ask()
		if again, err := (fitter{t}).handleRefusal(err); err != nil {
			return err
		} else if again {
			continue
		}
		t.out.Rounds++
		done, err := t.handleAnswer(answer)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("the turn was stopped: not finished after %d requests to the model: %w", t.out.Rounds, firn.ErrTooLarge)
}

// handleAnswer runs the tool calls of an answer or ends the turn. It reports whether the
// turn is done.
func (t *turn) handleAnswer(answer firn.Entry) (done bool, err error) {
	message := answer.Body.(*firn.Message)
	if calls := callsOf(message); len(calls) > 0 {
		if t.hasCallerTools() {
			t.handOver(answer, calls)
			return true, nil
		}
		t.answer = answer.ID
		return false, (turnCalls{t}).call(calls)
	}
	if blankParts(message.Parts) {
		return false, t.handleEmpty()
	}
	if t.emptied = false; t.log.newInput { // the user sent a message meanwhile
		return false, nil
	}
	t.out.Text, t.out.Entry, t.out.Stop = message.Text(), answer.ID, message.StopReason
	t.out.Provider, t.out.Model = message.Provider, message.Model
	t.out.Silent = t.a.Silence.Silent(t.out.Text)
	t.out.Text = t.a.Silence.Strip(t.out.Text)
	return true, nil
}

// ErrEmpty means that the model gave an empty answer twice in a row.
var ErrEmpty = errors.New("the model returned an empty answer twice")

// handleEmpty handles an empty answer: the model is called once more.
func (t *turn) handleEmpty() error {
	if t.emptied {
		return ErrEmpty
	}
	t.emptied = true
	return nil
}

// prepare selects the model and the tools and collects the injections.
func (t *turn) prepare() error {
	if err := t.chooseModel(); err != nil {
		return err
	}
	return t.inject()
}

// inject collects the injections.
func (t *turn) inject() error {
	t.narrowed = false
	t.injected = slices.Clone(t.in.Injected)
	if t.in.Workplace != nil && !t.in.Terms.Bare {
		t.injected = append(t.injected, t.in.Workplace.Injected...)
	}
	if t.shared && !t.in.Terms.Bare {
		t.injected = append(t.injected, nameInjection(t.a.name()))
	}
	if t.a.Hooks.BeforeRun != nil && !t.in.Terms.Bare {
		var more []window.Injection
		err := recoverPanic("a hook", func() (err error) {
			more, err = t.a.Hooks.BeforeRun(t.ctx, t.hookRun())
			return err
		})
		if err != nil {
			return fmt.Errorf("before the run: %w", err)
		}
		t.injected = append(t.injected, more...)
	}
	return nil
}

// chooseModel applies the session's model and settings and sets the tools.
func (t *turn) chooseModel() error {
	chosen := t.path.Chosen
	t.ctx = provider.WithProfile(t.ctx, chosen.Auth)
	t.shared = t.owner() != t.a.name() || t.path.Shared(t.a.name(), t.owner())
	t.model = t.a.Model
	if terms := &t.in.Terms; terms.Model != "" {
		chosen.Provider, chosen.Model = terms.Provider, terms.Model
	}
	if t.a.Models != nil && chosen.Model != "" {
		model, err := t.a.Models(chosen.Provider, chosen.Model)
		switch {
		case err == nil:
			t.model = model
		case t.model == nil:
			return fmt.Errorf("find the model %s/%s that the session chose: %w", chosen.Provider, chosen.Model, err)
		default: // a session stays usable without its chosen model
			t.emit(Notice{Text: fmt.Sprintf("%s/%s, chosen for the session, is unavailable (%v); using %s", chosen.Provider, chosen.Model, err, t.model.Info().Name)})
		}
	}
	if t.model == nil {
		return failure.Of(firn.ErrInvalid, "the agent has no model")
	}
	t.useModel(t.model)
	t.thinking = t.a.Thinking
	for _, level := range []provider.Thinking{provider.Thinking(chosen.ThinkingLevel), t.in.Terms.Thinking} {
		if slices.Contains(levels, level) {
			t.thinking = level
		}
	}
	t.verbose = chosen.Verbose == VerboseOn
	return t.setTools()
}

// setTools sets the tools: the agent's, or the caller's.
func (t *turn) setTools() error {
	t.tools = make(map[string]tool.Tool, len(t.a.Tools))
	if terms := &t.in.Terms; terms.Bare || terms.NoTools || t.hasCallerTools() {
		t.specs = terms.Tools
		return terms.check()
	}
	for _, x := range (turnCalls{t}).turnTools() {
		spec := x.Spec()
		if _, twice := t.tools[spec.Name]; twice {
			return failure.Of(firn.ErrInvalid, "two tools are called %q", spec.Name)
		}
		t.tools[spec.Name] = x
		t.specs = append(t.specs, spec)
	}
	return t.addMoreTools()
}

// addMoreTools adds the tools that the agent has for this turn only.
func (t *turn) addMoreTools() error {
	if t.a.MoreTools == nil {
		return nil
	}
	var notices []string
	err := recoverPanic("a hook", func() error {
		var more []tool.Tool
		more, notices = t.a.MoreTools(t.ctx, t.hookRun())
		for _, x := range more {
			spec := x.Spec()
			if _, used := t.tools[spec.Name]; !used {
				t.tools[spec.Name] = x
				t.specs = append(t.specs, spec)
			}
		}
		return nil
	})
	for _, text := range notices {
		t.emit(Notice{Text: text})
	}
	return err
}

// hookRun returns the description of the turn for hooks.
func (t *turn) hookRun() Run {
	run := Run{Agent: t.a.name(), Session: t.log.id, Path: t.path, Prompt: t.prompt, Preview: t.preview, Workplace: t.in.Workplace}
	if run.Workplace != nil && run.Workplace.Added {
		run.Workplace = nil
	}
	if t.bounds != nil {
		run.Bounds = t.bounds.current()
	}
	return run
}

// emit yields an event to the caller. If the caller has stopped ranging, the turn is
// canceled; work in progress is still recorded.
func (t *turn) emit(e Event) {
	if !t.left && !t.yield(e, nil) {
		t.left = true
		t.cancel(errLeft)
	}
}

// store appends entries durably and emits Appended events.
func (t *turn) store(ctx context.Context, entries ...firn.Entry) error {
	if err := t.log.append(ctx, entries...); err != nil {
		return err
	}
	for _, e := range entries {
		t.emit(Appended{Entry: e, End: t.log.end})
	}
	return nil
}

// refreshPath updates the path with new entries. If those do more than extend it, the live
// part of the session is read again.
func (t *turn) refreshPath() error {
	end := store.End
	if t.opened {
		if err := t.log.catchUp(t.ctx); err != nil {
			return err
		}
		if t.log.moved != "" {
			return fmt.Errorf("read session %s: %w", t.log.id, ErrMoved)
		}
		if t.extendPath() {
			return nil
		}
		end = t.log.end
	}
	path, err := window.Collect(t.a.Store.ReadBack(t.ctx, t.log.id, end))
	if err != nil {
		return err
	}
	if !t.opened {
		t.log.end, t.log.head = path.End, path.Head
		if err := t.log.checkFence(t.ctx); err != nil {
			return err
		}
	}
	t.path, t.opened = path, true
	t.log.news, t.log.lost, t.log.newInput = nil, false, false
	return nil
}

// extendPath adds new entries to the path. It returns false if they do more than extend it.
func (t *turn) extendPath() bool {
	if t.log.lost {
		return false
	}
	path, ok := t.path.Extend(t.log.end, t.log.news...)
	if ok {
		t.path = path
		t.log.news, t.log.newInput = nil, false
	}
	return ok
}

// containsEntry reports whether an entry is on the path, even if hidden.
func containsEntry(p window.Path, id firn.EntryID) bool {
	return p.Head == id || p.Hides(id) || slices.ContainsFunc(p.Entries, func(e firn.Entry) bool { return e.ID == id })
}

// close ends the turn: it records a failure, stores the counts, calls the AfterTurn hook
// and yields the last event or the error.
func (t *turn) close(err error) {
	if err != nil && t.began {
		err = t.fail(err)
	}
	t.out.Err = err
	if t.began && !errors.Is(err, ErrFenced) {
		t.storeCounts()
		t.keepResident()
		if t.a.Hooks.AfterTurn != nil {
			ctx, cancel := cleanupContext(t.ctx)
			defer cancel()
			hookErr := recoverPanic("a hook", func() error { return t.a.Hooks.AfterTurn(ctx, t.hookRun(), t.out) })
			if hookErr != nil {
				t.emit(Notice{Text: "after the turn: " + hookErr.Error()})
			}
		}
	}
	if t.left {
		return
	}
	if err != nil {
		t.yield(nil, err)
		return
	}
	t.yield(Finished{t.out}, nil)
}

// fail records why a turn failed, unless the log itself failed or the failure is already
// recorded. A turn that was stopped fails with the cause.
func (t *turn) fail(err error) error {
	stop := firn.StopError
	if cause := context.Cause(t.ctx); cause != nil {
		if errors.Is(err, firn.ErrNotSaved) {
			return errors.Join(cause, err)
		}
		err, stop = cause, firn.StopAborted
	}
	t.out.Stop = stop
	if t.failureRecorded(err) || errors.Is(err, firn.ErrNotSaved) || errors.Is(err, ErrMoved) || errors.Is(err, firn.ErrReplaced) || errors.Is(err, ErrFenced) || errors.Is(err, ErrSuspended) || errors.Is(err, ErrToolsGone) {
		return err
	}
	ctx, cancel := cleanupContext(t.ctx)
	defer cancel()
	if saveErr := t.store(ctx, t.failureEntry(stop, nil, err)); saveErr != nil {
		return errors.Join(err, saveErr)
	}
	return err
}

// failureRecorded reports whether the last message of the turn already records the failure.
func (t *turn) failureRecorded(err error) bool {
	for _, e := range slices.Backward(t.log.own) {
		if m, ok := e.Body.(*firn.Message); ok {
			return m.Role == firn.RoleAssistant && m.Error == err.Error()
		}
	}
	return false
}

// failureEntry returns an entry for a failed or incomplete answer.
func (t *turn) failureEntry(stop firn.StopReason, parts []firn.Part, err error) firn.Entry {
	m := &firn.Message{Role: firn.RoleAssistant, Parts: parts, Time: t.a.now(), StopReason: stop, Error: err.Error()}
	if t.model != nil {
		m.API, m.Provider, m.Model = t.info.API, t.info.Provider, t.info.Name
	}
	return t.withAgent(firn.NewEntry(m))
}

// owner returns the agent that the session belongs to.
func (t *turn) owner() string { return cmp.Or(t.in.Owner, t.a.name()) }

// withAgent adds the agent's name to an answer if several agents answer in the session.
func (t *turn) withAgent(e firn.Entry) firn.Entry {
	if !t.shared {
		return e
	}
	return window.WithAnsweringAgent(e, t.a.name())
}

// recoverPanic calls foreign code and turns a panic into an error.
func recoverPanic(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v", what, p)
		}
	}()
	return f()
}

// callsOf returns the tool calls of a message.
func callsOf(m *firn.Message) []firn.ToolCall {
	var calls []firn.ToolCall
	for _, p := range m.Parts {
		if call, ok := p.(firn.ToolCall); ok {
			calls = append(calls, call)
		}
	}
	return calls
}
