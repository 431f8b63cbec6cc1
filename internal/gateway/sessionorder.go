package gateway

import (
	"context"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/internal/find/index"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// orderer is a store that lists sessions in any order.
type orderer interface {
	Ordered(ctx context.Context, q store.Query, order index.Order, cursor string) (index.Ordered, error)
}

// order returns the order that a query asks for.
func (q *SessionQuery) order() index.Order {
	o := index.Order{By: q.Sort, Ascending: q.Direction == "asc", Group: q.Group}
	if o.By == index.ByTitle { // titles are read from A to Z
		o.Ascending = q.Direction != "desc"
	}
	return o
}

// orderedSessions returns a page in another order than by update, without states. Each
// session has its group.
func (g *sessionReader) orderedSessions(ctx context.Context, q *SessionQuery, order index.Order) (wire.Page[wire.Session], error) {
	page := wire.Page[wire.Session]{Items: []wire.Session{}, Total: -1}
	if err := order.Check(); err != nil {
		return page, &wire.Problem{Kind: wire.Invalid, Message: err.Error(), Hint: "sort by updated, created, title, turns, size or cost; group by project, source or day"}
	}
	order.Zone = g.Zone()
	found, err := g.findOrdered(ctx, q, order)
	if errors.Is(err, firn.ErrInvalid) {
		return page, errSessionCursor(q.Cursor)
	}
	if err != nil {
		return page, fmt.Errorf("list sessions: %w", err)
	}
	for i := range found.Infos {
		s := g.listed(ctx, &found.Infos[i])
		s.Group = order.GroupOf(&found.Infos[i])
		page.Items = append(page.Items, s)
	}
	page.Cursor, page.Total = found.Next, found.Total
	g.addUnread(ctx, page.Items)
	return page, nil
}

// findOrdered returns a page from the store, or from the list of all matching sessions.
func (g *sessionReader) findOrdered(ctx context.Context, q *SessionQuery, order index.Order) (index.Ordered, error) {
	ask, limit := q.ask(), view.PageSize(q.Limit)
	if from, ok := store.As[orderer](g.Store); ok && !q.Live && q.Sender == "" {
		ask.Limit = limit
		return from.Ordered(ctx, ask, order, q.Cursor)
	}
	list := g.List
	if q.Live {
		list = g.atWorkNow
	}
	var infos []store.Info
	for info, err := range list(ctx, ask) {
		if err != nil {
			return index.Ordered{}, err
		}
		if g.selects(q, &info) {
			infos = append(infos, info)
		}
	}
	return index.PageInOrder(infos, order, q.Cursor, limit)
}

func errSessionCursor(cursor string) error {
	return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("%q is not a cursor of a list of sessions", view.Clip(cursor))}
}
