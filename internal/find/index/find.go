package index

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/store"
)

// minPrefix is the minimum length of an ID prefix.
const minPrefix = 4

// Find returns the sessions with a name: the session with that ID; or else those with that
// title or key; or else those whose ID has it as a prefix of at least four characters. It
// includes archived and hidden sessions. Several results, in list order, mean that the name
// is ambiguous. It returns ErrNotFound if there are none. It examines all sessions.
//
// A key matches every session that was created for it. Use [store.Keyed] to find the
// session it points to now.
func (c *Catalogue) Find(ctx context.Context, name string) ([]store.Info, error) {
	if err := c.checkOpen(ctx); err != nil {
		return nil, err
	}
	if id := firn.ID(name); id.Check() == nil {
		r, err := c.currentRow(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("find session %s: %w", id, err)
		}
		if r != nil {
			return []store.Info{r.info}, nil
		}
	}
	s, err := c.refresh(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("find session %.200q: %w", name, err)
	}
	if s.writeErr != nil {
		c.report("updating the catalog failed: %v", s.writeErr)
	}
	infos := find(s.rows, name)
	if len(infos) == 0 {
		return nil, fmt.Errorf("find session %.200q: %w", name, firn.ErrNotFound)
	}
	return infos, nil
}

// find selects the rows that match a name.
func find(rows map[firn.ID]*row, name string) []store.Info {
	var named, begun []store.Info
	for _, r := range rows {
		switch {
		case name != "" && (r.info.Title == name || r.info.Key == name):
			named = append(named, r.info)
		case len(name) >= minPrefix && strings.HasPrefix(string(r.info.ID), name):
			begun = append(begun, r.info)
		}
	}
	if len(named) == 0 {
		named = begun
	}
	store.SortByUpdate(named)
	return slices.Clip(named)
}
