package native

import (
	"encoding/json"

	"firn.dev"
)

// parts reads the content of a message: a string, which is one text, or an array of parts.
// It uses room while there is capacity. It returns false and consumes nothing if the
// content is neither.
func (d *decoder) parts(field *[]firn.Part, room []firn.Part) bool {
	if s, ok := d.r.Text(); ok {
		*field = append(room, firn.Text{Text: s})
		return true
	}
	if !d.r.Array() {
		return false
	}
	for d.r.Element() {
		room = append(room, d.part())
	}
	*field = room
	if len(room) == 0 {
		*field = nil
	}
	return true
}

// part reads one part. An unknown or invalid part is opaque.
func (d *decoder) part() firn.Part {
	here := d.r
	kind := d.r.Lookahead("type")
	var part firn.Part
	switch kind {
	case "text":
		part = d.text()
	case "thinking":
		part = d.thinking()
	case "toolCall":
		part = d.toolCall()
	case "image":
		part = d.image()
	}
	if part != nil || d.r.Err() != nil {
		return part
	}
	d.r = here
	return firn.OpaquePart{Type: kind, Raw: d.raw()}
}

// Each of these methods reads the part it is named after. It returns nil if the essential
// member of the part is missing.

func (d *decoder) text() firn.Part {
	var p firn.Text
	has := false
	for d.r.Object(); d.r.Member(); {
		ok := false
		switch string(d.r.Key()) {
		case "text":
			ok = text(&d.r, &p.Text)
			has = has || ok
		case "textSignature":
			ok = text(&d.r, &p.Signature)
		}
		d.orCarry(ok, &p.Extra)
	}
	if !has {
		return nil
	}
	return p
}

func (d *decoder) thinking() firn.Part {
	var p firn.Thinking
	has := false
	for d.r.Object(); d.r.Member(); {
		ok := false
		switch string(d.r.Key()) {
		case "thinking":
			ok = text(&d.r, &p.Text)
			has = has || ok
		case "thinkingSignature":
			ok = text(&d.r, &p.Signature)
		case "redacted":
			ok = boolean(&d.r, &p.Redacted)
		}
		d.orCarry(ok, &p.Extra)
	}
	if !has {
		return nil
	}
	return p
}

func (d *decoder) toolCall() firn.Part {
	var p firn.ToolCall
	hasID, hasName := false, false
	for d.r.Object(); d.r.Member(); {
		ok := false
		switch string(d.r.Key()) {
		case "id":
			ok = text(&d.r, &p.ID)
			hasID = hasID || ok
		case "name":
			ok = text(&d.r, &p.Name)
			hasName = hasName || ok
		case "arguments":
			p.Arguments = d.raw()
			ok = true
		case "thoughtSignature":
			ok = text(&d.r, &p.Signature)
		}
		d.orCarry(ok, &p.Extra)
	}
	if !hasID || !hasName {
		return nil
	}
	if p.Arguments == nil {
		p.Arguments = json.RawMessage("{}") // as it will be written
	}
	return p
}

func (d *decoder) image() firn.Part {
	var p firn.Image
	has := false
	for d.r.Object(); d.r.Member(); {
		ok := false
		switch string(d.r.Key()) {
		case "data":
			ok = text(&d.r, &p.Data)
			has = has || ok
		case "mimeType":
			ok = text(&d.r, &p.MimeType)
		}
		d.orCarry(ok, &p.Extra)
	}
	if !has {
		return nil
	}
	return p
}

// orCarry carries a member of a part that was not read, except for its type.
func (d *decoder) orCarry(read bool, extra *firn.Fields) {
	switch {
	case read:
	case string(d.r.Key()) == "type":
		d.r.Skip()
	default:
		d.carry(extra)
	}
}
