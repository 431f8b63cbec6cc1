package agent

import (
	"bytes"
	"fmt"
	"slices"

	"firn.dev"
)

// guard notices when a model calls the same thing again and again and gets
// nowhere: a tool that keeps failing, whatever the arguments, or the very same
// call with the very same result. What is called side by side in one answer
// counts as one: the model had not seen what came of it.
type guard struct {
	// limit is how many times in a row are too many; zero means 10.
	limit int
	// failed counts failures in a row by tool, same the repetitions of a call.
	failed map[string]int
	same   int
	last   firn.ToolCall
	result string
	// tripped says why the turn must stop.
	tripped error
}

// Loop says that a turn was stopped because a tool was called again and again
// to no end.
type Loop struct {
	Tool  string
	Times int
	// Failing says that the calls failed; else they were all the same.
	Failing bool
}

// Error says which tool it was.
func (l *Loop) Error() string {
	if l.Failing {
		return fmt.Sprintf("the turn was stopped: the tool %s failed %d times in a row", l.Tool, l.Times)
	}
	return fmt.Sprintf("the turn was stopped: the tool %s was called %d times in a row with the same arguments and the same result", l.Tool, l.Times)
}

func (g *guard) most() int {
	if g.limit > 0 {
		return g.limit
	}
	return 10
}

// round are the calls of one answer in the eyes of the guard.
type round struct {
	guard *guard
	calls []firn.ToolCall
	// failing says of each tool that all its calls so far failed.
	failing map[string]bool
}

func (g *guard) round(calls []firn.ToolCall) *round {
	return &round{guard: g, calls: calls, failing: make(map[string]bool)}
}

// result takes notice of what came of a call, in the order of the calls, and
// returns a word of warning for the model, if one is due.
func (r *round) result(at int, failed bool, text string) string {
	name := r.calls[at].Name
	if before, seen := r.failing[name]; seen {
		failed = failed && before
	}
	r.failing[name] = failed
	if slices.ContainsFunc(r.calls[at+1:], func(c firn.ToolCall) bool { return c.Name == name }) {
		return "" // judged with the last of them
	}
	loop, warning := r.guard.tool(name, failed)
	if len(r.calls) > 1 {
		r.guard.same = 0
	} else if again, more := r.guard.repeat(r.calls[at], text); loop == nil && warning == "" {
		loop, warning = again, more
	}
	if loop != nil && r.guard.tripped == nil {
		r.guard.tripped = loop
	}
	return warning
}

// verdict returns why the turn must stop, if it must.
func (g *guard) verdict() error { return g.tripped }

// tool counts how often a tool failed in a row.
func (g *guard) tool(name string, failed bool) (*Loop, string) {
	if g.failed == nil {
		g.failed = make(map[string]int)
	}
	if !failed {
		g.failed[name] = 0
		return nil, ""
	}
	g.failed[name]++
	switch n := g.failed[name]; {
	case n >= g.most():
		return &Loop{Tool: name, Times: n, Failing: true}, ""
	case n == g.half():
		return nil, fmt.Sprintf("[firn] %s has failed %d times in a row. Try something else, or tell the user what is in the way.", name, n)
	}
	return nil, ""
}

// repeat counts how often the same call gave the same result.
func (g *guard) repeat(call firn.ToolCall, result string) (*Loop, string) {
	if call.Name == g.last.Name && result == g.result && bytes.Equal(call.Arguments, g.last.Arguments) {
		g.same++
	} else {
		g.same = 1
	}
	g.last, g.result = call, result
	switch {
	case g.same >= g.most():
		return &Loop{Tool: call.Name, Times: g.same}, ""
	case g.same == g.half():
		return nil, fmt.Sprintf("[firn] This was the same call with the same result, %d times in a row. Try something else, or answer.", g.same)
	}
	return nil, ""
}

// half is when the model is warned.
func (g *guard) half() int { return max(g.most()/2, 2) }
