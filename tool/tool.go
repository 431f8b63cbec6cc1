// Package tool defines the tools that agents can call.
//
// [Tool] is the contract. The functions of this package return the built-in tools, each
// given the resources that it may access: a [Workspace] for tools that read and write
// files, a clock for now, nothing for calc. [New] makes a tool from a function.
//
// The tools limit their work and the size of their results, never block on a pipe, and do
// not leave their workspace. Errors are sentences that help a model to correct its call.
// [Shell] is the exception: its commands are not restricted.
package tool

import (
	"context"
	"encoding/json"

	"firn.dev"
	"firn.dev/provider"
)

// Tool is an action that a model can request. It must be safe for concurrent use: the calls
// of one answer run in parallel.
type Tool interface {
	// Spec returns the description for the model. It never changes.
	Spec() provider.Tool
	// Run executes a call. Arguments is a JSON object as sent by the model; Run returns an
	// error if it is invalid. Errors are shown to the model as the result, so they should
	// help it to correct the call. When ctx is done, Run stops promptly and returns an
	// error that wraps the cause. A result returned with an error holds the output before
	// the failure.
	Run(ctx context.Context, arguments json.RawMessage) (Result, error)
}

// ReadOnly is implemented by tools that can report that they only read, so that their calls
// need no approval. Other tools are judged by their names.
type ReadOnly interface {
	ReadOnly() bool
}

// Result is the result of a call.
type Result struct {
	// Parts are text and images. The caller truncates them for the model with [Bound].
	Parts []firn.Part
	// Details is JSON for users and programs. It is never sent to a model.
	Details json.RawMessage
	// IsError marks a failure that still has output, such as that of a command that failed.
	IsError bool
}

// TextResult returns a result that consists of text.
func TextResult(text string) Result {
	return Result{Parts: []firn.Part{firn.Text{Text: text}}}
}
