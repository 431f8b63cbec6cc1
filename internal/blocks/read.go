package blocks

import (
	"encoding/json"
	"fmt"
	"slices"

	"firn"
	"firn/internal/rawjson"
)

// Read reads content: a string, which is one text, or an array of blocks. An
// empty string and null are no parts. Blocks of an unknown kind, and such that
// lack what makes them one, are opaque parts. The members of a block that firn
// has no field for are its extra fields, but for results of tools, which have
// no place for them. What is neither string nor array is an ErrCorrupt.
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
		return nil, fmt.Errorf("reading the content of a message: %w: it is neither a string nor an array of blocks", firn.ErrCorrupt)
	}
	return nil, fmt.Errorf("reading the content of a message: %w: %w", firn.ErrCorrupt, err)
}

// content reads a string or an array of blocks; false if it is neither.
// Results do not nest: within one they are opaque.
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
		part = firn.OpaquePart{Type: kind, Raw: keep(raw)}
	}
	return part
}

// kindOf returns the type of a block; empty if it tells none. The block was
// checked before, so it is not read further than need be.
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

// keep copies a raw value, clean and on one line.
func keep(raw []byte) json.RawMessage {
	kept, err := rawjson.AppendValue(nil, raw)
	if err != nil {
		return nil
	}
	return kept
}

// members walks over the members of a block. What read does not take is carried
// as an extra field, but for the type.
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
			extra = append(extra, firn.Field{Name: name, Value: keep(r.Raw())})
		}
	}
	return extra
}

// into reads a string into field; false if it is none.
func into(field *string, r *rawjson.Reader) bool {
	s, ok := r.Text()
	if ok {
		*field = s
	}
	return ok
}

// Each of these reads the block it is named for. It returns nil if the member
// without which the block makes no sense is not there.

func text(raw []byte) firn.Part {
	var p firn.Text
	has := false
	p.Extra = members(raw, func(name string, r *rawjson.Reader) bool {
		ok := name == "text" && into(&p.Text, r)
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
			ok := into(&p.Text, r)
			has = has || ok
			return ok
		case proof:
			ok := into(&p.Signature, r)
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

// source reads where a picture comes from; true if it is right there.
func source(raw []byte, p *firn.Image) bool {
	has := false
	members(raw, func(name string, r *rawjson.Reader) bool {
		switch name {
		case "media_type":
			return into(&p.MimeType, r)
		case "data":
			has = into(&p.Data, r)
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
			ok := into(&p.ID, r)
			hasID = hasID || ok
			return ok
		case "name":
			ok := into(&p.Name, r)
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

// arguments returns the input of a call as an object. What is not one is kept
// as text in a member "invalid", as it is when it comes from the API.
func arguments(raw []byte) json.RawMessage {
	r := rawjson.New(raw)
	switch r.Kind() {
	case rawjson.Object:
		return keep(raw)
	case rawjson.Null:
		return json.RawMessage("{}")
	}
	return append(rawjson.AppendString([]byte(`{"invalid":`), string(keep(raw))), '}')
}

func toolResult(raw []byte) firn.Part {
	var p firn.ToolResult
	has := false
	members(raw, func(name string, r *rawjson.Reader) bool {
		switch name {
		case "tool_use_id":
			ok := into(&p.CallID, r)
			has = has || ok
			return ok
		case "content":
			p.Content = answer(r)
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

// answer reads what a tool answered. An object is not what the API has there;
// it is kept as an opaque part.
func answer(r *rawjson.Reader) []firn.Part {
	raw := r.Raw()
	inner := rawjson.New(raw)
	parts, ok := content(&inner, false)
	if !ok {
		return []firn.Part{firn.OpaquePart{Type: kindOf(raw), Raw: keep(raw)}}
	}
	return slices.Clip(parts)
}
