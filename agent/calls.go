package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/tool"
)

// CallState is how a tool call ended.
type CallState string

// How a tool call ended. A call without a result was interrupted.
const (
	CallDone      CallState = "done"
	CallFailed    CallState = "failed"
	CallDenied    CallState = "denied"
	CallCancelled CallState = "cancelled"
)

// patience is how long a tool may take to notice that it was stopped. Then its
// call is recorded as cancelled whether it noticed or not.
const patience = 5 * time.Second

// sideBySide is how many calls run at the same time.
const sideBySide = 8

// outcome is what came of one call.
type outcome struct {
	at     int
	state  CallState
	result tool.Result
	// shown is what the model is shown of the result; cut says that it is not
	// all of it.
	shown []firn.Part
	cut   bool
	took  time.Duration
	// arguments are what the tool got, if a hook changed them.
	arguments json.RawMessage
	// err is a hook's.
	err error
}

// failed reports whether the model is told that it went wrong.
func (o *outcome) failed() bool { return o.result.IsError || o.state != CallDone }

// resultDetails is kept beside a tool result, for people and programs.
type resultDetails struct {
	State CallState `json:"state"`
	Ms    int64     `json:"ms"`
	// Arguments are what the tool got, if a hook changed them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Full is all the text, if the model was shown a part of it.
	Full string `json:"full,omitempty"`
	// Details is what the tool itself wants to be kept.
	Details json.RawMessage `json:"details,omitempty"`
}

// call runs the calls of an answer, which is durable, side by side, and
// stores each result as soon as those before it are there: the log has them in
// the order of the calls.
func (t *turn) call(calls []firn.ToolCall) error {
	ran := t.runAll(calls)
	defer ran.end()
	round, limits := t.guard.round(calls), t.limits(len(calls))
	ready := make(map[int]outcome, len(calls))
	next := 0
	var failure error
	for next < len(calls) {
		o := ran.wait(t.begun(calls))
		ready[o.at] = o
		failure = cmp.Or(failure, o.err)
		shown, cut := tool.Bound(o.result.Parts, limits)
		t.emit(ToolDone{Call: calls[o.at].ID, Name: calls[o.at].Name, State: o.state, Text: firn.JoinText(shown), Took: o.took})
		o.shown, o.cut = shown, cut
		ready[o.at] = o
		var batch []firn.Entry
		for o, ok := ready[next]; ok; o, ok = ready[next] {
			warning := round.result(next, o.failed(), firn.JoinText(o.shown))
			batch = append(batch, t.resultEntry(calls[next], o, warning))
			next++
		}
		if err := t.storeResults(batch); err != nil {
			return err
		}
	}
	t.out.Calls += len(calls)
	if cause := context.Cause(t.ctx); cause != nil {
		return cause
	}
	return cmp.Or(failure, t.guard.verdict())
}

// begun tells the caller that a call begins to run.
func (t *turn) begun(calls []firn.ToolCall) func(at int) {
	return func(at int) {
		t.emit(ToolStarted{Call: calls[at].ID, Name: calls[at].Name, Arguments: calls[at].Arguments})
	}
}

// storeResults stores results, also if the turn was stopped meanwhile. What a
// tool gave that no log can hold is stored as an error that says so.
func (t *turn) storeResults(batch []firn.Entry) error {
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := afterwards(t.ctx)
	defer cancel()
	err := t.store(ctx, batch...)
	if !errors.Is(err, firn.ErrInvalid) {
		return err
	}
	for _, e := range batch {
		if one := t.store(ctx, e); errors.Is(one, firn.ErrInvalid) {
			one = t.store(ctx, unfit(e, one))
			if one != nil {
				return one
			}
		} else if one != nil {
			return one
		}
	}
	return nil
}

// unfit makes a result that can be stored of one that cannot.
func unfit(e firn.Entry, why error) firn.Entry {
	m := *e.Body.(*firn.Message)
	r := m.Parts[0].(firn.ToolResult)
	m.Parts = []firn.Part{firn.ToolResult{
		CallID: r.CallID, Name: r.Name, IsError: true,
		Content: []firn.Part{firn.Text{Text: "[firn] what the tool gave cannot be kept: " + why.Error()}},
		Details: mustJSON(resultDetails{State: CallFailed}),
	}}
	return firn.NewEntry(&m)
}

// running are the calls of one answer while they run.
type running struct {
	ctx     context.Context
	cancel  context.CancelFunc
	results chan outcome
	started chan int
	open    map[int]bool
	// late fires when those that were stopped have had time to notice; from
	// then on nobody is waited for.
	late    <-chan time.Time
	expired bool
}

// runAll starts the calls, the first eight at once.
func (t *turn) runAll(calls []firn.ToolCall) *running {
	ctx, cancel := context.WithCancel(t.ctx)
	r := &running{ctx: ctx, cancel: cancel, results: make(chan outcome, len(calls)), started: make(chan int, len(calls)), open: make(map[int]bool)}
	slots := make(chan struct{}, sideBySide)
	run := t.hook()
	for i, call := range calls {
		r.open[i] = true
		go func() {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
				r.started <- i
			case <-ctx.Done():
			}
			r.results <- t.runOne(ctx, run, i, call)
		}()
	}
	return r
}

// wait returns the next outcome, and tells of calls that begin meanwhile. Once
// the turn was stopped, a tool that does not notice is not waited for any
// longer than patience.
func (r *running) wait(begun func(at int)) outcome {
	stopped := r.ctx.Done()
	for !r.expired {
		select {
		case at := <-r.started:
			begun(at)
			continue
		default:
		}
		select {
		case at := <-r.started:
			begun(at)
		case o := <-r.results:
			delete(r.open, o.at)
			return o
		case <-stopped:
			stopped = nil
			if r.late == nil {
				r.late = time.After(patience)
			}
		case <-r.late:
			r.expired = true
		}
	}
	for len(r.results) > 0 {
		if o := <-r.results; r.open[o.at] { // it was done, only nobody had asked
			delete(r.open, o.at)
			return o
		}
	}
	for at := range r.open {
		delete(r.open, at)
		return outcome{at: at, state: CallCancelled, result: tool.TextResult(cancelledText)}
	}
	return outcome{} // not reached: who waits has an open call
}

// end stops what still runs, if the turn could not go on, and waits for it.
func (r *running) end() {
	r.cancel()
	for len(r.open) > 0 && !r.expired {
		r.wait(func(int) {})
	}
}

// What a model is told of a call that was stopped.
const cancelledText = "[firn] the call was cancelled before it was done"

// runOne runs one call and never panics, whatever the tool does.
func (t *turn) runOne(ctx context.Context, run Run, at int, call firn.ToolCall) (o outcome) {
	o.at = at
	began := time.Now()
	defer func() {
		o.took = time.Since(began)
		if p := recover(); p != nil {
			o.state, o.result = CallFailed, errorResult(fmt.Errorf("the tool broke down: %v", p))
			o.result.Details = mustJSON(map[string]string{"stack": string(debug.Stack())})
		}
	}()
	if ctx.Err() != nil {
		o.state, o.result = CallCancelled, tool.TextResult(cancelledText)
		return o
	}
	verdict, err := t.allowed(ctx, run, call)
	if err != nil {
		o.state, o.err, o.result = CallDenied, err, errorResult(fmt.Errorf("the call was not allowed: %w", err))
		return o
	}
	if verdict.Deny != "" {
		o.state, o.result = CallDenied, errorResult(errors.New("the call was not allowed: "+verdict.Deny))
		return o
	}
	if verdict.Arguments != nil {
		call.Arguments, o.arguments = verdict.Arguments, verdict.Arguments
	}
	o.state, o.result = t.toolStep(ctx, run, call)
	if t.a.Hooks.AfterTool != nil && o.state != CallCancelled {
		o.result, o.err = guardedHook(func() (tool.Result, error) { return t.a.Hooks.AfterTool(ctx, run, call, o.result) })
		if o.err != nil {
			o.state, o.result = CallFailed, errorResult(o.err)
		}
	}
	return o
}

// guardedHook calls a hook and makes an error of a panic.
func guardedHook[T any](hook func() (T, error)) (result T, err error) {
	err = guarded("a hook", func() (err error) {
		result, err = hook()
		return err
	})
	return result, err
}

// allowed asks the hook about a call.
func (t *turn) allowed(ctx context.Context, run Run, call firn.ToolCall) (Verdict, error) {
	if t.a.Hooks.BeforeTool == nil {
		return Verdict{}, nil
	}
	return guardedHook(func() (Verdict, error) { return t.a.Hooks.BeforeTool(ctx, run, call) })
}

// toolStep runs the tool that is called as a step of its own.
func (t *turn) toolStep(ctx context.Context, run Run, call firn.ToolCall) (state CallState, result tool.Result) {
	if _, known := t.tools[call.Name]; !known {
		return t.runTool(ctx, call) // which says so; the name is the model's own
	}
	ctx, end := t.around(ctx, run, Step{Kind: StepTool, Name: call.Name, Call: call.ID})
	state = CallFailed // if it breaks down
	defer func() {
		if state == CallDone {
			end("")
			return
		}
		end(string(state))
	}()
	return t.runTool(ctx, call)
}

// runTool runs the tool that is called.
func (t *turn) runTool(ctx context.Context, call firn.ToolCall) (CallState, tool.Result) {
	x, ok := t.tools[call.Name]
	if !ok {
		return CallFailed, errorResult(fmt.Errorf("there is no tool %q; the tools are: %s", firn.CutText(call.Name, 80), t.toolNames()))
	}
	result, err := x.Run(ctx, call.Arguments)
	switch {
	case ctx.Err() != nil && err != nil:
		result.Parts = append(slices.Clip(result.Parts), firn.Text{Text: cancelledText})
		return CallCancelled, result // with what there was of it
	case err != nil:
		result.Parts = append(slices.Clip(result.Parts), firn.Text{Text: err.Error()})
		result.IsError = true
		return CallFailed, result
	case result.IsError:
		return CallFailed, result
	}
	return CallDone, result
}

func (t *turn) toolNames() string {
	if len(t.specs) == 0 {
		return "none"
	}
	names := make([]string, len(t.specs))
	for i, s := range t.specs {
		names[i] = s.Name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func errorResult(err error) tool.Result {
	r := tool.TextResult(err.Error())
	r.IsError = true
	return r
}

// limits bound what the model sees of each of n results: all of them together
// take up no more than about a quarter of its window.
func (t *turn) limits(n int) tool.Limits {
	const charsPerToken, share = 4, 4
	limits := t.a.Results
	most := max(int(t.info.Window)*charsPerToken/share/n, 1)
	if limits.Chars == 0 && most < tool.StandardChars || limits.Chars > most {
		limits.Chars = most
	}
	return limits
}

// resultEntry makes the entry of a result: what the model sees of it is
// bounded, all of it is kept.
func (t *turn) resultEntry(call firn.ToolCall, o outcome, warning string) firn.Entry {
	details := resultDetails{State: o.state, Ms: o.took.Milliseconds(), Arguments: o.arguments, Details: o.result.Details}
	if o.cut {
		details.Full = firn.JoinText(o.result.Parts)
	}
	content := o.shown
	if warning != "" {
		content = append(slices.Clip(content), firn.Text{Text: warning})
	}
	return firn.NewEntry(&firn.Message{
		Role: firn.RoleToolResult, Time: t.a.now(),
		Parts: []firn.Part{firn.ToolResult{
			CallID: call.ID, Name: call.Name, Content: content, IsError: o.failed(), Details: mustJSON(details),
		}},
	})
}

// mustJSON spells a value of ours, whose raw members may be a tool's: if those
// are not JSON, they are left out.
func mustJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err == nil {
		return data
	}
	if d, ok := v.(resultDetails); ok {
		d.Arguments, d.Details = nil, nil
		if data, err = json.Marshal(d); err == nil {
			return data
		}
	}
	return json.RawMessage("{}")
}
