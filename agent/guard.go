package agent

import (
	"bytes"
	"fmt"

	"firn"
)

// guard notices when a model calls the same thing again and again and gets
// nowhere: a tool that keeps failing, whatever the arguments, or the very same
// call with the very same result.
type guard struct {
	// limit is how many times in a row are too many; zero means 10.
	limit int
	// failed counts failures in a row by tool; same the repetitions of last.
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

// count takes notice of a result and returns a word of warning for the model,
// if one is due.
func (g *guard) count(call firn.ToolCall, failed bool, result string) string {
	if g.failed == nil {
		g.failed = make(map[string]int)
	}
	if call.Name == g.last.Name && result == g.result && bytes.Equal(call.Arguments, g.last.Arguments) {
		g.same++
	} else {
		g.same = 1
	}
	g.last, g.result = call, result
	if failed {
		g.failed[call.Name]++
	} else {
		g.failed[call.Name] = 0
	}
	if n := g.failed[call.Name]; n >= g.most() {
		g.trip(&Loop{Tool: call.Name, Times: n, Failing: true})
	}
	if g.same >= g.most() {
		g.trip(&Loop{Tool: call.Name, Times: g.same})
	}
	return g.warning(call.Name)
}

func (g *guard) trip(l *Loop) {
	if g.tripped == nil {
		g.tripped = l
	}
}

// warning is what the model is told half way to the limit.
func (g *guard) warning(name string) string {
	half := max(g.most()/2, 2)
	switch {
	case g.failed[name] == half:
		return fmt.Sprintf("[firn] %s has failed %d times in a row. Try something else, or tell the user what is in the way.", name, half)
	case g.same == half:
		return fmt.Sprintf("[firn] This is the same call with the same result for the %dth time. Try something else, or answer.", half)
	}
	return ""
}

// verdict returns why the turn must stop, if it must.
func (g *guard) verdict() error { return g.tripped }
