package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/tool"
	"firn.dev/window"
)

// Input is what a turn begins with.
type Input struct {
	// Parts is what the user says: text and images. Without any, the turn goes
	// on with what was not answered yet.
	Parts []firn.Part
	// ID names the user's message. If the session has an entry of that name,
	// the message is not stored again, and the turn answers it if that was not
	// done. Empty means a new name.
	ID firn.EntryID
	// Extra is kept with the message: who sent it, where it came from.
	Extra firn.Fields
	// History is sent instead of what the session holds, to switch providers or
	// to replay. It is not stored. The message and what comes of it are.
	History []firn.Message
	// Injected is sent in this turn only, beside what the hooks add.
	Injected []window.Injection
	// Owner is the agent that the session belongs to, if this agent answers in the
	// session of another one; empty means this agent.
	Owner string
	// Turns bounds how many turns of the user are sent, instead of the agent's
	// Turns; zero leaves it to that.
	Turns int
	// Terms is how the turn is to be run.
	Terms Terms
	// Bounds is what the turn may see and change besides its own session, by the tools
	// and hooks that heed [BoundsOf]: what the one who asked may see. The zero value
	// admits nothing. [Say] sets it to everything.
	Bounds route.Bounds
	// Narrow returns the bounds of who said an entry that the turn answers too: it
	// stood unanswered in the session, or came while the turn ran. The turn keeps what
	// all of them admit. Nil: whoever it was may see what the turn may.
	Narrow func(ctx context.Context, e firn.Entry) route.Bounds
	// Since is where the right to write begins, if others can take the session
	// over: a turn that finds behind it that somebody did ends with [ErrFenced].
	// Nil: nobody can.
	Since *firn.Pos
}

// Say makes an input of text that the owner of the agent says, who may see
// everything.
func Say(text string) Input {
	return Input{Parts: []firn.Part{firn.Text{Text: text}}, Bounds: route.Everything()}
}

// Run runs one turn of a session and yields what happens. The last event is
// [Finished]; if the turn fails, an error is yielded instead, after what went
// wrong was recorded. When it fails with an error that is firn.ErrNotSaved,
// the session could not be written, and only what was Appended is there.
//
// Cancelling the context stops the turn: what the model had said is kept and
// marked, calls that ran are recorded as cancelled, and the error is the
// context's cause. To stop ranging does the same.
//
// Nothing is asked of the model before the user's message is durable. The
// session must exist, or it is begun without a key.
func (a *Agent) Run(ctx context.Context, id firn.ID, in Input) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		t := &turn{a: a, cancel: cancel, in: in, yield: yield}
		t.ctx, t.reach = withReach(withSession(ctx, id), in.Bounds)
		t.log = ledger{st: a.Store, id: id, hears: t.narrow}
		if in.Since != nil {
			t.log.right = right{bounded: true, since: *in.Since}
		}
		t.guard.limit = a.Failures
		err := t.run()
		t.close(err)
	}
}

// errLeft is the cause when the caller stops ranging.
var errLeft = errors.New("nobody listens any more")

// turn is one turn while it runs.
type turn struct {
	a      *Agent
	ctx    context.Context
	cancel context.CancelCauseFunc
	in     Input
	yield  func(Event, error) bool
	// reach is what the turn may see and change; nil if it runs no tools. narrowed: it
	// became less since something was injected.
	reach    *reach
	narrowed bool
	// preview: no turn runs, only its request is made.
	preview bool
	// left: the caller stopped ranging.
	left bool

	log  ledger
	path window.Path
	// opened: the session was read. first: it begins with this turn. began: the
	// user's message is durable.
	opened bool
	first  bool
	// user is the message the turn answers; empty if it goes on.
	user    firn.EntryID
	began   bool
	said    string
	verbose bool
	// shared: other agents have answered in the session too, or it belongs to another.
	shared bool

	model    provider.Model
	info     provider.Info
	thinking provider.Thinking
	// failed are the models that failed in this turn, fallen in whose place
	// another one answers.
	failed   []string
	fallen   fallback
	injected []window.Injection
	tools    map[string]tool.Tool
	specs    []provider.Tool

	guard guard
	fit   fitting
	// emptied: the answer before had nothing in it.
	emptied bool
	out     Outcome
}

// run is the turn from beginning to end; each step has its own file.
func (t *turn) run() error {
	if err := t.begin(); err != nil {
		return err
	}
	t.narrowToOpen()
	if err := t.prepare(); err != nil {
		return err
	}
	for t.out.Rounds < t.a.rounds() {
		if err := t.makeRoom(); err != nil {
			return err
		}
		answer, err := t.ask()
		if again, err := t.refused(err); err != nil {
			return err
		} else if again {
			continue
		}
		t.out.Rounds++
		done, err := t.act(answer)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("the turn was stopped: the model was asked %d times and is not done: %w", t.out.Rounds, firn.ErrTooLarge)
}

// act does what an answer asks for. It reports whether the turn is done.
func (t *turn) act(answer firn.Entry) (done bool, err error) {
	message := answer.Body.(*firn.Message)
	if calls := callsOf(message); len(calls) > 0 {
		if t.lent() {
			t.handOver(answer, calls)
			return true, nil
		}
		return false, t.call(calls)
	}
	if blankParts(message.Parts) {
		return false, t.empty()
	}
	if t.emptied = false; t.log.heard { // the user spoke meanwhile
		return false, nil
	}
	t.out.Text, t.out.Entry, t.out.Stop = message.Text(), answer.ID, message.StopReason
	t.out.Provider, t.out.Model = message.Provider, message.Model
	t.out.Silent = t.a.Silence.Silent(t.out.Text)
	t.out.Text = t.a.Silence.Strip(t.out.Text)
	return true, nil
}

// ErrEmpty says that the model gave an answer with nothing in it, twice in a row.
var ErrEmpty = errors.New("the model gave an empty answer, twice")

// empty deals with an answer that has nothing in it: the model is asked once
// more.
func (t *turn) empty() error {
	if t.emptied {
		return ErrEmpty
	}
	t.emptied = true
	return nil
}

// prepare settles who answers, with what tools, and what is injected.
func (t *turn) prepare() error {
	if err := t.choose(); err != nil {
		return err
	}
	return t.inject()
}

// inject settles what is injected.
func (t *turn) inject() error {
	t.narrowed = false
	t.injected = slices.Clone(t.in.Injected)
	if t.shared && !t.in.Terms.Bare {
		t.injected = append(t.injected, Speakers(t.a.name()))
	}
	if t.a.Hooks.BeforeRun != nil && !t.in.Terms.Bare {
		var more []window.Injection
		err := guarded("a hook", func() (err error) {
			more, err = t.a.Hooks.BeforeRun(t.ctx, t.hook())
			return err
		})
		if err != nil {
			return fmt.Errorf("before the run: %w", err)
		}
		t.injected = append(t.injected, more...)
	}
	return nil
}

// choose finds the model, the settings that the session asks for, and the
// tools.
func (t *turn) choose() error {
	chosen := t.path.Chosen
	t.ctx = provider.WithProfile(t.ctx, chosen.Auth)
	t.shared = t.owner() != t.a.name() || t.path.Shared(t.a.name(), t.owner())
	t.model = t.a.Model
	if t.a.Models != nil && chosen.Model != "" {
		model, err := t.a.Models(chosen.Provider, chosen.Model)
		switch {
		case err == nil:
			t.model = model
		case t.model == nil:
			return fmt.Errorf("find the model %s/%s that the session chose: %w", chosen.Provider, chosen.Model, err)
		default: // a session must not depend on a model that is gone
			t.emit(Notice{Text: fmt.Sprintf("%s/%s, which the session chose, cannot be had (%v); %s answers", chosen.Provider, chosen.Model, err, t.model.Info().Name)})
		}
	}
	if t.model == nil {
		return fmt.Errorf("the agent has no model: %w", firn.ErrInvalid)
	}
	t.take(t.model)
	t.thinking = t.a.Thinking
	if level := provider.Thinking(chosen.ThinkingLevel); slices.Contains(levels, level) {
		t.thinking = level
	}
	t.verbose = chosen.Verbose == VerboseOn
	return t.equip()
}

// equip lays out the tools: the agent's, or the caller's.
func (t *turn) equip() error {
	t.tools = make(map[string]tool.Tool, len(t.a.Tools))
	if terms := &t.in.Terms; terms.Bare || terms.NoTools || t.lent() {
		t.specs = terms.Tools
		return terms.check()
	}
	for _, x := range t.a.Tools {
		spec := x.Spec()
		if _, twice := t.tools[spec.Name]; twice {
			return fmt.Errorf("two tools are called %q: %w", spec.Name, firn.ErrInvalid)
		}
		t.tools[spec.Name] = x
		t.specs = append(t.specs, spec)
	}
	return nil
}

// hook is what hooks are told of the turn.
func (t *turn) hook() Run {
	run := Run{Agent: t.a.name(), Session: t.log.id, Path: t.path, Said: t.said, Preview: t.preview}
	if t.reach != nil {
		run.Bounds = t.reach.now()
	}
	return run
}

// emit tells the caller of an event. If nobody listens any more the turn is
// cancelled; what is under way is recorded as usual.
func (t *turn) emit(e Event) {
	if !t.left && !t.yield(e, nil) {
		t.left = true
		t.cancel(errLeft)
	}
}

// store appends entries durably and tells the caller.
func (t *turn) store(ctx context.Context, entries ...firn.Entry) error {
	if err := t.log.append(ctx, entries...); err != nil {
		return err
	}
	for _, e := range entries {
		t.emit(Appended{Entry: e, End: t.log.end})
	}
	return nil
}

// collect brings the path up to date: by what was written since, or, if that
// did more than add to it, by reading the live part of the session again.
func (t *turn) collect() error {
	end := store.End
	if t.opened {
		if err := t.log.catchUp(t.ctx); err != nil {
			return err
		}
		if t.log.moved != "" {
			return fmt.Errorf("read session %s: %w", t.log.id, ErrMoved)
		}
		if t.extend() {
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
		if err := t.log.entitled(t.ctx); err != nil {
			return err
		}
	}
	t.path, t.opened = path, true
	t.log.news, t.log.lost, t.log.heard = nil, false, false
	return nil
}

// extend adds to the path what was written since, if it only adds.
func (t *turn) extend() bool {
	if t.log.lost {
		return false
	}
	path, ok := t.path.Extend(t.log.end, t.log.news...)
	if ok {
		t.path = path
		t.log.news, t.log.heard = nil, false
	}
	return ok
}

// holds reports whether an entry is on the path, be it hidden.
func holds(p window.Path, id firn.EntryID) bool {
	return p.Head == id || p.Hides(id) || slices.ContainsFunc(p.Entries, func(e firn.Entry) bool { return e.ID == id })
}

// close ends the turn: with what it came to, or with what went wrong, on
// record.
func (t *turn) close(err error) {
	if err != nil && t.began {
		err = t.fail(err)
	}
	t.out.Err = err
	if t.began && !errors.Is(err, ErrFenced) {
		t.settle()
		t.reside()
		if t.a.Hooks.AfterTurn != nil {
			ctx, cancel := afterwards(t.ctx)
			defer cancel()
			hookErr := guarded("a hook", func() error { return t.a.Hooks.AfterTurn(ctx, t.hook(), t.out) })
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

// fail records why a turn failed, unless the log itself is the reason or it
// is recorded already. A turn that was stopped fails with the cause.
func (t *turn) fail(err error) error {
	stop := firn.StopError
	if cause := context.Cause(t.ctx); cause != nil {
		if errors.Is(err, firn.ErrNotSaved) {
			return errors.Join(cause, err)
		}
		err, stop = cause, firn.StopAborted
	}
	t.out.Stop = stop
	if t.recorded(err) || errors.Is(err, firn.ErrNotSaved) || errors.Is(err, ErrMoved) || errors.Is(err, firn.ErrReplaced) || errors.Is(err, ErrFenced) {
		return err
	}
	ctx, cancel := afterwards(t.ctx)
	defer cancel()
	if saveErr := t.store(ctx, t.failure(stop, nil, err)); saveErr != nil {
		return errors.Join(err, saveErr)
	}
	return err
}

// recorded reports whether the last message of the turn says already that it
// failed, and why.
func (t *turn) recorded(err error) bool {
	for _, e := range slices.Backward(t.log.own) {
		if m, ok := e.Body.(*firn.Message); ok {
			return m.Role == firn.RoleAssistant && m.Error == err.Error()
		}
	}
	return false
}

// failure makes the entry of an answer that did not come whole.
func (t *turn) failure(stop firn.StopReason, parts []firn.Part, err error) firn.Entry {
	m := &firn.Message{Role: firn.RoleAssistant, Parts: parts, Time: t.a.now(), StopReason: stop, Error: err.Error()}
	if t.model != nil {
		m.API, m.Provider, m.Model = t.info.API, t.info.Provider, t.info.Name
	}
	return t.attributed(firn.NewEntry(m))
}

// owner is the agent that the session belongs to.
func (t *turn) owner() string { return cmp.Or(t.in.Owner, t.a.name()) }

// attributed names the agent in the entry of an answer, where several agents answer.
func (t *turn) attributed(e firn.Entry) firn.Entry {
	if !t.shared {
		return e
	}
	return window.WithAnswerer(e, t.a.name())
}

// guarded calls what others wrote and makes an error of a panic.
func guarded(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s broke down: %v", what, p)
		}
	}()
	return f()
}

// callsOf returns the tool calls of an answer.
func callsOf(m *firn.Message) []firn.ToolCall {
	var calls []firn.ToolCall
	for _, p := range m.Parts {
		if call, ok := p.(firn.ToolCall); ok {
			calls = append(calls, call)
		}
	}
	return calls
}
