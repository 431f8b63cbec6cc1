package agent

import (
	"bytes"
	"fmt"
	"slices"

	"firn.dev"
)

// guard detects a model that repeats calls without progress: a tool that keeps failing,
// with any arguments, or an identical call with an identical result. Parallel calls in one
// answer count as one, because the model had not seen their results.
type guard struct {
	// limit is the number of repetitions that stops the turn; zero means 10.
	limit int
	// failed counts consecutive failures by tool, same the repetitions of a call.
	failed map[string]int
	same   int
	last   firn.ToolCall
	result string
	// tripped is why the turn must stop.
	tripped error
}

// Loop is the error of a turn that was stopped because of repeated tool calls without
// progress.
type Loop struct {
	Tool  string
	Times int
	// Failing means that the calls failed; otherwise they were identical.
	Failing bool
}

// Error names the tool and the number of calls.
func (l *Loop) Error() string {
	if l.Failing {
		return fmt.Sprintf("the turn was stopped: the tool %s failed %d times in a row", l.Tool, l.Times)
	}
	return fmt.Sprintf("the turn was stopped: the tool %s was called %d times in a row with the same arguments and the same result", l.Tool, l.Times)
}

func (g *guard) maxRepeats() int {
	if g.limit > 0 {
		return g.limit
	}
	return 10
}

// round holds the calls of one answer.
type round struct {
	guard *guard
	calls []firn.ToolCall
	// failing holds, for each tool, whether all its calls so far failed.
	failing map[string]bool
}

func (g *guard) round(calls []firn.ToolCall) *round {
	return &round{guard: g, calls: calls, failing: make(map[string]bool)}
}

// result records the result of a call, in the order of the calls, and returns a warning for
// the model if one is due.
func (r *round) result(at int, failed bool, text string) string {
	name := r.calls[at].Name
	if before, seen := r.failing[name]; seen {
		failed = failed && before
	}
	r.failing[name] = failed
	if slices.ContainsFunc(r.calls[at+1:], func(c firn.ToolCall) bool { return c.Name == name }) {
		return "" // evaluated with the last call of the tool
	}
	loop, warning := r.guard.countFailure(name, failed)
	if len(r.calls) > 1 {
		r.guard.same = 0
	} else if again, more := r.guard.countRepeat(r.calls[at], text); loop == nil && warning == "" {
		loop, warning = again, more
	}
	if loop != nil && r.guard.tripped == nil {
		r.guard.tripped = loop
	}
	return warning
}

// verdict returns the reason to stop the turn, or nil.
func (g *guard) verdict() error { return g.tripped }

// countFailure counts consecutive failures of a tool.
func (g *guard) countFailure(name string, failed bool) (*Loop, string) {
	if g.failed == nil {
		g.failed = make(map[string]int)
	}
	if !failed {
		g.failed[name] = 0
		return nil, ""
	}
	g.failed[name]++
	switch n := g.failed[name]; {
	case n >= g.maxRepeats():
		return &Loop{Tool: name, Times: n, Failing: true}, ""
	case n == g.warnAfter():
		return nil, fmt.Sprintf("[firn] %s has failed %d times in a row. Try something else, or tell the user what the problem is.", name, n)
	}
	return nil, ""
}

// countRepeat counts identical calls with identical results.
func (g *guard) countRepeat(call firn.ToolCall, result string) (*Loop, string) {
	if call.Name == g.last.Name && result == g.result && bytes.Equal(call.Arguments, g.last.Arguments) {
		g.same++
	} else {
		g.same = 1
	}
	g.last, g.result = call, result
	switch {
	case g.same >= g.maxRepeats():
		return &Loop{Tool: call.Name, Times: g.same}, ""
	case g.same == g.warnAfter():
		return nil, fmt.Sprintf("[firn] This was the same call with the same result, %d times in a row. Try something else, or answer.", g.same)
	}
	return nil, ""
}

// warnAfter returns the number of repetitions after which the model is warned.
func (g *guard) warnAfter() int { return max(g.maxRepeats()/2, 2) }
