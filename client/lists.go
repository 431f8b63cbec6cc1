package client

import (
	"context"
	"iter"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// Query selects sessions. The zero value selects all that are neither archived nor hidden
// nor empty, latest first.
type Query struct {
	Agent, Key string
	// Sender selects conversations with one person, by name.
	Sender string
	// Text must occur in the title or the first message.
	Text string
	// Source selects the sessions of another tool's folder, or with "firn" the gateway's
	// own; Tag selects those with a tag.
	Source, Tag string
	// Directory selects sessions that were started in a directory or have messages from
	// there.
	Directory string
	// Under is like Directory, for a directory and all below it.
	Under string
	// Since and Until limit the time of the latest entry; Since is inclusive, Until
	// exclusive.
	Since, Until time.Time
	// Archived and Hidden select archived or hidden sessions instead; both together select
	// those that are both. Live selects running ones.
	Archived, Hidden, Live bool
	// Empty includes sessions without entries.
	Empty bool
	// State includes the state of each session: turns, messages, uptime, window.
	State bool
	// Sort is updated, created, title, turns, size or cost; Order is asc or desc; Group is
	// project, source or day. Empty means the latest first.
	Sort, Order, Group string
	// Limit is the total number of sessions; zero means all. For SessionsPage it is the
	// size of the page, and zero means the gateway's default.
	Limit int
	// Cursor continues from a page.
	Cursor string
}

// Sessions lists sessions and fetches pages as needed. It ends at the first error.
func (c *Client) Sessions(ctx context.Context, q Query) iter.Seq2[wire.Session, error] {
	return items(q.Limit, q.Cursor, func(limit int, cursor string) (wire.Page[wire.Session], error) {
		q.Limit, q.Cursor = limit, cursor
		return c.SessionsPage(ctx, q)
	})
}

// SessionsPage returns one page of sessions and the total number.
func (c *Client) SessionsPage(ctx context.Context, q Query) (wire.Page[wire.Session], error) {
	r := get("v1", "sessions").with("agent", q.Agent).with("key", q.Key).with("sender", q.Sender).with("text", q.Text).with("cursor", q.Cursor)
	r = r.withFlag("archived", q.Archived).withFlag("hidden", q.Hidden).withFlag("empty", q.Empty).withFlag("live", q.Live).withFlag("state", q.State)
	r = r.with("cwd", q.Directory).with("under", q.Under).with("source", q.Source).with("tag", q.Tag).with("sort", q.Sort).with("order", q.Order).with("group", q.Group).withTime("since", q.Since).withTime("until", q.Until)
	return ask[wire.Page[wire.Session]](ctx, c.conn, r.withNumber("limit", uint64(max(q.Limit, 0))))
}

// EntryQuery selects entries of a session.
type EntryQuery struct {
	// View is [wire.ViewDisk] (the default), [wire.ViewBranch] or [wire.ViewWindow].
	View string
	// After and Before are the positions between which entries are listed; zero means the
	// start and the end.
	After, Before firn.Pos
	// Back lists the newest first.
	Back bool
	// Head is the last entry of the branch; empty means the current head.
	Head string
	// HTML requests cards instead of lines, with long texts truncated.
	HTML bool
	// Limit and Cursor are as in Query.
	Limit  int
	Cursor string
}

// Entries lists entries of a session and fetches pages as needed. It ends at the first
// error.
func (c *Client) Entries(ctx context.Context, id firn.ID, q EntryQuery) iter.Seq2[wire.Entry, error] {
	counts := func(e wire.Entry) bool {
		return e.Gap == "" || e.Damage == nil || q.View == "" || q.View == wire.ViewDisk
	}
	return countedItems(q.Limit, q.Cursor, counts, func(limit int, cursor string) (wire.Page[wire.Entry], error) {
		q.Limit, q.Cursor = limit, cursor
		return c.EntriesPage(ctx, id, q)
	})
}

// EntriesPage returns one page of entries.
func (c *Client) EntriesPage(ctx context.Context, id firn.ID, q EntryQuery) (wire.Page[wire.Entry], error) {
	r := get(sessionPath(id, "entries")...).with("view", q.View).with("cursor", q.Cursor)
	r = r.withNumber("after", uint64(q.After)).withNumber("before", uint64(q.Before)).withFlag("back", q.Back)
	r = r.with("head", q.Head).with("as", formatParam(q.HTML))
	return ask[wire.Page[wire.Entry]](ctx, c.conn, r.withNumber("limit", uint64(max(q.Limit, 0))))
}

// items yields the items of all pages, at most limit unless zero. It ends at a repeated
// cursor, so that a faulty gateway cannot cause an endless loop.
func items[T any](limit int, cursor string, page func(limit int, cursor string) (wire.Page[T], error)) iter.Seq2[T, error] {
	return countedItems(limit, cursor, func(T) bool { return true }, page)
}

// countedItems is like items, but only some items count towards the limit.
func countedItems[T any](limit int, cursor string, counts func(T) bool, page func(limit int, cursor string) (wire.Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left, cursor := limit, cursor
		for {
			p, err := page(left, cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
				if !counts(item) {
					continue
				}
				if left--; left == 0 {
					return
				}
			}
			if p.Cursor == "" || p.Cursor == cursor {
				return
			}
			left, cursor = max(left, 0), p.Cursor
		}
	}
}
