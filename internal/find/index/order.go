package index

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// The fields that sessions can be ordered by.
const (
	ByUpdated = "updated"
	ByCreated = "created"
	ByTitle   = "title"
	ByTurns   = "turns"
	BySize    = "size"
	ByCost    = "cost"
)

// The groups of a list.
const (
	GroupProject = "project"
	GroupSource  = "source"
	GroupDay     = "day"
)

// Order is an order of sessions: by group, then by a field, then by ID.
type Order struct {
	// By is the field, ByUpdated if empty. Ascending reverses it: by default the latest,
	// largest or most expensive is first.
	By        string
	Ascending bool
	// Group is project, source or day; empty means that there are no groups. Days are those
	// of the latest entry in Zone.
	Group string
	Zone  *time.Location
}

// Check returns ErrInvalid for an unknown field or group.
func (o *Order) Check() error {
	if o.By != "" && !slices.Contains([]string{ByUpdated, ByCreated, ByTitle, ByTurns, BySize, ByCost}, o.By) {
		return fmt.Errorf("%w sort field %.40q", firn.ErrInvalid, o.By)
	}
	if o.Group != "" && !slices.Contains([]string{GroupProject, GroupSource, GroupDay}, o.Group) {
		return fmt.Errorf("%w group %.40q", firn.ErrInvalid, o.Group)
	}
	return nil
}

// IsDefault reports whether the order is that of [store.CompareInfos].
func (o *Order) IsDefault() bool {
	return (o.By == "" || o.By == ByUpdated) && !o.Ascending && o.Group == ""
}

// GroupOf returns the group of a session: its directory, its source or the tool that it was
// imported from, or its day.
func (o *Order) GroupOf(info *store.Info) string {
	switch o.Group {
	case GroupProject:
		return info.Directory()
	case GroupSource:
		return cmp.Or(info.Source, info.Imported, store.OwnSource)
	case GroupDay:
		return info.Updated.In(cmp.Or(o.Zone, time.UTC)).Format(time.DateOnly)
	}
	return ""
}

// place is the position of a session in an order. Text and Number hold the value of the
// field.
type place struct {
	Group  string  `json:"g,omitempty"`
	Text   string  `json:"t,omitempty"`
	Number int64   `json:"n,omitempty"`
	ID     firn.ID `json:"i"`
}

// costUnits is the resolution of costs in an order.
const costUnits = 1e6

func (o *Order) placeOf(info *store.Info) place {
	p := place{Group: o.GroupOf(info), ID: info.ID}
	switch o.By {
	case ByCreated:
		p.Number = info.Created.UnixNano()
	case ByTitle:
		p.Text = strings.ToLower(cmp.Or(info.Title, info.Prompt))
	case ByTurns:
		p.Number = int64(info.Counts.Turns)
	case BySize:
		p.Number = info.Bytes
	case ByCost:
		p.Number = int64(info.Counts.Cost * costUnits)
	default:
		p.Number = info.Updated.UnixNano()
	}
	return p
}

// compare orders places. The latest day is first, a group without name last.
func (o *Order) compare(a, b place) int {
	group := cmp.Compare(a.Group, b.Group)
	switch {
	case o.Group == GroupDay:
		group = -group
	case group != 0 && (a.Group == "" || b.Group == ""):
		group = -group
	}
	value := cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.Number, b.Number))
	if !o.Ascending {
		value = -value
	}
	return cmp.Or(group, value, cmp.Compare(a.ID, b.ID))
}

func (p place) cursor() string {
	b, err := json.Marshal(p)
	if err != nil { // a title is valid text
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func parsePlace(cursor string) (p place, err error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.ID.Check() != nil {
		return p, fmt.Errorf("%w cursor %.200q", firn.ErrInvalid, cursor)
	}
	return p, nil
}

// Ordered is a page of a list in an order. Next is the cursor of the next page, empty on the
// last one.
type Ordered struct {
	Infos []store.Info
	Next  string
	Total int
}

// PageInOrder returns the page after a cursor of a list in an order.
func PageInOrder(infos []store.Info, order Order, cursor string, limit int) (Ordered, error) {
	l := rowList{order: order}
	for i := range infos {
		l.rows = append(l.rows, &row{info: infos[i]})
	}
	l.sort()
	return pageOfRows(l.rows, order, cursor, limit)
}

// Ordered returns the matching sessions after a cursor in an order, at most as many as the
// query's limit, according to the catalog. The first page sorts the rows in memory; the
// following ones use the same list, updated by the rows that have changed.
func (c *Catalogue) Ordered(ctx context.Context, q store.Query, order Order, cursor string) (Ordered, error) {
	if err := c.checkOpen(ctx); err != nil {
		return Ordered{}, err
	}
	limit := q.Limit
	q.Limit = 0
	page, err := c.orderedFromFile(ctx, q, order, cursor, limit)
	if err == nil || isFatal(ctx, err) || errors.Is(err, firn.ErrInvalid) {
		return page, err
	}
	s, err := c.refresh(ctx, nil)
	if err != nil {
		return Ordered{}, fmt.Errorf("list sessions: %w", err)
	}
	return PageInOrder(selectRows(s.rows, q), order, cursor, limit)
}

func (c *Catalogue) orderedFromFile(ctx context.Context, q store.Query, order Order, cursor string, limit int) (Ordered, error) {
	b, err := c.openCurrent(ctx)
	if err != nil {
		return Ordered{}, err
	}
	defer b.close()
	return c.table.page(b, q, order, cursor, limit)
}

func selectRows(rows map[firn.ID]*row, q store.Query) []store.Info {
	var infos []store.Info
	for _, r := range rows {
		if q.Matches(r.info) {
			infos = append(infos, r.info)
		}
	}
	return infos
}
