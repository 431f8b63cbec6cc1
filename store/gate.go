package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// cleaned is the name of the extra field of entries whose text was changed
// when it was stored.
const cleaned = "cleaned"

// clean puts the body and the extra fields of an entry through the gate. It
// copies what it must change and leaves the caller's alone.
func clean(e *firn.Entry) error {
	g := gate{time: e.Time}
	body, extra := g.body(e.Body), g.entryFields(e)
	for _, name := range [...]string{"id", "parentId"} {
		if extra.Get(name) != nil {
			g.refuse("an extra field must not be called %q", name)
		}
	}
	if g.err != nil {
		return g.err
	}
	if g.cleaned && extra.Get(cleaned) == nil {
		extra = append(slices.Clip(extra), firn.Field{Name: cleaned, Value: json.RawMessage("true")})
	}
	e.Body, e.Extra = body, extra
	return nil
}

// gate is what all text passes on its way into a log. Its methods take a piece
// of an entry and return it fit to be stored: the same piece if it was.
type gate struct {
	// time is the entry's, for a message that has none.
	time time.Time
	// edits counts the changes so far: whoever holds a piece compares the
	// number before and after to know whether it must be copied.
	edits int
	// cleaned says that text was changed, not only filled in.
	cleaned bool
	// err is the first thing that cannot be stored at all.
	err error
}

func (g *gate) refuse(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format+": %w", append(args, firn.ErrInvalid)...)
	}
}

// text cleans a string of any type.
func text[S ~string](g *gate, s S) S {
	c, changed := firn.CleanText(string(s))
	if changed {
		g.edits++
		g.cleaned = true
	}
	return S(c)
}

// maxDepth bounds how deep a piece of JSON may be nested, so that the line it
// becomes part of can be read again.
const maxDepth = rawjson.MaxDepth - 12

// raw cleans a piece of JSON that may be missing.
func (g *gate) raw(what string, raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	r := rawjson.New(raw)
	r.Skip()
	if err := r.End(); err != nil {
		g.refuse("its %s is not valid JSON (%v)", what, err)
		return raw
	}
	if depth(raw) > maxDepth {
		g.refuse("its %s is nested more than %d deep", what, maxDepth)
	}
	c, changed := rawjson.Clean(raw)
	if changed {
		g.edits++
		g.cleaned = true
	}
	return c
}

// depth tells how deep valid JSON is nested. It counts only if there are
// enough brackets for the answer to matter.
func depth(raw []byte) int {
	if bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= maxDepth {
		return 0
	}
	deepest, depth, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// entryFields passes the extra fields of an entry. Those of an opaque one become
// part of its line, where they replace what they name.
func (g *gate) entryFields(e *firn.Entry) firn.Fields {
	switch b := e.Body.(type) {
	case *firn.Opaque:
		return g.fields(e.Extra)
	case *firn.Compaction:
		if b.FirstKept != "" && e.Extra.Get("firstKeptEntryId") != nil {
			g.refuse("an extra field must not be called %q when there is such an entry", "firstKeptEntryId")
		}
	}
	return g.fields(e.Extra, entryNames, bodyNames[e.Body.Kind()])
}

// fields passes extra fields. They must not pass for one of the members that
// have a field of their own.
func (g *gate) fields(in firn.Fields, own ...names) firn.Fields {
	out := in
	for i, f := range in {
		before := g.edits
		if f.Value == nil {
			g.refuse("its extra field %q has no value", f.Name)
		}
		if f.Name == "type" || f.Name == "role" { // they decide how a line is read
			g.refuse("an extra field must not be called %q", f.Name)
		}
		f = firn.Field{Name: text(g, f.Name), Value: g.raw("extra field", f.Value)}
		for _, n := range own {
			if n.claims(f) {
				g.refuse("an extra field must not be called %q, which has a field of its own", f.Name)
			}
		}
		if g.edits == before {
			continue
		}
		if &out[0] == &in[0] {
			out = slices.Clone(in)
		}
		out[i] = f
	}
	return out
}

// body passes what an entry says.
func (g *gate) body(b firn.Body) firn.Body {
	switch b := b.(type) {
	case *firn.Header:
		return g.header(b)
	case *firn.Message:
		return g.message(b)
	case *firn.Compaction:
		return g.compaction(b)
	case *firn.BranchSummary:
		return g.branchSummary(b)
	case *firn.Tombstone:
		return edited(g, b, firn.Tombstone{Target: b.Target, Reason: text(g, b.Reason)})
	case *firn.Label:
		return edited(g, b, firn.Label{Target: b.Target, Name: text(g, b.Name)})
	case *firn.Title:
		return edited(g, b, firn.Title{Name: text(g, b.Name), Source: text(g, b.Source)})
	case *firn.ModelChange:
		return edited(g, b, firn.ModelChange{Provider: text(g, b.Provider), Model: text(g, b.Model)})
	case *firn.ThinkingChange:
		return edited(g, b, firn.ThinkingChange{Level: text(g, b.Level)})
	case *firn.Custom:
		return edited(g, b, firn.Custom{Type: text(g, b.Type), Data: g.raw("data", b.Data)})
	case *firn.CustomMessage:
		return g.customMessage(b)
	case *firn.Head:
		return edited(g, b, firn.Head{Reason: text(g, b.Reason)})
	case *firn.Opaque:
		return g.opaque(b)
	}
	g.refuse("its body is a %T", b)
	return b
}

// edited chooses between a body and its cleaned copy. The copy goes to the
// heap only if it is needed, which it seldom is.
func edited[T any, P interface {
	*T
	firn.Body
}](g *gate, old P, fresh T) firn.Body {
	if g.edits == 0 {
		return old
	}
	return P(new(fresh))
}

func (g *gate) header(b *firn.Header) firn.Body {
	h := *b
	h.CWD, h.ParentSession = text(g, h.CWD), text(g, h.ParentSession)
	h.Agent, h.Key = text(g, h.Agent), text(g, h.Key)
	return edited(g, b, h)
}

func (g *gate) compaction(b *firn.Compaction) firn.Body {
	c := *b
	c.Summary, c.Details = text(g, c.Summary), g.raw("details", c.Details)
	return edited(g, b, c)
}

func (g *gate) branchSummary(b *firn.BranchSummary) firn.Body {
	s := *b
	s.From, s.Summary, s.Details = text(g, s.From), text(g, s.Summary), g.raw("details", s.Details)
	return edited(g, b, s)
}

func (g *gate) customMessage(b *firn.CustomMessage) firn.Body {
	m := *b
	m.Type, m.Details = text(g, m.Type), g.raw("details", m.Details)
	m.Parts = g.parts(m.Parts)
	return edited(g, b, m)
}

func (g *gate) opaque(b *firn.Opaque) firn.Body {
	o := *b
	o.Type, o.Raw = text(g, o.Type), g.raw("line", o.Raw)
	return edited(g, b, o)
}

func (g *gate) message(b *firn.Message) firn.Body {
	m := *b
	if m.Role == "" {
		g.refuse("its message has no role")
	}
	if m.Time.IsZero() {
		m.Time = g.time
	}
	if m.Time = stamp(m.Time); m.Time != b.Time {
		g.edits++
	}
	m.Role, m.StopReason = text(g, m.Role), text(g, m.StopReason)
	m.API, m.Provider, m.Model = text(g, m.API), text(g, m.Provider), text(g, m.Model)
	m.Error, m.Extra = text(g, m.Error), g.messageFields(&m)
	m.Usage = g.usage(m.Usage)
	switch m.Role {
	case firn.RoleToolResult:
		m.Parts = g.only(m.Role, m.Parts, isToolResult)
	case firn.RoleShell:
		m.Parts = g.only(m.Role, m.Parts, isShell)
	default:
		m.Parts = g.parts(m.Parts)
	}
	return edited(g, b, m)
}

func (g *gate) messageFields(m *firn.Message) firn.Fields {
	own, ok := roleNames[m.Role]
	if !ok {
		own = plainNames
	}
	return g.fields(m.Extra, messageNames, own)
}

func (g *gate) usage(u *firn.Usage) *firn.Usage {
	if u == nil {
		return nil
	}
	for _, c := range [...]float64{u.Cost.Input, u.Cost.Output, u.Cost.CacheRead, u.Cost.CacheWrite, u.Cost.Total} {
		if math.IsNaN(c) || math.IsInf(c, 0) {
			g.refuse("its cost is not a number")
		}
	}
	before := g.edits
	extra := g.fields(u.Extra, usageNames)
	g.cost(u)
	if g.edits == before {
		return u
	}
	c := *u
	c.Extra = extra
	return &c
}
