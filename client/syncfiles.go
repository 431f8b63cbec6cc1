package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"firn.dev/wire"
)

// SyncFiles returns the names of the files of syncs that the gateway keeps. It requires the scope sync,
// as do OpenSyncFile and PutSyncFile.
func (c Transfer) SyncFiles(ctx context.Context) ([]string, error) {
	r := get("v1", "sync")
	var names []string
	for raw, err := range c.lines(ctx, r) {
		var name string
		if err == nil {
			if err = json.Unmarshal(raw, &name); err != nil {
				err = c.eventError(r, err)
			}
		}
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// OpenSyncFile opens a file of a sync. If the connection breaks, reading returns an error.
func (c Transfer) OpenSyncFile(ctx context.Context, name string) (io.ReadCloser, error) {
	r := get("v1", "sync", name)
	if err := r.check(); err != nil {
		return nil, err
	}
	response, err := c.send(ctx, r, nil, typeBytes)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// PutSyncFile adds a file of a sync. The name contains the hash of its content; a file that exists
// stays as it is, so the request can be repeated.
func (c Transfer) PutSyncFile(ctx context.Context, name string, content io.Reader) (wire.SyncFile, error) {
	return ask[wire.SyncFile](ctx, c.conn, request{method: http.MethodPut, path: []string{"v1", "sync", name}, stream: content, bytes: true, tries: 1})
}
