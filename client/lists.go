package client

import (
	"context"
	"iter"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// Query says which sessions to list. The zero value lists all that are neither
// archived nor hidden, latest first.
type Query struct {
	Agent, Key string
	// Sender lists conversations with one person, who is called so.
	Sender string
	// Text must occur in the title or the first message.
	Text string
	// Source lists those of a folder of another tool, or with "firn" our own; Tag
	// those with a tag.
	Source, Tag string
	// Directory lists those that were begun in a directory, or in which something was said
	// there.
	Directory string
	// Since and Until bound the time of the latest entry: from the one on, and
	// before the other.
	Since, Until time.Time
	// Archived and Hidden list those instead, both those that are both; Live only those
	// that run.
	Archived, Hidden, Live bool
	// State asks for the state of each too: turns, messages, uptime, window.
	State bool
	// Limit is how many to list in all; zero means all. It is the size of a page
	// for SessionsPage, where zero leaves it to the gateway.
	Limit int
	// Cursor goes on from a page.
	Cursor string
}

// Sessions lists sessions, page by page as they are needed. An error ends it.
func (c *Client) Sessions(ctx context.Context, q Query) iter.Seq2[wire.Session, error] {
	return items(q.Limit, q.Cursor, func(limit int, cursor string) (wire.Page[wire.Session], error) {
		q.Limit, q.Cursor = limit, cursor
		return c.SessionsPage(ctx, q)
	})
}

// SessionsPage lists one page of sessions, and tells how many there are.
func (c *Client) SessionsPage(ctx context.Context, q Query) (wire.Page[wire.Session], error) {
	r := get("v1", "sessions").with("agent", q.Agent).with("key", q.Key).with("sender", q.Sender).with("text", q.Text).with("cursor", q.Cursor)
	r = r.withFlag("archived", q.Archived).withFlag("hidden", q.Hidden).withFlag("live", q.Live).withFlag("state", q.State)
	r = r.with("cwd", q.Directory).with("source", q.Source).with("tag", q.Tag).withTime("since", q.Since).withTime("until", q.Until)
	return ask[wire.Page[wire.Session]](ctx, c, r.withNumber("limit", uint64(max(q.Limit, 0))))
}

// EntryQuery says which entries of a session to list.
type EntryQuery struct {
	// View is [wire.ViewDisk], which empty means, [wire.ViewBranch] or
	// [wire.ViewWindow].
	View string
	// After and Before are positions between which the entries stand; zero means
	// the beginning and the end.
	After, Before firn.Pos
	// Back lists the newest first.
	Back bool
	// Head names the entry that the branch ends with; empty is the head.
	Head string
	// HTML asks for cards instead of lines, with long texts cut short.
	HTML bool
	// Limit and Cursor are as in Query.
	Limit  int
	Cursor string
}

// Entries lists entries of a session, page by page as they are needed. An error
// ends it.
func (c *Client) Entries(ctx context.Context, id firn.ID, q EntryQuery) iter.Seq2[wire.Entry, error] {
	counts := func(e wire.Entry) bool {
		return e.Gap == "" || e.Damage == nil || q.View == "" || q.View == wire.ViewDisk
	}
	return countedItems(q.Limit, q.Cursor, counts, func(limit int, cursor string) (wire.Page[wire.Entry], error) {
		q.Limit, q.Cursor = limit, cursor
		return c.EntriesPage(ctx, id, q)
	})
}

// EntriesPage lists one page of entries.
func (c *Client) EntriesPage(ctx context.Context, id firn.ID, q EntryQuery) (wire.Page[wire.Entry], error) {
	r := get(sessionPath(id, "entries")...).with("view", q.View).with("cursor", q.Cursor)
	r = r.withNumber("after", uint64(q.After)).withNumber("before", uint64(q.Before)).withFlag("back", q.Back)
	r = r.with("head", q.Head).with("as", as(q.HTML))
	return ask[wire.Page[wire.Entry]](ctx, c, r.withNumber("limit", uint64(max(q.Limit, 0))))
}

// items yields the items of all pages, at most limit of them if it is not zero.
// A cursor that leads back to itself ends it, so that a gateway at fault cannot
// keep a client for ever.
func items[T any](limit int, cursor string, page func(limit int, cursor string) (wire.Page[T], error)) iter.Seq2[T, error] {
	return countedItems(limit, cursor, func(T) bool { return true }, page)
}

// countedItems is items of which not all count towards the limit.
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
