package store

import (
	"encoding/json"

	"firn.dev"
)

// Names are what people call a session: its title and its tags.
type Names struct {
	Title       string      `json:"title,omitempty"`
	TitleSource firn.Source `json:"titleSource,omitempty"`
	Tags        []string    `json:"tags,omitempty"`
}

// See applies the next entry of the session.
func (n *Names) See(e firn.Entry) {
	switch b := e.Body.(type) {
	case *firn.Title:
		if b.Beats(firn.Title{Name: n.Title, Source: n.TitleSource}) {
			n.Title, n.TitleSource = b.Name, b.Source
		}
	case *firn.Custom:
		if tags, ok := TagsOf(b); ok {
			n.Tags = tags
		} else if c, ok := CheckpointOf(b); ok {
			*n = c.Names
		}
	}
}

// NamesOf returns the names that an entry with counts carries, also if they are no
// complete [Checkpoint]. Purging looks there for what must go.
func NamesOf(c *firn.Custom) (Names, bool) {
	if c.Type != firn.CountersType {
		return Names{}, false
	}
	var data struct {
		Names *Names `json:"names"`
	}
	if json.Unmarshal(c.Data, &data) != nil || data.Names == nil {
		return Names{}, false
	}
	return *data.Names, true
}
