// Package redact replaces secrets in entries before they are stored.
//
// [Wrap] is the one place: a store above all others, through which the gateway, the agents
// and the commands append. Secrets are found by package mask. What is replaced is counted in
// the entry, so it is never done silently.
package redact

import (
	"encoding/json"
	"slices"
	"strconv"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/find/mask"
)

// Field is the extra field of an entry with the number of secrets that were replaced in it.
const Field = "masked"

// ownFields are extra fields that firn reads again. They contain no text of a conversation,
// and some would be taken for secrets, such as the token's ID in an asker.
var ownFields = map[string]bool{
	"accepted": true, "agent": true, "approve": true, "asker": true, "by": true, "chain": true, "chat": true, "cleaned": true, "clientTools": true,
	"collected": true, "delegated": true, "directory": true, "fallback": true, "late": true, "request": true, "sender": true, "sync": true, Field: true,
	"type": true, "id": true, "parentId": true, "timestamp": true,
}

// ownTypes are firn's own custom entries that contain text, with the members that do. A dot
// separates nested members. Other entries of firn contain IDs, numbers and names.
var ownTypes = map[string][]string{
	"firn.queued":            {"text"},
	"firn.spawned":           {"task", "label"},
	"firn.approval.asked":    {"arguments", "diff", "rule"},
	"firn.approval.answered": {"reason", "rule"},
	"firn.counters":          {"names.title"},
}

// Entry returns the entry with [mask.Mark] in place of secrets, and their number. The entry
// given is not changed. Pieces of an answer that is being streamed lose their text even if
// no secret is found, because a secret may be split between two of them.
func Entry(e firn.Entry) (firn.Entry, int) {
	r := &redactor{}
	body := r.body(e.Body)
	extra := r.fields(e.Extra)
	if _, ok := body.(*firn.Custom); ok && body != e.Body && r.places == 0 { // a piece of an answer
		e.Body = body
		return e, 0
	}
	if r.places == 0 {
		return e, 0
	}
	total := r.places
	if n, err := strconv.Atoi(string(extra.Get(Field))); err == nil && n > 0 {
		total += n
	}
	extra = slices.DeleteFunc(slices.Clone(extra), func(f firn.Field) bool { return f.Name == Field })
	e.Body, e.Extra = body, append(extra, firn.Field{Name: Field, Value: json.RawMessage(strconv.Itoa(total))})
	return e, r.places
}

// redactor replaces and counts the secrets of one entry.
type redactor struct{ places int }

// body returns a copy of a body without secrets.
func (r *redactor) body(body firn.Body) firn.Body {
	switch b := body.(type) {
	case *firn.Message:
		c := *b
		c.Parts, c.Error, c.Extra = r.parts(b.Parts), r.text(b.Error), r.fields(b.Extra)
		return &c
	case *firn.CustomMessage:
		c := *b
		c.Parts, c.Details = r.parts(b.Parts), r.json(b.Details)
		return &c
	case *firn.Compaction:
		c := *b
		c.Summary, c.Details = r.text(b.Summary), r.json(b.Details)
		return &c
	case *firn.BranchSummary:
		c := *b
		c.Summary, c.Details = r.text(b.Summary), r.json(b.Details)
		return &c
	case *firn.Custom:
		return r.custom(b)
	case *firn.Opaque:
		if b.Type == firn.KindErased {
			return b
		}
		return &firn.Opaque{Type: b.Type, Raw: r.members(b.Raw, func(name string) bool { return !ownFields[name] })}
	}
	return r.short(body)
}

// short returns a copy of a body with one text.
func (r *redactor) short(body firn.Body) firn.Body {
	switch b := body.(type) {
	case *firn.Title:
		return &firn.Title{Name: r.text(b.Name), Source: b.Source}
	case *firn.Label:
		return &firn.Label{Target: b.Target, Name: r.text(b.Name)}
	case *firn.Tombstone:
		return &firn.Tombstone{Target: b.Target, Reason: r.text(b.Reason)}
	case *firn.Head:
		return &firn.Head{Reason: r.text(b.Reason)}
	}
	return body
}

// custom returns a copy of a custom entry. Of firn's own entries only the members with text
// are searched.
func (r *redactor) custom(b *firn.Custom) firn.Body {
	switch paths, own := ownTypes[b.Type]; {
	case b.Type == firn.DraftType:
		return &firn.Custom{Type: b.Type, Data: withoutText(b.Data)}
	case own:
		data := b.Data
		for _, path := range paths {
			data = r.member(data, path)
		}
		return &firn.Custom{Type: b.Type, Data: data}
	case len(b.Type) > 5 && b.Type[:5] == "firn.":
		return b
	}
	return &firn.Custom{Type: b.Type, Data: r.json(b.Data)}
}

// parts returns copies of the parts of a message.
func (r *redactor) parts(parts []firn.Part) []firn.Part {
	out := slices.Clone(parts)
	for i, part := range out {
		out[i] = r.part(part)
	}
	return out
}

func (r *redactor) part(part firn.Part) firn.Part {
	switch p := part.(type) {
	case firn.Text:
		p.Text, p.Extra = r.text(p.Text), r.fields(p.Extra)
		return p
	case firn.Image:
		p.Extra = r.fields(p.Extra)
		return p
	case firn.Thinking:
		before := r.places
		p.Text, p.Extra = r.text(p.Text), r.fields(p.Extra)
		if r.places > before {
			p.Signature = "" // it would not fit the text
		}
		return p
	case firn.ToolCall:
		p.Arguments, p.Extra = r.json(p.Arguments), r.fields(p.Extra)
		return p
	case firn.ToolResult:
		p.Content, p.Details = r.parts(p.Content), r.json(p.Details)
		return p
	case firn.Shell:
		p.Command, p.Output = r.text(p.Command), r.text(p.Output)
		return p
	case firn.OpaquePart:
		p.Raw = r.json(p.Raw)
		return p
	}
	return part
}

// text returns a text without secrets.
func (r *redactor) text(text string) string {
	if text == "" {
		return ""
	}
	out, places := mask.JSON(rawjson.AppendString(nil, text))
	reader := rawjson.New(out)
	masked, ok := reader.Text()
	if places == 0 || !ok {
		return text
	}
	r.places += places
	return masked
}

// json returns a JSON value without secrets.
func (r *redactor) json(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return data
	}
	out, places := mask.JSON(data)
	if places == 0 {
		return data
	}
	r.places += places
	return out
}

// fields returns extra fields without secrets.
func (r *redactor) fields(fields firn.Fields) firn.Fields {
	out := slices.Clone(fields)
	for i, f := range out {
		if !ownFields[f.Name] {
			out[i].Value = r.named(f.Name, f.Value)
		}
	}
	return out
}

// named returns the value of a member without secrets. The name may make it one.
func (r *redactor) named(name string, value json.RawMessage) json.RawMessage {
	object := append(rawjson.AppendString([]byte{'{'}, name), ':')
	out, places := mask.JSON(append(append(object, value...), '}'))
	reader := rawjson.New(out)
	if places == 0 || !reader.Object() || !reader.Member() {
		return value
	}
	masked := slices.Clone(reader.Raw())
	r.places += places
	return masked
}
