package redact

import (
	"encoding/json"
	"strings"

	"firn.dev/internal/base/rawjson"
)

// members returns an object in which the wanted members have no secrets. Other JSON is
// searched as a whole.
func (r *redactor) members(object json.RawMessage, wanted func(name string) bool) json.RawMessage {
	before := r.places
	out, ok := replaceMembers(object, func(name string, value json.RawMessage) json.RawMessage {
		if !wanted(name) {
			return value
		}
		return r.named(name, value)
	})
	if !ok {
		r.places = before
		return r.json(object)
	}
	return out
}

// member returns an object in which the member at a path has no secrets.
func (r *redactor) member(object json.RawMessage, path string) json.RawMessage {
	first, rest, nested := strings.Cut(path, ".")
	out, ok := replaceMembers(object, func(name string, value json.RawMessage) json.RawMessage {
		switch {
		case name != first:
			return value
		case nested:
			return r.member(value, rest)
		}
		return r.named(name, value)
	})
	if !ok {
		return object
	}
	return out
}

// withoutText returns the data of a piece of an answer without its text.
func withoutText(data json.RawMessage) json.RawMessage {
	out, ok := replaceMembers(data, func(name string, value json.RawMessage) json.RawMessage {
		if name == "text" || name == "thinking" {
			return json.RawMessage(`""`)
		}
		return value
	})
	if !ok {
		return json.RawMessage("{}")
	}
	return out
}

// replaceMembers returns an object with other values and every other byte the same. It
// returns false if data is not an object.
func replaceMembers(data json.RawMessage, replace func(name string, value json.RawMessage) json.RawMessage) (json.RawMessage, bool) {
	r := rawjson.New(data)
	if r.Kind() != rawjson.Object || !r.Object() {
		return data, false
	}
	var out json.RawMessage
	at := 0
	for r.Member() {
		value := r.Raw()
		next := replace(r.KeyText(), value)
		if string(next) != string(value) {
			out = append(append(out, data[at:r.Offset()-len(value)]...), next...)
			at = r.Offset()
		}
	}
	if r.End() != nil {
		return data, false
	}
	if at == 0 {
		return data, true
	}
	return append(out, data[at:]...), true
}
