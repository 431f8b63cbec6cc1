package tool

import (
	"context"
	"encoding/json"
	"reflect"

	"firn/provider"
)

// Func makes a tool of a function that reads its arguments itself. The schema
// is what the model is told of them, a JSON schema of an object; without one
// the model is told that any object will do.
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

// New makes a tool of a function that takes its arguments as a struct. The
// schema comes from the struct: the names of the members from the json tags,
// what they mean from desc tags, the values they may have from enum tags, with
// bars between. A member must be given unless it is a pointer or its json tag
// says omitempty or omitzero. Types that a schema cannot tell of, such as any
// or a struct within itself, may be anything. The same type gives the same
// bytes of schema.
//
// Arguments are held against the struct before run sees them, and the error
// names all that is wrong with them: members that are unknown, missing, or of
// the wrong type. What models often get wrong and what can only mean one thing
// is put right: a number, a truth value, a list or an object in a string, a
// whole number written as 3.0, a single value for a list of them. [TextResult]
// makes a result of a text.
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
