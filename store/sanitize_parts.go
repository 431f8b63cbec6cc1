package store

import (
	"encoding/json"
	"slices"

	"firn.dev"
)

// singlePart sanitizes the parts of a message whose role requires exactly one part.
func (g *sanitizer) singlePart(role firn.Role, in []firn.Part, allowed func(firn.Part) bool) []firn.Part {
	if len(in) != 1 || !allowed(in[0]) {
		g.reject("a message of role %s must have exactly one part, of that kind", role)
		return in
	}
	return g.cleanParts(in)
}

// parts sanitizes the parts of any other message.
func (g *sanitizer) parts(in []firn.Part) []firn.Part {
	for _, p := range in {
		if isToolResult(p) {
			g.reject("a tool result can only be the one part of a message of role %s", firn.RoleToolResult)
		}
		if isShell(p) {
			g.reject("a shell command can only be the one part of a message of role %s", firn.RoleShell)
		}
	}
	return g.cleanParts(in)
}

func isToolResult(p firn.Part) bool { _, ok := p.(firn.ToolResult); return ok }

func isShell(p firn.Part) bool { _, ok := p.(firn.Shell); return ok }

// cleanParts sanitizes each part. It copies the slice if one of them was changed.
func (g *sanitizer) cleanParts(in []firn.Part) []firn.Part {
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

// part sanitizes one part.
func (g *sanitizer) part(p firn.Part) firn.Part {
	before := g.edits
	switch t := p.(type) {
	case firn.Text:
		t.Text, t.Signature, t.Extra = text(g, t.Text), text(g, t.Signature), g.fields(t.Extra, textNames)
		return pickPart(g, before, p, t)
	case firn.Image:
		t.MimeType, t.Data, t.Extra = text(g, t.MimeType), text(g, t.Data), g.fields(t.Extra, imageNames)
		return pickPart(g, before, p, t)
	case firn.Thinking:
		t.Text, t.Signature, t.Extra = text(g, t.Text), text(g, t.Signature), g.fields(t.Extra, thinkingNames)
		return pickPart(g, before, p, t)
	case firn.ToolCall:
		return pickPart(g, before, p, g.toolCall(t))
	case firn.ToolResult:
		t.CallID, t.Name = text(g, t.CallID), text(g, t.Name)
		t.Details, t.Content = g.rawJSON("details", t.Details), g.parts(t.Content)
		return pickPart(g, before, p, t)
	case firn.Shell:
		t.Command, t.Output, t.FullOutput = text(g, t.Command), text(g, t.Output), text(g, t.FullOutput)
		return pickPart(g, before, p, t)
	case firn.OpaquePart:
		return pickPart(g, before, p, g.opaquePart(t))
	}
	g.reject("one of its parts is a %T", p)
	return p
}

// pickPart returns old if nothing was changed, else the cleaned copy. Converting the copy
// to an interface allocates, so that is done only if necessary.
func pickPart[T firn.Part](g *sanitizer, before int, old firn.Part, fresh T) firn.Part {
	if g.edits == before {
		return old
	}
	return fresh
}

func (g *sanitizer) toolCall(t firn.ToolCall) firn.ToolCall {
	if len(t.Arguments) == 0 {
		t.Arguments = json.RawMessage("{}")
		g.edits++
	}
	t.ID, t.Name, t.Signature = text(g, t.ID), text(g, t.Name), text(g, t.Signature)
	t.Arguments, t.Extra = g.rawJSON("arguments", t.Arguments), g.fields(t.Extra, callNames)
	return t
}

func (g *sanitizer) opaquePart(t firn.OpaquePart) firn.OpaquePart {
	if t.Raw == nil {
		g.reject("a part of type %q has no content", t.Type)
	}
	t.Type, t.Raw = text(g, t.Type), g.rawJSON("part", t.Raw)
	switch kind := kindOf(t.Raw); t.Type {
	case kind:
	case "":
		t.Type = kind
		g.edits++
	default:
		g.reject("the type of a part is %q and its content says %q", t.Type, kind)
	}
	return t
}
