package api

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// The API description in OpenAPI 3.1 format. It is generated from the route table and the
// types of package wire, so it always matches the handlers.

// OpenAPI returns the API description of a firn version as JSON.
func OpenAPI(version string) []byte { return describe(operations(), version) }

// object is a JSON object; encoding/json sorts its members.
type object map[string]any

// describe generates the description.
func describe(table []*operation, version string) []byte {
	s := schemas{defs: make(object)}
	failure := s.of(reflect.TypeFor[wire.Failure]())
	event := s.of(reflect.TypeFor[wire.Event]())
	paths := make(map[string]object)
	for _, op := range table {
		if paths[op.path] == nil {
			paths[op.path] = make(object)
		}
		paths[op.path][strings.ToLower(op.method)] = s.operation(op, event)
	}
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "firn", "version": cmp.Or(version, "0"), "summary": "HTTP API of the firn gateway.",
			"description": "Errors have a machine-readable kind. Lists are paged. No token is needed over a Unix socket. Paths that end in a verb, such as /v1/sessions/{id}/fork, can also be written /v1/sessions/{id}:fork.",
		},
		"servers":  []any{object{"url": "/"}},
		"security": []any{object{"token": []any{}}},
		"paths":    paths,
		"components": object{
			"schemas":         s.defs,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "A token created by firn token create."}},
			"responses":       object{"Problem": object{"description": "The request failed.", "content": object{"application/json": object{"schema": failure}}}},
		},
	}
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return []byte("{}") // cannot happen: a test encodes it
	}
	return append(data, '\n')
}

// operation describes one operation.
func (s *schemas) operation(op *operation, event object) object {
	content := make(object)
	switch {
	case op.out != nil:
		content["application/json"] = object{"schema": s.of(op.out)}
	case op.content == "application/json":
		content[op.content] = object{"schema": object{"type": "object"}}
	case op.content != typeStream:
		content[op.content] = object{"schema": object{"type": "string"}}
	}
	if op.out != nil && op.content == typeCSV {
		content[typeCSV] = object{"schema": object{"type": "string"}}
	}
	if op.also || op.content == typeStream {
		content[typeStream] = object{"schema": object{"type": "string", "contentMediaType": "application/json", "contentSchema": event,
			"description": "Server-sent events with JSON data."}}
	}
	d := object{
		"operationId": op.name, "summary": op.what, "tags": []any{tagOf(op.path)},
		"responses": object{"200": object{"description": "Success.", "content": content}, "default": object{"$ref": "#/components/responses/Problem"}},
	}
	if op.scope == "" {
		d["security"] = []any{}
	} else {
		d["x-scope"] = op.scope
	}
	if op.encodeProblem != nil || op.foreign {
		d["x-foreign"] = true // in the format of another protocol
	}
	if op.verb {
		at := strings.LastIndexByte(op.path, '/')
		d["x-alias"] = op.path[:at] + ":" + op.path[at+1:]
	}
	if params := parameters(op); len(params) > 0 {
		d["parameters"] = params
	}
	if op.anything {
		d["requestBody"] = object{"required": false, "content": object{"*/*": object{}}}
	}
	if op.in != nil && op.in != reflect.TypeFor[none]() {
		d["requestBody"] = object{"required": !op.optional, "content": object{"application/json": object{"schema": s.of(op.in)}}}
	}
	return d
}

// tagOf returns the tag that groups an operation.
func tagOf(path string) string {
	rest, ok := strings.CutPrefix(path, "/v1/")
	if !ok {
		return "health"
	}
	tag, _, _ := strings.Cut(rest, "/")
	return tag
}

// pathWords describes the path parameters.
var pathWords = map[string]string{
	"id":           "A session: its ID; @ and a key; its title or first prompt. If only one session matches, also the first or last characters of the ID or the first of the title (four or more), or words of the title.",
	"call":         "A tool call, by its ID.",
	"cid":          "A compaction, by the ID of its entry, or latest.",
	"entry":        "An entry: its ID or a prefix of it, a label, HEAD, HEAD~n or #n.",
	"n":            "Number of the image, starting with 1.",
	"note":         "A note by name, or to delete one of its facts, name#id or the text of the fact.",
	"change":       "ID of a change.",
	"session":      "ID of a session.",
	"key":          "A key.",
	"token":        "A token, by ID or name.",
	"hook":         "Name of a hook.",
	"job":          "ID of a job.",
	"model":        "An agent, or PROVIDER/MODEL.",
	"response":     "ID of a response.",
	"conversation": "ID of a conversation: conv_ and the session's ID.",
}

func parameters(op *operation) []any {
	var all []any
	for segment := range strings.SplitSeq(op.path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			all = append(all, object{"name": name, "in": "path", "required": true, "description": pathWords[name], "schema": object{"type": "string"}})
		}
	}
	for _, p := range op.query {
		schema := object{"type": p.kind}
		switch p.kind {
		case "integer":
			schema["format"], schema["minimum"] = "int64", 0
		case "date-time":
			schema["type"], schema["format"] = "string", p.kind
		}
		if len(p.values) > 0 {
			schema["enum"] = p.values
		}
		in := "query"
		if p.header {
			in = "header"
		}
		all = append(all, object{"name": p.name, "in": in, "description": p.what, "schema": schema})
	}
	return all
}

// schemas describes types, each once.
type schemas struct{ defs object }

// enums lists the values of enumerated types.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[wire.Scope](): {string(wire.ScopeHook), string(wire.ScopeSync), string(wire.ScopeRead), string(wire.ScopeWrite), string(wire.ScopeAdmin)},
	reflect.TypeFor[wire.Kind](): {
		string(wire.Invalid), string(wire.NotFound), string(wire.Ambiguous), string(wire.Conflict), string(wire.Locked), string(wire.NotAllowed),
		string(wire.NoToken), string(wire.Corrupt), string(wire.TooLarge), string(wire.Unsupported), string(wire.NotSaved), string(wire.Unknown), string(wire.Unavailable), string(wire.Busy),
		string(wire.Upstream), string(wire.TurnStopped), string(wire.Closing), string(wire.Internal),
	},
}

// of returns the schema of a type. Structs are referenced.
func (s *schemas) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{} // any value
	case reflect.TypeFor[firn.Pos]():
		return object{"type": "integer", "format": "int64", "minimum": 0, "description": "A position in a session."}
	}
	if values, ok := enums[t]; ok {
		return object{"type": "string", "enum": values}
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint64, reflect.Uint32, reflect.Uint:
		return object{"type": "integer", "format": "int64"}
	case reflect.Float64, reflect.Float32:
		return object{"type": "number"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return s.reference(t)
	}
	return object{}
}

// reference adds a struct to the definitions and returns a reference to it.
func (s *schemas) reference(t reflect.Type) object {
	name := nameOf(t)
	if _, ok := s.defs[name]; !ok {
		s.defs[name] = nil // ends the recursion of recursive types
		properties := make(object)
		var required []string
		s.members(t, properties, &required)
		def := object{"type": "object", "properties": properties}
		if len(required) > 0 {
			slices.Sort(required)
			def["required"] = required
		}
		s.defs[name] = def
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// members adds the members of a struct and of its embedded structs.
func (s *schemas) members(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if f.Anonymous && tag == "" {
			s.members(f.Type, properties, required)
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		name = cmp.Or(name, f.Name)
		schema := s.of(f.Type)
		if options == "" {
			*required = append(*required, name)
			if kind := f.Type.Kind(); kind == reflect.Slice && f.Type != reflect.TypeFor[json.RawMessage]() || kind == reflect.Map {
				schema["type"] = []any{schema["type"], "null"} // Go encodes an empty one as null
			}
		}
		properties[name] = schema
	}
}

// nameOf returns the name of a type. For generic types the name of the argument comes
// first: wire.Page[wire.Session] is SessionPage.
func nameOf(t reflect.Type) string {
	name, of, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return name
	}
	of = strings.TrimSuffix(of, "]")
	return of[strings.LastIndexByte(of, '.')+1:] + name
}
