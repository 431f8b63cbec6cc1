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

// cleaned is the name of the extra field that marks entries whose text was changed before
// storing.
const cleaned = "cleaned"

// clean sanitizes the body and the extra fields of an entry. It copies whatever it changes
// and leaves the caller's data unmodified.
func clean(e *firn.Entry) error {
	g := sanitizer{time: e.Time}
	body, extra := g.body(e.Body), g.entryFields(e)
	for _, name := range [...]string{"id", "parentId"} {
		if extra.Get(name) != nil {
			g.reject("an extra field must not be called %q", name)
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

// sanitizer validates and cleans entries before they are stored. Its methods take a part of
// an entry and return a valid version of it: the same value if nothing needs to change.
type sanitizer struct {
	// time is the entry's time, the default for a message without one.
	time time.Time
	// edits counts the changes so far. Callers compare it before and after a call to decide
	// whether to copy.
	edits int
	// cleaned is set if text was changed, not only filled in.
	cleaned bool
	// err is the first error: a value that cannot be stored.
	err error
}

func (g *sanitizer) reject(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format+": %w", append(args, firn.ErrInvalid)...)
	}
}

// text cleans a string of any type.
func text[S ~string](g *sanitizer, s S) S {
	c, changed := firn.CleanText(string(s))
	if changed {
		g.edits++
		g.cleaned = true
	}
	return S(c)
}

// maxDepth limits the nesting of JSON values, so that the line that contains them can be
// parsed.
const maxDepth = rawjson.MaxDepth - 12

// rawJSON validates and cleans a JSON value; nil is allowed.
func (g *sanitizer) rawJSON(what string, raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	r := rawjson.New(raw)
	r.Skip()
	if err := r.End(); err != nil {
		g.reject("its %s is not valid JSON (%v)", what, err)
		return raw
	}
	if depth(raw) > maxDepth {
		g.reject("its %s is nested more than %d deep", what, maxDepth)
	}
	c, changed := rawjson.Clean(raw)
	if changed {
		g.edits++
		g.cleaned = true
	}
	return c
}

// depth returns the nesting depth of valid JSON. It returns 0 without counting if there are
// too few brackets to exceed maxDepth.
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

// entryFields sanitizes the extra fields of an entry. Those of an opaque entry are merged
// into its line, where they replace members of the same name.
func (g *sanitizer) entryFields(e *firn.Entry) firn.Fields {
	switch b := e.Body.(type) {
	case *firn.Opaque:
		return g.fields(e.Extra)
	case *firn.Compaction:
		if b.FirstKept != "" && e.Extra.Get("firstKeptEntryId") != nil {
			g.reject("an extra field must not be called %q when there is such an entry", "firstKeptEntryId")
		}
	}
	return g.fields(e.Extra, entryNames, bodyNames[e.Body.Kind()])
}

// fields sanitizes extra fields. It rejects names of members that have a field of their
// own.
func (g *sanitizer) fields(in firn.Fields, own ...memberNames) firn.Fields {
	out := in
	for i, f := range in {
		before := g.edits
		if f.Value == nil {
			g.reject("its extra field %q has no value", f.Name)
		}
		if f.Name == "type" || f.Name == "role" { // they determine how a line is parsed
			g.reject("an extra field must not be called %q", f.Name)
		}
		f = firn.Field{Name: text(g, f.Name), Value: g.rawJSON("extra field", f.Value)}
		for _, n := range own {
			if n.matches(f) {
				g.reject("an extra field must not be called %q, which is a field already", f.Name)
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

// body sanitizes the body of an entry.
func (g *sanitizer) body(b firn.Body) firn.Body {
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
		return pickBody(g, b, firn.Tombstone{Target: b.Target, Reason: text(g, b.Reason)})
	case *firn.Label:
		return pickBody(g, b, firn.Label{Target: b.Target, Name: text(g, b.Name)})
	case *firn.Title:
		return pickBody(g, b, firn.Title{Name: text(g, b.Name), Source: text(g, b.Source)})
	case *firn.ModelChange:
		return pickBody(g, b, firn.ModelChange{Provider: text(g, b.Provider), Model: text(g, b.Model)})
	case *firn.ThinkingChange:
		return pickBody(g, b, firn.ThinkingChange{Level: text(g, b.Level)})
	case *firn.Custom:
		return pickBody(g, b, firn.Custom{Type: text(g, b.Type), Data: g.rawJSON("data", b.Data)})
	case *firn.CustomMessage:
		return g.customMessage(b)
	case *firn.Head:
		return pickBody(g, b, firn.Head{Reason: text(g, b.Reason)})
	case *firn.Opaque:
		return g.opaque(b)
	}
	g.reject("its body is a %T", b)
	return b
}

// pickBody returns old if nothing was changed, else the cleaned copy. The copy is moved to
// the heap only in the second case, which is rare.
func pickBody[T any, P interface {
	*T
	firn.Body
}](g *sanitizer, old P, fresh T) firn.Body {
	if g.edits == 0 {
		return old
	}
	return P(new(fresh))
}

func (g *sanitizer) header(b *firn.Header) firn.Body {
	h := *b
	h.CWD, h.ParentSession = text(g, h.CWD), text(g, h.ParentSession)
	h.Agent, h.Key = text(g, h.Agent), text(g, h.Key)
	return pickBody(g, b, h)
}

func (g *sanitizer) compaction(b *firn.Compaction) firn.Body {
	c := *b
	c.Summary, c.Details = text(g, c.Summary), g.rawJSON("details", c.Details)
	return pickBody(g, b, c)
}

func (g *sanitizer) branchSummary(b *firn.BranchSummary) firn.Body {
	s := *b
	s.From, s.Summary, s.Details = text(g, s.From), text(g, s.Summary), g.rawJSON("details", s.Details)
	return pickBody(g, b, s)
}

func (g *sanitizer) customMessage(b *firn.CustomMessage) firn.Body {
	m := *b
	m.Type, m.Details = text(g, m.Type), g.rawJSON("details", m.Details)
	m.Parts = g.parts(m.Parts)
	return pickBody(g, b, m)
}

func (g *sanitizer) opaque(b *firn.Opaque) firn.Body {
	o := *b
	o.Type, o.Raw = text(g, o.Type), g.rawJSON("line", o.Raw)
	return pickBody(g, b, o)
}

func (g *sanitizer) message(b *firn.Message) firn.Body {
	m := *b
	if m.Role == "" {
		g.reject("its message has no role")
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
		m.Parts = g.singlePart(m.Role, m.Parts, isToolResult)
	case firn.RoleShell:
		m.Parts = g.singlePart(m.Role, m.Parts, isShell)
	default:
		m.Parts = g.parts(m.Parts)
	}
	return pickBody(g, b, m)
}

func (g *sanitizer) messageFields(m *firn.Message) firn.Fields {
	own, ok := roleNames[m.Role]
	if !ok {
		own = plainNames
	}
	return g.fields(m.Extra, messageNames, own)
}

func (g *sanitizer) usage(u *firn.Usage) *firn.Usage {
	if u == nil {
		return nil
	}
	for _, c := range [...]float64{u.Cost.Input, u.Cost.Output, u.Cost.CacheRead, u.Cost.CacheWrite, u.Cost.Total} {
		if math.IsNaN(c) || math.IsInf(c, 0) {
			g.reject("its cost is not a number")
		}
	}
	before := g.edits
	extra := g.fields(u.Extra, usageNames)
	g.checkCost(u)
	if g.edits == before {
		return u
	}
	c := *u
	c.Extra = extra
	return &c
}
