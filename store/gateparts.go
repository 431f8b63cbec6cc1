package store

import (
	"encoding/json"
	"slices"

	"firn.dev"
)

// The gate for the parts of messages.

// only passes the parts of a message whose role allows exactly one part.
func (g *gate) only(role firn.Role, in []firn.Part, allowed func(firn.Part) bool) []firn.Part {
	if len(in) != 1 || !allowed(in[0]) {
		g.refuse("a message of role %s must have exactly one part, of that kind", role)
		return in
	}
	return g.each(in)
}

// parts passes the parts of any other message.
func (g *gate) parts(in []firn.Part) []firn.Part {
	for _, p := range in {
		if isToolResult(p) {
			g.refuse("a tool result can only be the one part of a message of role %s", firn.RoleToolResult)
		}
		if isShell(p) {
			g.refuse("a shell command can only be the one part of a message of role %s", firn.RoleShell)
		}
	}
	return g.each(in)
}

func isToolResult(p firn.Part) bool { _, ok := p.(firn.ToolResult); return ok }

func isShell(p firn.Part) bool { _, ok := p.(firn.Shell); return ok }

// each passes every part, and copies the slice when one of them was changed.
func (g *gate) each(in []firn.Part) []firn.Part {
	out := in
	for i, p := range in {
		before := g.edits
		p = g.part(p)
		if g.edits == before {
			continue
		}
		if &out[0] == &in[0] {
			out = slices.Clone(in)
		}
		out[i] = p
	}
	return out
}

// part passes one part.
func (g *gate) part(p firn.Part) firn.Part {
	before := g.edits
	switch t := p.(type) {
	case firn.Text:
		t.Text, t.Signature, t.Extra = text(g, t.Text), text(g, t.Signature), g.fields(t.Extra, textNames)
		return kept(g, before, p, t)
	case firn.Image:
		t.MimeType, t.Data, t.Extra = text(g, t.MimeType), text(g, t.Data), g.fields(t.Extra, imageNames)
		return kept(g, before, p, t)
	case firn.Thinking:
		t.Text, t.Signature, t.Extra = text(g, t.Text), text(g, t.Signature), g.fields(t.Extra, thinkingNames)
		return kept(g, before, p, t)
	case firn.ToolCall:
		return kept(g, before, p, g.toolCall(t))
	case firn.ToolResult:
		t.CallID, t.Name = text(g, t.CallID), text(g, t.Name)
		t.Details, t.Content = g.raw("details", t.Details), g.parts(t.Content)
		return kept(g, before, p, t)
	case firn.Shell:
		t.Command, t.Output, t.FullOutput = text(g, t.Command), text(g, t.Output), text(g, t.FullOutput)
		return kept(g, before, p, t)
	case firn.OpaquePart:
		return kept(g, before, p, g.opaquePart(t))
	}
	g.refuse("one of its parts is a %T", p)
	return p
}

// kept chooses between a part and its cleaned copy. Making an interface value
// of the copy costs an allocation, so it is done only if something changed.
func kept[T firn.Part](g *gate, before int, old firn.Part, fresh T) firn.Part {
	if g.edits == before {
		return old
	}
	return fresh
}

func (g *gate) toolCall(t firn.ToolCall) firn.ToolCall {
	if len(t.Arguments) == 0 {
		t.Arguments = json.RawMessage("{}")
		g.edits++
	}
	t.ID, t.Name, t.Signature = text(g, t.ID), text(g, t.Name), text(g, t.Signature)
	t.Arguments, t.Extra = g.raw("arguments", t.Arguments), g.fields(t.Extra, callNames)
	return t
}

func (g *gate) opaquePart(t firn.OpaquePart) firn.OpaquePart {
	if t.Raw == nil {
		g.refuse("a part of type %q has no content", t.Type)
	}
	t.Type, t.Raw = text(g, t.Type), g.raw("part", t.Raw)
	switch kind := kindOf(t.Raw); t.Type {
	case kind:
	case "":
		t.Type = kind
		g.edits++
	default:
		g.refuse("the type of a part is %q and its content says %q", t.Type, kind)
	}
	return t
}
