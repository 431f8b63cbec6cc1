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

// CallState is the outcome of a tool call.
type CallState string

// The outcomes of a tool call. A call without a result was interrupted.
const (
	CallDone     CallState = "done"
	CallFailed   CallState = "failed"
	CallDenied   CallState = "denied"
	CallCanceled CallState = "cancelled"
)

// stopTimeout is how long a tool may take to react to cancellation. After that its call is
// recorded as canceled in any case.
const stopTimeout = 5 * time.Second

// maxParallelCalls is the maximum number of calls that run in parallel.
const maxParallelCalls = 8

// outcome is the result of one call.
type outcome struct {
	at     int
	state  CallState
	result tool.Result
	// shown is the part of the result that is sent to the model; cut means that it is not
	// the full result.
	shown []firn.Part
	cut   bool
	took  time.Duration
	// arguments are the actual arguments of the tool if a hook changed them.
	arguments json.RawMessage
	// outside is the path outside of the workspace that the call may use.
	outside string
	// files are the files that the tool changed.
	files []FileChange
	// err is the error of a hook.
	err error
	// suspended means that the call waits for an approval and has no result.
	suspended bool
}

// failed reports whether the result is sent to the model as an error.
func (o *outcome) failed() bool { return o.result.IsError || o.state != CallDone }

// resultDetails is stored with a tool result for people and programs.
type resultDetails struct {
	State CallState `json:"state"`
	Ms    int64     `json:"ms"`
	// Arguments are the actual arguments of the tool if a hook changed them.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Full is the full text if the model was sent only a part of it.
	Full string `json:"full,omitempty"`
	// Files are the recorded changes of files.
	Files []FileChange `json:"files,omitempty"`
	// Details is the tool's own data.
	Details json.RawMessage `json:"details,omitempty"`
}

// call runs the tool calls of a stored answer in parallel. It stores each result as soon as
// the preceding ones are stored, so the log has them in the order of the calls.
func (t turnCalls) call(calls []firn.ToolCall) error {
	ran := t.runAll(calls)
	defer ran.end()
	round, limits := t.guard.round(calls), t.limits(len(calls))
	ready := make(map[int]outcome, len(calls))
	next, suspended := 0, false
	var failure error
	for next < len(calls) {
		o := ran.wait(t.emitRunning(calls))
		ready[o.at] = o
		failure, suspended = cmp.Or(failure, o.err), suspended || o.suspended
		shown, cut := tool.Bound(o.result.Parts, limits)
		t.emitDone(ToolDone{Call: calls[o.at].ID, Name: calls[o.at].Name, State: o.state, Text: firn.JoinText(shown), Took: o.took, Details: o.result.Details}, o.suspended)
		o.shown, o.cut = shown, cut
		ready[o.at] = o
		var batch []firn.Entry
		for o, ok := ready[next]; ok; o, ok = ready[next] {
			if !o.suspended {
				warning := round.result(next, o.failed(), firn.JoinText(o.shown))
				batch = append(batch, t.resultEntry(calls[next], o, warning))
			}
			next++
		}
		if err := t.storeResults(batch); err != nil {
			return err
		}
	}
	t.out.Calls += len(calls)
	if errors.Is(failure, ErrToolsGone) {
		return failure
	}
	if suspended {
		return ErrSuspended
	}
	if cause := context.Cause(t.ctx); cause != nil {
		return cause
	}
	return cmp.Or(failure, t.guard.verdict())
}

// emitRunning returns a function that reports the start and the output of calls.
func (t turnCalls) emitRunning(calls []firn.ToolCall) func(callReport) {
	return func(r callReport) {
		call := calls[r.at]
		switch {
		case r.started:
			t.emit(ToolStarted{Call: call.ID, Name: call.Name, Arguments: call.Arguments})
		case r.stored != nil:
			r.stored <- t.storeApproval(r.entry, r.event)
		default:
			t.emit(ToolProgress{Call: call.ID, Name: call.Name, Text: r.text})
		}
	}
}

// storeApproval stores an approval entry, unless it is nil, and emits its event.
func (t turnCalls) storeApproval(entry *firn.Entry, event Event) error {
	if entry != nil {
		if err := t.store(t.ctx, *entry); err != nil {
			return err
		}
	}
	t.emit(event)
	return nil
}

// emitDone reports the end of a call, unless it is suspended.
func (t turnCalls) emitDone(e ToolDone, suspended bool) {
	if !suspended {
		t.emit(e)
	}
}

// storeResults stores results, even if the turn was stopped meanwhile. A result that the
// log rejects is stored as an error.
func (t turnCalls) storeResults(batch []firn.Entry) error {
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := cleanupContext(t.ctx)
	defer cancel()
	err := t.store(ctx, batch...)
	if !errors.Is(err, firn.ErrInvalid) {
		return err
	}
	for _, e := range batch {
		if one := t.store(ctx, e); errors.Is(one, firn.ErrInvalid) {
			one = t.store(ctx, unstorableResult(e, one))
			if one != nil {
				return one
			}
		} else if one != nil {
			return one
		}
	}
	return nil
}

// unstorableResult replaces a result that cannot be stored with an error result.
func unstorableResult(e firn.Entry, why error) firn.Entry {
	m := *e.Body.(*firn.Message)
	r := m.Parts[0].(firn.ToolResult)
	m.Parts = []firn.Part{firn.ToolResult{
		CallID: r.CallID, Name: r.Name, IsError: true,
		Content: []firn.Part{firn.Text{Text: "[firn] the tool's result cannot be stored: " + why.Error()}},
		Details: mustJSON(resultDetails{State: CallFailed}),
	}}
	return firn.NewEntry(&m)
}

// runningCalls are the running calls of one answer.
type runningCalls struct {
	ctx     context.Context
	cancel  context.CancelFunc
	results chan outcome
	reports chan callReport
	open    map[int]bool
	// late fires when stopTimeout has passed after cancellation; from then on no call is
	// awaited.
	late    <-chan time.Time
	expired bool
}

// callReport reports that a call has started, or output of it, or an approval to store.
type callReport struct {
	at      int
	started bool
	text    string
	// entry is stored unless it is nil, and event emitted. stored receives the outcome.
	entry  *firn.Entry
	event  Event
	stored chan error
}

// drop discards a report.
func (c callReport) drop() {
	if c.stored != nil {
		c.stored <- errNotAsked
	}
}

// errNotAsked means that a call cannot be approved because its turn is ending, or runs
// without a user.
var errNotAsked = errors.New("no user is connected to approve the call")

// store has an approval entry stored by the turn and waits until it is durable.
func (r *runningCalls) store(entry *firn.Entry, event Event) error {
	c := callReport{entry: entry, event: event, stored: make(chan error, 1)}
	r.report(c)
	select {
	case err := <-c.stored:
		return err
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// report passes a report on unless the calls are canceled.
func (r *runningCalls) report(c callReport) {
	select {
	case r.reports <- c:
	case <-r.ctx.Done():
	}
}

// runAll starts the calls, at most maxParallelCalls at a time.
func (t turnCalls) runAll(calls []firn.ToolCall) *runningCalls {
	ctx, cancel := context.WithCancel(t.ctx)
	r := &runningCalls{ctx: ctx, cancel: cancel, results: make(chan outcome, len(calls)), reports: make(chan callReport, len(calls)), open: make(map[int]bool)}
	slots := make(chan struct{}, maxParallelCalls)
	run := t.hookRun()
	for i, call := range calls {
		r.open[i] = true
		go func() {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
				r.report(callReport{at: i, started: true})
			case <-ctx.Done():
			}
			ctx := tool.WithProgress(ctx, func(text string) { r.report(callReport{at: i, text: text}) })
			r.results <- t.runOne(ctx, r, run, i, call)
		}()
	}
	return r
}

// wait returns the next outcome and passes on the reports of calls meanwhile. After the turn was
// stopped, it waits for a tool at most stopTimeout.
func (r *runningCalls) wait(pass func(callReport)) outcome {
	stopped := r.ctx.Done()
	for !r.expired {
		select {
		case c := <-r.reports:
			pass(c)
			continue
		default:
		}
		select {
		case c := <-r.reports:
			pass(c)
		case o := <-r.results:
			delete(r.open, o.at)
			return o
		case <-stopped:
			stopped = nil
			if r.late == nil {
				r.late = time.After(stopTimeout)
			}
		case <-r.late:
			r.expired = true
		}
	}
	for len(r.results) > 0 {
		if o := <-r.results; r.open[o.at] { // the call had already finished
			delete(r.open, o.at)
			return o
		}
	}
	for at := range r.open {
		delete(r.open, at)
		return outcome{at: at, state: CallCanceled, result: tool.TextResult(cancelledText)}
	}
	return outcome{} // unreachable: wait is called only while a call is open
}

// end cancels the remaining calls and waits for them.
func (r *runningCalls) end() {
	r.cancel()
	for len(r.open) > 0 && !r.expired {
		r.wait(callReport.drop)
	}
}

// cancelledText is the result sent to the model for a canceled call.
const cancelledText = "[firn] the call was canceled before it finished"

// runOne runs one call. A panic of the tool becomes an error.
func (t turnCalls) runOne(ctx context.Context, r *runningCalls, run Run, at int, call firn.ToolCall) (o outcome) {
	o.at = at
	var began time.Time // when the call was permitted: waiting for an approval does not count
	defer func() {
		if !began.IsZero() {
			o.took = time.Since(began)
		}
		if p := recover(); p != nil {
			o.state, o.result = CallFailed, errorResult(fmt.Errorf("the tool panicked: %v", p))
			o.result.Details = mustJSON(map[string]string{"stack": string(debug.Stack())})
		}
	}()
	if ctx.Err() != nil {
		o.state, o.result = CallCanceled, tool.TextResult(cancelledText)
		return o
	}
	if call, o = t.permit(ctx, r, run, call, o); o.state != "" {
		return o
	}
	began = time.Now()
	ctx, changes := recordChanges(withOutside(t.withCall(ctx, call), o.outside), t.turn, run, call)
	o.state, o.result = t.toolStep(ctx, run, call)
	o.files = changes()
	if o.state == callInterrupted {
		o.suspended, o.err = true, ErrToolsGone
		return o
	}
	if t.a.Hooks.AfterTool != nil && o.state != CallCanceled {
		o.result, o.err = callHook(func() (tool.Result, error) { return t.a.Hooks.AfterTool(ctx, run, call, o.result) })
		if o.err != nil {
			o.state, o.result = CallFailed, errorResult(o.err)
		}
	}
	return o
}

// permit asks the hook and the approver about a call. It returns the call with its actual
// arguments, and an outcome with a state if the call must not run.
func (t turnCalls) permit(ctx context.Context, r *runningCalls, run Run, call firn.ToolCall, o outcome) (firn.ToolCall, outcome) {
	verdict, err := t.checkCall(ctx, run, call)
	if err != nil {
		o.state, o.err, o.result = CallDenied, err, errorResult(fmt.Errorf("the call was not allowed: %w", err))
		return call, o
	}
	original, refusal := call, verdict.Deny
	if verdict.Arguments != nil {
		call.Arguments, o.arguments = verdict.Arguments, verdict.Arguments
	}
	if _, known := t.tools[call.Name]; known && refusal == "" {
		o.outside, refusal, err = t.approve(r, run, original, call)
	}
	var preview failedPreview
	switch {
	case errors.Is(err, ErrSuspended):
		o.state, o.suspended = CallCanceled, true
	case errors.Is(err, ErrToolsGone):
		o.state, o.suspended, o.err = CallCanceled, true, err
	case errors.As(err, &preview):
		o.state, o.result = CallFailed, errorResult(preview.error)
	case err != nil && ctx.Err() != nil:
		o.state, o.result = CallCanceled, tool.TextResult(cancelledText)
	case err != nil:
		o.state, o.result = CallDenied, errorResult(fmt.Errorf("the call was not allowed: %w", err))
	case refusal != "":
		o.state, o.result = CallDenied, errorResult(errors.New("the call was not allowed: "+refusal))
	}
	return call, o
}

// callHook calls a hook and turns a panic into an error.
func callHook[T any](hook func() (T, error)) (result T, err error) {
	err = recoverPanic("a hook", func() (err error) {
		result, err = hook()
		return err
	})
	return result, err
}

// checkCall asks the BeforeTool hook about a call.
func (t turnCalls) checkCall(ctx context.Context, run Run, call firn.ToolCall) (Verdict, error) {
	if t.a.Hooks.BeforeTool == nil {
		return Verdict{}, nil
	}
	return callHook(func() (Verdict, error) { return t.a.Hooks.BeforeTool(ctx, run, call) })
}

// toolStep runs the called tool as a step.
func (t turnCalls) toolStep(ctx context.Context, run Run, call firn.ToolCall) (state CallState, result tool.Result) {
	if _, known := t.tools[call.Name]; !known {
		return t.runTool(ctx, call) // it returns an error with the model's own name for the tool
	}
	ctx, end := t.around(ctx, run, Step{Kind: StepTool, Name: call.Name, Call: call.ID})
	state = CallFailed // in case it panics
	defer func() {
		if state == CallDone {
			end("")
			return
		}
		end(string(state))
	}()
	return t.runTool(ctx, call)
}

// runTool runs the called tool.
func (t turnCalls) runTool(ctx context.Context, call firn.ToolCall) (CallState, tool.Result) {
	x, ok := t.tools[call.Name]
	if !ok {
		return CallFailed, errorResult(fmt.Errorf("unknown tool %q; the tools are: %s", firn.CutText(call.Name, 80), t.toolNames()))
	}
	result, err := x.Run(ctx, call.Arguments)
	switch {
	case errors.Is(err, ErrToolsGone):
		return callInterrupted, result
	case ctx.Err() != nil && err != nil:
		result.Parts = append(slices.Clip(result.Parts), firn.Text{Text: cancelledText})
		return CallCanceled, result // with its partial output
	case err != nil:
		result.Parts = append(slices.Clip(result.Parts), firn.Text{Text: err.Error()})
		result.IsError = true
		return CallFailed, result
	case result.IsError:
		return CallFailed, result
	}
	return CallDone, result
}

func (t turnCalls) toolNames() string {
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

// limits returns the limits for each of n results, so that together they take at most about
// a quarter of the model's window.
func (t turnCalls) limits(n int) tool.Limits {
	const charsPerToken, share = 4, 4
	limits := t.a.Results
	most := max(int(t.info.Window)*charsPerToken/share/n, 1)
	if limits.Chars == 0 && most < tool.StandardChars || limits.Chars > most {
		limits.Chars = most
	}
	return limits
}

// resultEntry returns the entry of a result. The text for the model is limited; the full
// text is kept in the details.
func (t turnCalls) resultEntry(call firn.ToolCall, o outcome, warning string) firn.Entry {
	details := resultDetails{State: o.state, Ms: o.took.Milliseconds(), Arguments: o.arguments, Files: o.files, Details: o.result.Details}
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

// mustJSON encodes a value. Raw members that a tool produced are dropped if they are not
// valid JSON.
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
