package client

import (
	"context"
	"net/http"

	"firn.dev"
	"firn.dev/wire"
)

// Session returns a session by its ID, a unique prefix of it, its exact title, or @ and a
// key.
func (c *Client) Session(ctx context.Context, ref string) (wire.Session, error) {
	return ask[wire.Session](ctx, c.conn, get("v1", "sessions", ref))
}

// Resolve returns the ID of a session. ref is as in Session.
func (c *Client) Resolve(ctx context.Context, ref string) (firn.ID, error) {
	s, err := c.Session(ctx, ref)
	return s.ID, err
}

// NewSession creates a session, or returns the current session of a key.
func (c *Client) NewSession(ctx context.Context, n wire.NewSession) (wire.Session, error) {
	return ask[wire.Session](ctx, c.conn, post(n, "v1", "sessions"))
}

// Patch changes settings of a session, such as its title or model.
func (c *Client) Patch(ctx context.Context, id firn.ID, p wire.Patch) (wire.Session, error) {
	return ask[wire.Session](ctx, c.conn, request{method: http.MethodPatch, path: sessionPath(id), body: p})
}

// Tree returns a page of at most limit entries of a session's tree, newest first. An empty
// cursor starts at the end; a limit of zero means the gateway's default.
func (c *Client) Tree(ctx context.Context, id firn.ID, limit int, cursor string) (wire.Tree, error) {
	return ask[wire.Tree](ctx, c.conn, get(sessionPath(id, "tree")...).withNumber("limit", uint64(max(limit, 0))).with("cursor", cursor))
}

// Children lists the sessions that agents spawned from this one, latest first.
func (c *Client) Children(ctx context.Context, id firn.ID) ([]wire.Session, error) {
	page, err := ask[wire.Page[wire.Session]](ctx, c.conn, get(sessionPath(id, "children")...))
	return page.Items, err
}

// Damage lists the faults of a session, oldest first. The gateway reads the whole session
// for it.
func (c *Client) Damage(ctx context.Context, id firn.ID) ([]wire.Damage, error) {
	page, err := ask[wire.Page[wire.Damage]](ctx, c.conn, get(sessionPath(id, "damage")...))
	return page.Items, err
}

// Window describes the content that is sent to the model next. If as names a provider's
// request format (anthropic, openai), the request itself is included.
func (c *Client) Window(ctx context.Context, id firn.ID, as string) (wire.Window, error) {
	return ask[wire.Window](ctx, c.conn, get(sessionPath(id, "window")...).with("as", as))
}

// Compactions lists all compactions of a session, latest first, including undone ones.
func (c *Client) Compactions(ctx context.Context, id firn.ID) ([]wire.Compaction, error) {
	page, err := ask[wire.Page[wire.Compaction]](ctx, c.conn, get(sessionPath(id, "compactions")...))
	return page.Items, err
}

// Compact compacts a session, or with Plan returns the plan.
func (c *Client) Compact(ctx context.Context, id firn.ID, q wire.Compact) (wire.Compacted, error) {
	return ask[wire.Compacted](ctx, c.conn, post(q, sessionPath(id, "compactions")...))
}

// Undo reverts a compaction: the entries it replaced are in the window again.
func (c *Client) Undo(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.Compaction, error) {
	return ask[wire.Compaction](ctx, c.conn, request{method: http.MethodDelete, path: sessionPath(id, "compactions", string(compaction))})
}

// Redo restores a compaction that was undone.
func (c *Client) Redo(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.Compaction, error) {
	return ask[wire.Compaction](ctx, c.conn, post(nil, sessionPath(id, "compactions", string(compaction), "redo")...))
}

// Fork creates a session that continues from an entry of this one.
func (c *Client) Fork(ctx context.Context, id firn.ID, f wire.Fork) (wire.Session, error) {
	return ask[wire.Session](ctx, c.conn, post(f, sessionPath(id, "fork")...))
}

// Rewind moves the head: the next message follows another entry. Nothing is deleted.
func (c *Client) Rewind(ctx context.Context, id firn.ID, m wire.Move) (wire.Moved, error) {
	return ask[wire.Moved](ctx, c.conn, post(m, sessionPath(id, "rewind")...))
}

// Label names an entry, or removes its name.
func (c *Client) Label(ctx context.Context, id firn.ID, l wire.Label) (wire.Appended, error) {
	return ask[wire.Appended](ctx, c.conn, post(l, sessionPath(id, "label")...))
}

// Hide hides an entry from the model.
func (c *Client) Hide(ctx context.Context, id firn.ID, h wire.Hide) (wire.Appended, error) {
	return ask[wire.Appended](ctx, c.conn, post(h, sessionPath(id, "hide")...))
}

// Show undoes Hide.
func (c *Client) Show(ctx context.Context, id firn.ID, h wire.Hide) (wire.Appended, error) {
	return ask[wire.Appended](ctx, c.conn, post(h, sessionPath(id, "show")...))
}

// Remove hides a session or moves it to the trash bin. Nothing is erased, and Restore undoes it.
func (c *Client) Remove(ctx context.Context, id firn.ID, q wire.Remove) (wire.Removed, error) {
	r := request{method: http.MethodDelete, path: sessionPath(id)}
	return ask[wire.Removed](ctx, c.conn, r.with("reason", q.Reason).withFlag("bin", q.Bin))
}

// Restore restores a removed session.
func (c *Client) Restore(ctx context.Context, id firn.ID) (wire.Session, error) {
	return ask[wire.Session](ctx, c.conn, post(nil, sessionPath(id, "restore")...))
}

// Purge erases a session, or entries of it, permanently.
func (c *Client) Purge(ctx context.Context, id firn.ID, e wire.Erase) (wire.Receipt, error) {
	return ask[wire.Receipt](ctx, c.conn, post(e, sessionPath(id, "purge")...))
}

// sessionPath returns a path below that of a session.
func sessionPath(id firn.ID, rest ...string) []string {
	return append([]string{"v1", "sessions", string(id)}, rest...)
}
