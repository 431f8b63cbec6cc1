package store

import (
	"encoding/json"

	"firn"
)

// Names are what people call a session: its title and its tags. An entry of type
// [firn.CountersType] carries those of everything before it, so that a list which
// reads only the end of a transcript knows them.
type Names struct {
	Title       string      `json:"title,omitempty"`
	TitleSource firn.Source `json:"titleSource,omitempty"`
	Tags        []string    `json:"tags,omitempty"`
}

// See takes notice of the next entry.
func (n *Names) See(e firn.Entry) {
	switch b := e.Body.(type) {
	case *firn.Title:
		if b.Beats(firn.Title{Name: n.Title, Source: n.TitleSource}) {
			n.Title, n.TitleSource = b.Name, b.Source
		}
	case *firn.Custom:
		if tags, ok := TagsOf(b); ok {
			n.Tags = tags
		} else if all, ok := NamesOf(b); ok {
			*n = all
		}
	}
}

// NamesOf returns the names that an entry carries, if it is one that does.
func NamesOf(c *firn.Custom) (Names, bool) {
	if c.Type != firn.CountersType {
		return Names{}, false
	}
	var data struct {
		Names json.RawMessage `json:"names"`
	}
	var n Names
	if json.Unmarshal(c.Data, &data) != nil || len(data.Names) == 0 || json.Unmarshal(data.Names, &n) != nil {
		return Names{}, false
	}
	n.Title, _ = firn.CleanText(n.Title)
	// Anybody can write an entry: what cannot be a tag is none here either.
	n.Tags, _ = TagsOf(&firn.Custom{Type: firn.TagsType, Data: data.Names})
	return n, true
}
