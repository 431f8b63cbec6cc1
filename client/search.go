package client

import (
	"context"
	"strconv"

	"firn.dev/wire"
)

// Search finds messages, best match first.
func (c *Client) Search(ctx context.Context, q wire.SearchQuery) (wire.Found, error) {
	r := get("v1", "search").with("q", q.Query).with("role", q.Role).with("tool", q.Tool).with("agent", q.Agent).with("key", q.Key)
	r = r.with("source", q.Source).with("path", q.Path).with("session", q.Session).with("since", q.Since).with("until", q.Until)
	r = r.with("in", q.In).with("machines", q.Machines).withFlag("literal", q.Literal).withFlag("prompt", q.Prompt).withFlag("group", q.Group).with("cursor", q.Cursor).withNumber("limit", uint64(max(q.Limit, 0)))
	for name, n := range map[string]*int{"before": q.Before, "after": q.After} {
		if n != nil {
			r = r.with(name, strconv.Itoa(*n))
		}
	}
	return ask[wire.Found](ctx, c.conn, r)
}

// Index has the state of the search index.
type Index struct{ *conn }

// State returns the state of the full-text index.
func (c Index) State(ctx context.Context) (wire.IndexState, error) {
	return ask[wire.IndexState](ctx, c.conn, get("v1", "index"))
}

// Rebuild starts to rebuild the indexes while the old ones stay in use; Index.State reports
// the progress.
func (c Index) Rebuild(ctx context.Context) (wire.IndexState, error) {
	return ask[wire.IndexState](ctx, c.conn, post(nil, "v1", "index", "rebuild"))
}

// Check compares the indexes with all sessions.
func (c Index) Check(ctx context.Context) (wire.IndexReport, error) {
	return ask[wire.IndexReport](ctx, c.conn, post(nil, "v1", "index", "check"))
}
