// Package tool holds what an agent can do besides talking.
//
// [Tool] is the contract. The tools that come with firn are made by the
// functions of this package, each from what it may touch: a [Workspace] for
// the tools that read and write files, a clock for now, nothing for calc. A
// tool that was not made cannot be called. [New] makes a tool of a function.
//
// Tools of this package bound their work and what they return; they wait for
// no pipe and follow nothing out of their workspace. What goes wrong is told in
// sentences that help a model to do better. [Shell] is the exception: what its
// commands do is up to who enables it.
package tool

import (
	"context"
	"encoding/json"

	"firn"
	"firn/provider"
)

// Tool is something a model can ask for. Its methods may be called from many
// goroutines: the calls of one answer run side by side.
type Tool interface {
	// Spec is how the model sees it. It is always the same.
	Spec() provider.Tool
	// Run does it. Arguments are a JSON object, as the model gave it; what is
	// wrong with them is told in the error. An error is shown to the model as
	// the result, so it is a sentence that helps it to do better. When ctx ends,
	// Run stops what it began and returns soon, with an error that wraps the
	// cause. A result beside an error is what came before it went wrong.
	Run(ctx context.Context, arguments json.RawMessage) (Result, error)
}

// Result is what came of a call.
type Result struct {
	// Parts are text and images. The caller bounds what the model sees of them,
	// with [Bound].
	Parts []firn.Part
	// Details is for people and programs, as JSON; a model never sees it.
	Details json.RawMessage
	// IsError says that it went wrong though there is something to show, like
	// the output of a command that failed.
	IsError bool
}

// TextResult makes a result of text.
func TextResult(text string) Result {
	return Result{Parts: []firn.Part{firn.Text{Text: text}}}
}
