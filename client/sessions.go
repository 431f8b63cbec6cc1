package client

import (
	"context"
	"net/http"

	"firn.dev"
	"firn.dev/wire"
)

// Session tells of a session. It is found by its id, a unique beginning of it,
// its exact title, or @ and a key.
func (c *Client) Session(ctx context.Context, ref string) (wire.Session, error) {
	return ask[wire.Session](ctx, c, get("v1", "sessions", ref))
}

// Resolve finds the id of a session as Session does.
func (c *Client) Resolve(ctx context.Context, ref string) (firn.ID, error) {
	s, err := c.Session(ctx, ref)
	return s.ID, err
}

// NewSession begins a session, or returns the one that a key points at.
func (c *Client) NewSession(ctx context.Context, n wire.NewSession) (wire.Session, error) {
	return ask[wire.Session](ctx, c, post(n, "v1", "sessions"))
}

// Patch changes what a session is called, who answers in it, and the like.
func (c *Client) Patch(ctx context.Context, id firn.ID, p wire.Patch) (wire.Session, error) {
	return ask[wire.Session](ctx, c, request{method: http.MethodPatch, path: sessionPath(id), body: p})
}

// Tree shows the shape of a session: a page of at most limit entries, newest
// first. An empty cursor begins at the end, a limit of zero leaves the size to
// the gateway.
func (c *Client) Tree(ctx context.Context, id firn.ID, limit int, cursor string) (wire.Tree, error) {
	return ask[wire.Tree](ctx, c, get(sessionPath(id, "tree")...).withNumber("limit", uint64(max(limit, 0))).with("cursor", cursor))
}

// Children lists the sessions that agents began for this one, latest first.
func (c *Client) Children(ctx context.Context, id firn.ID) ([]wire.Session, error) {
	page, err := ask[wire.Page[wire.Session]](ctx, c, get(sessionPath(id, "children")...))
	return page.Items, err
}

// Damage lists what is damaged in a session, oldest first. The gateway reads all of
// the session for it.
func (c *Client) Damage(ctx context.Context, id firn.ID) ([]wire.Damage, error) {
	page, err := ask[wire.Page[wire.Damage]](ctx, c, get(sessionPath(id, "damage")...))
	return page.Items, err
}

// Window accounts for what the model is sent next. If as names a provider's way
// to write requests (anthropic, openai), the very request is told too.
func (c *Client) Window(ctx context.Context, id firn.ID, as string) (wire.Window, error) {
	return ask[wire.Window](ctx, c, get(sessionPath(id, "window")...).with("as", as))
}

// Compactions are all compactions of a session, latest first, those that were
// undone too.
func (c *Client) Compactions(ctx context.Context, id firn.ID) ([]wire.Compaction, error) {
	page, err := ask[wire.Page[wire.Compaction]](ctx, c, get(sessionPath(id, "compactions")...))
	return page.Items, err
}

// Compact compacts a session, or with Plan tells what that would do.
func (c *Client) Compact(ctx context.Context, id firn.ID, q wire.Compact) (wire.Compacted, error) {
	return ask[wire.Compacted](ctx, c, post(q, sessionPath(id, "compactions")...))
}

// Undo takes a compaction back: what it stood for is in the window again.
func (c *Client) Undo(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.Compaction, error) {
	return ask[wire.Compaction](ctx, c, request{method: http.MethodDelete, path: sessionPath(id, "compactions", string(compaction))})
}

// Redo puts a compaction that was undone in force again.
func (c *Client) Redo(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.Compaction, error) {
	return ask[wire.Compaction](ctx, c, post(nil, sessionPath(id, "compactions", string(compaction), "redo")...))
}

// Fork begins a session that goes on from an entry of this one.
func (c *Client) Fork(ctx context.Context, id firn.ID, f wire.Fork) (wire.Session, error) {
	return ask[wire.Session](ctx, c, post(f, sessionPath(id, "fork")...))
}

// Rewind moves the head: the next message follows another entry. Nothing is
// lost.
func (c *Client) Rewind(ctx context.Context, id firn.ID, m wire.Move) (wire.Moved, error) {
	return ask[wire.Moved](ctx, c, post(m, sessionPath(id, "rewind")...))
}

// Label gives an entry a name, or takes it away.
func (c *Client) Label(ctx context.Context, id firn.ID, l wire.Label) (wire.Appended, error) {
	return ask[wire.Appended](ctx, c, post(l, sessionPath(id, "label")...))
}

// Hide hides an entry: the model does not see it any more.
func (c *Client) Hide(ctx context.Context, id firn.ID, h wire.Hide) (wire.Appended, error) {
	return ask[wire.Appended](ctx, c, post(h, sessionPath(id, "hide")...))
}

// Show takes Hide back.
func (c *Client) Show(ctx context.Context, id firn.ID, h wire.Hide) (wire.Appended, error) {
	return ask[wire.Appended](ctx, c, post(h, sessionPath(id, "show")...))
}

// Remove puts a session away. Nothing is erased, and Restore undoes it.
func (c *Client) Remove(ctx context.Context, id firn.ID, q wire.Remove) (wire.Removed, error) {
	r := request{method: http.MethodDelete, path: sessionPath(id)}
	return ask[wire.Removed](ctx, c, r.with("reason", q.Reason).withFlag("bin", q.Bin))
}

// Restore brings back a session that was put away.
func (c *Client) Restore(ctx context.Context, id firn.ID) (wire.Session, error) {
	return ask[wire.Session](ctx, c, post(nil, sessionPath(id, "restore")...))
}

// Purge erases a session, or entries of it, for good.
func (c *Client) Purge(ctx context.Context, id firn.ID, e wire.Erase) (wire.Receipt, error) {
	return ask[wire.Receipt](ctx, c, post(e, sessionPath(id, "purge")...))
}

// sessionPath is the path of something that belongs to a session.
func sessionPath(id firn.ID, rest ...string) []string {
	return append([]string{"v1", "sessions", string(id)}, rest...)
}
