package agent

import (
	"context"
	"errors"

	"firn.dev"
	"firn.dev/tool"
	"firn.dev/window"
)

// Workplace replaces the workspace of an agent for one turn, for example by the directory of
// the terminal that the user types in.
type Workplace struct {
	// Directory is the path of the workspace there.
	Directory string
	// Tools replace the agent's tools that act in its own workspace, see
	// [Agent.WorkspaceTools], and those of the same name.
	Tools []tool.Tool
	// Injected describes the workplace to the model. Hooks leave out the agent's own
	// workspace if [Run.Workplace] is set.
	Injected []window.Injection
	// Added means that the agent keeps its own workspace, and has Tools besides its own.
	Added bool
	// Terminal means, with Added, that the agent's own workspace is Directory, that of the
	// terminal that runs the turn. A pending question names it, so that it is asked again
	// there, whoever runs the next turn.
	Terminal bool
}

// ErrToolsGone is returned by a tool of a [Workplace] that can no longer be reached, after
// the call may have run. The call gets no result and the turn ends without recording a
// failure, as after a crash. The next turn of the session reports the call as interrupted.
var ErrToolsGone = errors.New("the program that runs the tools has exited")

// callInterrupted is the state of a call whose outcome is unknown. It is never stored.
const callInterrupted CallState = "interrupted"

// Call is a tool call with the entry of the answer that it is in.
type Call struct {
	Answer firn.EntryID
	firn.ToolCall
	// ReadOnly means that the tool reports that it only reads, see [tool.ReadOnly].
	ReadOnly bool
}

type callKey struct{}

// withCall adds a call to the context of its tool.
func (t turnCalls) withCall(ctx context.Context, call firn.ToolCall) context.Context {
	reader, ok := t.tools[call.Name].(tool.ReadOnly)
	return context.WithValue(ctx, callKey{}, Call{Answer: t.answer, ToolCall: call, ReadOnly: ok && reader.ReadOnly()})
}

// CallOf returns the call that the context of a tool belongs to.
func CallOf(ctx context.Context) (Call, bool) {
	c, ok := ctx.Value(callKey{}).(Call)
	return c, ok
}

// turnTools returns the tools of the turn: the agent's, with those of the workplace instead
// of those in the agent's own workspace.
func (t turnCalls) turnTools() []tool.Tool {
	place := t.in.Workplace
	if place == nil {
		return t.a.Tools
	}
	replaced := make(map[string]bool)
	for _, name := range t.a.WorkspaceTools {
		replaced[name] = !place.Added
	}
	for _, x := range place.Tools {
		replaced[x.Spec().Name] = true
	}
	var tools []tool.Tool
	for _, x := range t.a.Tools {
		if !replaced[x.Spec().Name] {
			tools = append(tools, x)
		}
	}
	return append(tools, place.Tools...)
}

// workplace returns the directory of the turn's workplace; empty if it has none.
func (t turnCalls) workplace() string {
	place := t.in.Workplace
	if place == nil || place.Added && !place.Terminal {
		return ""
	}
	return place.Directory
}
