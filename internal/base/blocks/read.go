package blocks

import (
	"encoding/json"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Read reads content: a string, which is one text, or an array of blocks. An empty string
// and null have no parts. Blocks of an unknown kind or without a required member are opaque
// parts. Members that firn has no field for become extra fields, except those of tool
// results, which have none. Any other value fails with ErrCorrupt.
//
// The parts do not share memory with raw.
func Read(raw []byte) ([]firn.Part, error) {
	r := rawjson.New(raw)
	parts, ok := content(&r, true)
	err := r.End()
	switch {
	case err == nil && ok:
		return parts, nil
	case err == nil:
		return nil, fmt.Errorf("read the content of a message: %w: neither a string nor an array of blocks", firn.ErrCorrupt)
	}
	return nil, fmt.Errorf("read the content of a message: %w: %w", firn.ErrCorrupt, err)
}

// content reads a string or an array of blocks; it returns false if it is neither. Tool
// results do not nest: within one they are opaque.
func content(r *rawjson.Reader, results bool) ([]firn.Part, bool) {
	switch r.Kind() {
	case rawjson.Null:
		return nil, r.Null()
	case rawjson.String:
		s, ok := r.Text()
		if s == "" {
			return nil, ok
		}
		return []firn.Part{firn.Text{Text: s}}, ok
	case rawjson.Array:
		var parts []firn.Part
		for r.Array(); r.Element(); {
			parts = append(parts, block(r, results))
		}
		return parts, r.Err() == nil
	}
	r.Skip()
	return nil, false
}

// block reads one element of content.
func block(r *rawjson.Reader, results bool) firn.Part {
	if s, ok := r.Text(); ok {
		return firn.Text{Text: s}
	}
	raw := r.Raw()
	kind := kindOf(raw)
	var part firn.Part
	switch kind {
	case "text":
		part = text(raw)
	case "image":
		part = image(raw)
	case "thinking":
		part = thinking(raw, "thinking", "signature")
	case "redacted_thinking":
		part = thinking(raw, "", "data")
	case "tool_use":
		part = toolUse(raw)
	case "tool_result":
		if results {
			part = toolResult(raw)
		}
	}
	if part == nil {
		part = firn.OpaquePart{Type: kind, Raw: copyRaw(raw)}
	}
	return part
}

// kindOf returns the type of a block, or "" if it has none. The block was checked before,
// so it reads no further than necessary.
func kindOf(raw []byte) string {
	r := rawjson.New(raw)
	if !r.Object() {
		return ""
	}
	for r.Member() {
		if string(r.Key()) == "type" {
			kind, _ := r.Text()
			return kind
		}
		r.Skip()
	}
	return ""
}

// copyRaw copies a raw value, cleaned and on one line.
func copyRaw(raw []byte) json.RawMessage {
	kept, err := rawjson.AppendValue(nil, raw)
	if err != nil {
		return nil
	}
	return kept
}

// members iterates over the members of a block. Members that read does not consume become
// extra fields, except the type.
func members(raw []byte, read func(name string, r *rawjson.Reader) bool) firn.Fields {
	var extra firn.Fields
	r := rawjson.New(raw)
	for r.Object(); r.Member(); {
		name := r.KeyText()
		switch {
		case name == "type":
			r.Skip()
		case read(name, &r):
		default:
			extra = append(extra, firn.Field{Name: name, Value: copyRaw(r.Raw())})
		}
	}
	return extra
}

// readString reads a string into field; it returns false if the value is not a string.
func readString(field *string, r *rawjson.Reader) bool {
	s, ok := r.Text()
	if ok {
		*field = s
	}
	return ok
}

// Each of the following functions reads the block that it is named after. It returns nil if
// a required member is missing.

func text(raw []byte) firn.Part {
	var p firn.Text
	has := false
	p.Extra = members(raw, func(name string, r *rawjson.Reader) bool {
		ok := name == "text" && readString(&p.Text, r)
		has = has || ok
		return ok
	})
	if !has {
		return nil
	}
	return p
}

func thinking(raw []byte, words, proof string) firn.Part {
	p := firn.Thinking{Redacted: words == ""}
	has := false
	p.Extra = members(raw, func(name string, r *rawjson.Reader) bool {
		switch name {
		case words:
			ok := readString(&p.Text, r)
			has = has || ok
			return ok
		case proof:
			ok := readString(&p.Signature, r)
			has = has || ok && p.Redacted
			return ok
		}
		return false
	})
	if !has {
		return nil
	}
	return p
}

func image(raw []byte) firn.Part {
	var p firn.Image
	base64 := false
	p.Extra = members(raw, func(name string, r *rawjson.Reader) bool {
		if name != "source" || r.Kind() != rawjson.Object {
			return false
		}
		base64 = source(r.Raw(), &p)
		return true
	})
	if !base64 {
		return nil
	}
	return p
}

// source reads the source of an image; it reports whether the source is valid.
func source(raw []byte, p *firn.Image) bool {
	has := false
	members(raw, func(name string, r *rawjson.Reader) bool {
		switch name {
		case "media_type":
			return readString(&p.MimeType, r)
		case "data":
			has = readString(&p.Data, r)
			return has
		}
		return false
	})
	return has && kindOf(raw) == "base64"
}

func toolUse(raw []byte) firn.Part {
	p := firn.ToolCall{Arguments: json.RawMessage("{}")}
	hasID, hasName := false, false
	p.Extra = members(raw, func(name string, r *rawjson.Reader) bool {
		switch name {
		case "id":
			ok := readString(&p.ID, r)
			hasID = hasID || ok
			return ok
		case "name":
			ok := readString(&p.Name, r)
			hasName = hasName || ok
			return ok
		case "input":
			p.Arguments = arguments(r.Raw())
			return true
		}
		return false
	})
	if !hasID || !hasName {
		return nil
	}
	return p
}

// arguments returns the input of a call as an object. Any other value is kept as text in a
// member "invalid", as for responses of the API.
func arguments(raw []byte) json.RawMessage {
	r := rawjson.New(raw)
	switch r.Kind() {
	case rawjson.Object:
		return copyRaw(raw)
	case rawjson.Null:
		return json.RawMessage("{}")
	}
	return append(rawjson.AppendString([]byte(`{"invalid":`), string(copyRaw(raw))), '}')
}

func toolResult(raw []byte) firn.Part {
	var p firn.ToolResult
	has := false
	members(raw, func(name string, r *rawjson.Reader) bool {
		switch name {
		case "tool_use_id":
			ok := readString(&p.CallID, r)
			has = has || ok
			return ok
		case "content":
			p.Content = toolOutput(r)
			return true
		case "is_error":
			b, ok := r.Bool()
			p.IsError = p.IsError || b
			return ok
		}
		return false
	})
	if !has {
		return nil
	}
	return p
}

// toolOutput reads the content of a tool result. An object, which the API does not have
// there, becomes an opaque part.
func toolOutput(r *rawjson.Reader) []firn.Part {
	raw := r.Raw()
	inner := rawjson.New(raw)
	parts, ok := content(&inner, false)
	if !ok {
		return []firn.Part{firn.OpaquePart{Type: kindOf(raw), Raw: copyRaw(raw)}}
	}
	return slices.Clip(parts)
}
