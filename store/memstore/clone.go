package memstore

import (
	"slices"

	"firn.dev"
)

// clone returns a deep copy of an entry, so that neither the writer nor a reader can modify
// stored data.
func clone(e firn.Entry) firn.Entry {
	e.Body, e.Extra = cloneBody(e.Body), cloneFields(e.Extra)
	return e
}

func cloneFields(in firn.Fields) firn.Fields {
	out := slices.Clone(in)
	for i := range out {
		out[i].Value = slices.Clone(out[i].Value)
	}
	return out
}

func cloneBody(b firn.Body) firn.Body {
	switch b := b.(type) {
	case *firn.Header:
		return new(*b)
	case *firn.Message:
		m := *b
		m.Parts, m.Extra = cloneParts(m.Parts), cloneFields(m.Extra)
		if m.Usage != nil {
			m.Usage = new(*m.Usage)
			m.Usage.Extra = cloneFields(m.Usage.Extra)
		}
		return &m
	case *firn.Compaction:
		c := *b
		c.Details = slices.Clone(c.Details)
		return &c
	case *firn.BranchSummary:
		s := *b
		s.Details = slices.Clone(s.Details)
		return &s
	case *firn.Tombstone:
		return new(*b)
	case *firn.Label:
		return new(*b)
	case *firn.Title:
		return new(*b)
	case *firn.ModelChange:
		return new(*b)
	case *firn.ThinkingChange:
		return new(*b)
	case *firn.Custom:
		return &firn.Custom{Type: b.Type, Data: slices.Clone(b.Data)}
	case *firn.CustomMessage:
		m := *b
		m.Parts, m.Details = cloneParts(m.Parts), slices.Clone(m.Details)
		return &m
	case *firn.Head:
		return new(*b)
	case *firn.Opaque:
		return &firn.Opaque{Type: b.Type, Raw: slices.Clone(b.Raw)}
	}
	return b // unreachable: store.Prepare rejects other types
}

func cloneParts(in []firn.Part) []firn.Part {
	out := slices.Clone(in)
	for i := range out {
		out[i] = clonePart(out[i])
	}
	return out
}

func clonePart(p firn.Part) firn.Part {
	switch p := p.(type) {
	case firn.Text:
		p.Extra = cloneFields(p.Extra)
		return p
	case firn.Image:
		p.Extra = cloneFields(p.Extra)
		return p
	case firn.Thinking:
		p.Extra = cloneFields(p.Extra)
		return p
	case firn.ToolCall:
		p.Arguments, p.Extra = slices.Clone(p.Arguments), cloneFields(p.Extra)
		return p
	case firn.ToolResult:
		p.Content, p.Details = cloneParts(p.Content), slices.Clone(p.Details)
		return p
	case firn.Shell:
		if p.ExitCode != nil {
			p.ExitCode = new(*p.ExitCode)
		}
		return p
	case firn.OpaquePart:
		p.Raw = slices.Clone(p.Raw)
		return p
	}
	return p
}
