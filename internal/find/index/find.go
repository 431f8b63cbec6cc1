package index

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/store"
)

// minPrefix is how much of an id must be told to find it.
const minPrefix = 4

// Find returns the sessions that somebody may mean by a name: the one with
// that id; else those with that title or key; else those whose id begins with
// it, if it has four characters or more. Archived and hidden ones are found
// too. Several mean that the name is ambiguous, and come in the order of a
// list; none is ErrNotFound. It sees all sessions that there are.
//
// A key finds every session that was begun for it. Where it points now is for
// [store.Keyed] to know.
func (c *Catalogue) Find(ctx context.Context, name string) ([]store.Info, error) {
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	if id := firn.ID(name); id.Check() == nil {
		r, err := c.look(ctx, id)
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
	if s.unwritten != nil {
		c.report("the catalogue could not be brought up to date: %v", s.unwritten)
	}
	infos := find(s.rows, name)
	if len(infos) == 0 {
		return nil, fmt.Errorf("find session %.200q: %w", name, firn.ErrNotFound)
	}
	return infos, nil
}

// find is the deciding.
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
