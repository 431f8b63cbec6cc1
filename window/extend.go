package window

import (
	"slices"

	"firn.dev"
)

// Extend returns the path as it is when entries were appended behind its head,
// up to the position end, without reading anything: what Collect would find,
// but for spelling that the store mends. It is false if the entries do more than
// add to the path, such as to compact, to hide or to move the head; then it
// must be collected again.
func (p Path) Extend(end firn.Pos, entries ...firn.Entry) (Path, bool) {
	for i := range entries {
		if !extends(&entries[i]) {
			return p, false
		}
	}
	if len(entries) == 0 {
		p.End = end
		return p, true
	}
	n := len(p.Entries)
	p.Entries = append(slices.Clip(p.Entries), entries...)
	for i := n; i < len(p.Entries); i++ {
		if p.Entries[i].Parent == "" {
			p.Entries[i].Parent = p.Head
		}
		p.Head = p.Entries[i].ID
	}
	p.State = older(settle(entries, true), p.State)
	p.End = end
	return p, true
}

// extends reports whether an entry does nothing but add to the path.
func extends(e *firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Message, *firn.Title, *firn.Label, *firn.CustomMessage:
		return e.ID != ""
	case *firn.Custom:
		switch b.Type {
		case firn.VerboseType, firn.SendType, firn.AuthType, firn.DefaultType:
			return false
		}
		return e.ID != ""
	}
	return false
}
