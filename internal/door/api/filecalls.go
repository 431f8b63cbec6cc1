package api

import (
	"context"
	"errors"

	"firn.dev"
	"firn.dev/wire"
)

// fileAPI rewinds files that tools changed.
type fileAPI interface {
	FileChanges(ctx context.Context, id firn.ID, diff bool) (wire.Page[wire.FileStep], error)
	RewindFiles(ctx context.Context, id firn.ID, o wire.FileRewind) (wire.FilesRewound, error)
	Blame(ctx context.Context, path string) (wire.Blame, error)
}

// fileCalls handles the operations on files that tools changed.
type fileCalls struct {
	*call
	gateway fileAPI
}

func (h *fileCalls) bind(c *call) { h.call, h.gateway = c, c.h.services.Files }

func fileRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/sessions/{id}/files", name: "listFileChanges", scope: wire.ScopeWrite, what: "Lists the files that the tools of a session changed on the current branch.", query: []param{flag("diff", "Includes a unified diff of each text file.")}, action: give(fileCalls.listFileChanges)},
		{method: "POST", path: "/v1/sessions/{id}/files/rewind", name: "rewindFiles", long: true, scope: wire.ScopeWrite, what: "Gives files the content that they had at an entry. The conversation is not changed. Files that were changed by something else are left alone unless force is set.", action: take(fileCalls.rewindFiles)},
		{method: "GET", path: "/v1/blame", name: "blame", scope: wire.ScopeAdmin, what: "Lists the lines of a file with the session and tool call that wrote each.", query: []param{text("path", "The absolute path of the file.")}, action: give(fileCalls.blame)},
	}
}

func (c fileCalls) listFileChanges() (wire.Page[wire.FileStep], error) {
	diff := c.query.flag("diff")
	id, err := c.session()
	if err != nil || c.query.err != nil {
		return wire.Page[wire.FileStep]{}, errors.Join(c.query.err, err)
	}
	return c.gateway.FileChanges(c.r.Context(), id, diff)
}

func (c fileCalls) rewindFiles(o wire.FileRewind) (wire.FilesRewound, error) {
	return onSession(c.call, o, c.gateway.RewindFiles)
}

func (c fileCalls) blame() (wire.Blame, error) {
	path := c.query.text("path")
	if c.query.err != nil {
		return wire.Blame{}, c.query.err
	}
	return c.gateway.Blame(c.r.Context(), path)
}
