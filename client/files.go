package client

import (
	"context"
	"errors"

	"firn.dev"
	"firn.dev/wire"
)

// Files has the operations on files that tools changed.
type Files struct {
	*conn
	// Local has the files that tools of this program changed, if the gateway's home is
	// another one; see [HostTools]. It may be nil.
	Local LocalFiles
}

// LocalFiles has the files that tools of this program changed.
type LocalFiles interface {
	// Rewind restores the files of the answers that a result of the gateway names as Undone
	// and Redone, or plans that, and returns the result with their steps.
	Rewind(ctx context.Context, done wire.FilesRewound, q wire.FileRewind) (wire.FilesRewound, error)
	// Changes returns what the calls of some answers did to files.
	Changes(id firn.ID, answers []firn.EntryID, diff bool) ([]wire.FileStep, error)
	// Blame returns the lines of a file. The error is firn.ErrNotFound if there is none.
	Blame(path string) (wire.Blame, error)
}

// Changes returns what the tools of a session did to files, with diffs if diff is set.
func (f Files) Changes(ctx context.Context, id firn.ID, diff bool) ([]wire.FileStep, error) {
	page, err := ask[wire.Page[wire.FileStep]](ctx, f.conn, get(sessionPath(id, "files")...).withFlag("diff", diff))
	if err != nil || f.Local == nil {
		return page.Items, err
	}
	whole, err := f.rewindThere(ctx, id, wire.FileRewind{To: firn.Root, Plan: true})
	if err != nil || len(whole.Undone) == 0 {
		return page.Items, err
	}
	steps, err := f.Local.Changes(id, whole.Undone, diff)
	return append(page.Items, steps...), err
}

// Rewind gives files the content that they had at an entry of a session: the gateway those of
// its home, and Local the others. Files that neither has are steps with a problem.
func (f Files) Rewind(ctx context.Context, id firn.ID, q wire.FileRewind) (wire.FilesRewound, error) {
	done, err := f.rewindThere(ctx, id, q)
	if err != nil || f.Local == nil || len(done.Undone)+len(done.Redone) == 0 {
		return done, err
	}
	return f.Local.Rewind(ctx, done, q)
}

// rewindThere rewinds the files of the gateway's home.
func (f Files) rewindThere(ctx context.Context, id firn.ID, q wire.FileRewind) (wire.FilesRewound, error) {
	return ask[wire.FilesRewound](ctx, f.conn, post(q, sessionPath(id, "files", "rewind")...))
}

// Blame returns the lines of a file with the tool calls that wrote them: of a file of Local,
// or else of the gateway. The path is absolute.
func (f Files) Blame(ctx context.Context, path string) (wire.Blame, error) {
	if f.Local != nil {
		if b, err := f.Local.Blame(path); !errors.Is(err, firn.ErrNotFound) {
			return b, err
		}
	}
	return ask[wire.Blame](ctx, f.conn, get("v1", "blame").with("path", path))
}
