package gateway

import (
	"context"
	"fmt"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// fileCalls are the gateway's operations on files that tools changed.
type fileCalls struct{ gateway *Gateway }

// RewindFiles gives files the state that they had at an entry. The conversation is not
// changed. It is rejected while a turn is running.
func (f fileCalls) RewindFiles(ctx context.Context, id firn.ID, o wire.FileRewind) (wire.FilesRewound, error) {
	g := f.gateway
	if (o.To == "") == (o.Back <= 0) {
		return wire.FilesRewound{}, &wire.Problem{Kind: wire.Invalid, Message: "rewind files: give an entry or a number of turns, not both"}
	}
	if err := g.CheckExists(ctx, id); err != nil {
		return wire.FilesRewound{}, err
	}
	if !o.Plan {
		if err := g.mustBeIdle(id, "rewind the files of"); err != nil {
			return wire.FilesRewound{}, err
		}
	}
	ref, from := string(o.To), string(o.From)
	if o.Back > 0 {
		ref = view.TurnsBack(o.Back)
	}
	if from == "" {
		from = "HEAD"
	}
	to, err := f.find(ctx, id, ref)
	if err != nil {
		return wire.FilesRewound{}, err
	}
	start, err := f.find(ctx, id, from)
	if err != nil {
		return wire.FilesRewound{}, err
	}
	if g.Files == nil {
		return wire.FilesRewound{}, fmt.Errorf("rewind files: this gateway does not store file contents: %w", firn.ErrUnsupported)
	}
	return g.Files.Rewind(ctx, id, start, to, o)
}

// find resolves a reference to an entry, or to the start of the session.
func (f fileCalls) find(ctx context.Context, id firn.ID, ref string) (firn.EntryID, error) {
	if ref == string(firn.Root) {
		return firn.Root, nil
	}
	return f.gateway.FindEntry(ctx, id, ref)
}

// FileChanges returns what the current branch of a session did to files.
func (f fileCalls) FileChanges(ctx context.Context, id firn.ID, diff bool) (wire.Page[wire.FileStep], error) {
	g := f.gateway
	if err := g.CheckExists(ctx, id); err != nil {
		return wire.Page[wire.FileStep]{}, err
	}
	page := wire.Page[wire.FileStep]{Items: []wire.FileStep{}}
	path, err := g.Path(ctx, id)
	if err != nil || g.Files == nil || path.Head == "" {
		return page, err
	}
	page.Items, err = g.Files.Changes(ctx, id, path.Head, diff)
	return page, err
}

// Blame returns the lines of a file with the tool calls that wrote them.
func (f fileCalls) Blame(_ context.Context, path string) (wire.Blame, error) {
	if !filepath.IsAbs(path) {
		return wire.Blame{}, &wire.Problem{Kind: wire.Invalid, Message: "the path is not absolute"}
	}
	if f.gateway.Files == nil {
		return wire.Blame{}, fmt.Errorf("this gateway does not store file contents: %w", firn.ErrUnsupported)
	}
	return f.gateway.Files.Blame(filepath.Clean(path))
}
