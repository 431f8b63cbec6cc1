package tool

import (
	"context"
	"encoding/json"
	"reflect"

	"firn.dev/provider"
)

// Func returns a tool for a function that parses its own arguments. The schema is a JSON
// schema of an object; without one any object is accepted.
func Func(name, description string, schema json.RawMessage, run func(ctx context.Context, arguments json.RawMessage) (Result, error)) Tool {
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return &function{provider.Tool{Name: name, Description: description, Schema: schema}, run}
}

type function struct {
	spec provider.Tool
	run  func(context.Context, json.RawMessage) (Result, error)
}

func (f *function) Spec() provider.Tool { return f.spec }

func (f *function) Run(ctx context.Context, arguments json.RawMessage) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	return f.run(ctx, arguments)
}

// New returns a tool for a function that takes its arguments as a struct. The schema is
// derived from the struct: member names from json tags, descriptions from desc tags,
// allowed values from enum tags, separated by bars. A member is required unless it is a
// pointer or its json tag has omitempty or omitzero. Types that a schema cannot express,
// such as any or recursive structs, accept any value. The same type always gives the same
// schema bytes.
//
// Arguments are checked against the struct before run is called, and the error lists all
// problems: unknown or missing members and wrong types. Common unambiguous mistakes of
// models are corrected: a number, boolean, list or object in a string, an integer written
// as 3.0, a single value in place of a list. Use [TextResult] to return a text.
func New[T any](name, description string, run func(ctx context.Context, arguments T) (Result, error)) Tool {
	s := shapeOf(reflect.TypeFor[T](), nil)
	return Func(name, description, s.schema(), func(ctx context.Context, raw json.RawMessage) (Result, error) {
		var arguments T
		if err := decode(name, s, raw, &arguments); err != nil {
			return Result{}, err
		}
		return run(ctx, arguments)
	})
}
