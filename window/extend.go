package window

import (
	"slices"

	"firn.dev"
)

// Extend returns the path after entries were appended after its head, up to the position
// end, without reading the log. The result equals that of Collect, except for encodings
// that the store repairs. It returns false if the entries do more than extend the path,
// such as compacting, hiding or moving the head; the path must then be collected again.
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
	p.State = mergeState(resolveState(entries, true), p.State)
	p.End = end
	return p, true
}

// extends reports whether an entry only extends the path.
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
