package client

import (
	"context"

	"firn.dev"
	"firn.dev/wire"
)

// Files has the operations on files that tools changed.
type Files struct{ *conn }

// Changes returns what the tools of a session did to files, with diffs if diff is set.
func (f Files) Changes(ctx context.Context, id firn.ID, diff bool) ([]wire.FileStep, error) {
	page, err := ask[wire.Page[wire.FileStep]](ctx, f.conn, get(sessionPath(id, "files")...).withFlag("diff", diff))
	return page.Items, err
}

// Rewind gives files the content that they had at an entry of a session.
func (f Files) Rewind(ctx context.Context, id firn.ID, q wire.FileRewind) (wire.FilesRewound, error) {
	return ask[wire.FilesRewound](ctx, f.conn, post(q, sessionPath(id, "files", "rewind")...))
}

// Blame returns the lines of a file with the tool calls that wrote them. The path is
// absolute, on the machine of the gateway.
func (f Files) Blame(ctx context.Context, path string) (wire.Blame, error) {
	return ask[wire.Blame](ctx, f.conn, get("v1", "blame").with("path", path))
}
