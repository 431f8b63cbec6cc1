package store

import "firn.dev"

// Names are the title and the tags of a session.
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
