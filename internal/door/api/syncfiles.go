package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"firn.dev/wire"
)

// SyncFiles are the files of syncs that a gateway keeps for other machines. They are encrypted and named by
// the hash of their content.
type SyncFiles interface {
	// All returns the names of all files.
	All(ctx context.Context) ([]string, error)
	// OpenFile opens a file, or returns ErrNotFound.
	OpenFile(ctx context.Context, name string) (file io.ReadCloser, bytes int64, err error)
	// PutFile creates a file that is complete and durable when PutFile returns, and returns
	// its size. If the file exists, it only reads the body. The content must match the name.
	PutFile(ctx context.Context, name string, body io.Reader) (bytes int64, err error)
}

// maxSyncFile is the size of the largest file of a sync.
const maxSyncFile = 256 << 20

func syncRoutes() []operation {
	put := give(syncCalls.putFile)
	put.anything = true
	return []operation{
		{method: "GET", path: "/v1/sync", name: "listSyncFiles", scope: wire.ScopeSync, what: "Lists the files of syncs that this gateway keeps for other machines, one JSON string per line.", action: write(typeLines, syncCalls.listFiles)},
		{method: "GET", path: "/v1/sync/{file}", name: "getSyncFile", scope: wire.ScopeSync, what: "Returns a file of a sync. Slashes in its name are encoded as %2F.", action: write(typeBytes, syncCalls.getFile)},
		{method: "PUT", path: "/v1/sync/{file}", name: "putSyncFile", scope: wire.ScopeSync, what: "Adds a file of a sync. The name contains the SHA-256 of the body. A file that exists stays as it is.", action: put},
	}
}

// kept returns the files, or an error if this gateway keeps none.
func (c syncCalls) kept() (SyncFiles, error) {
	if c.files == nil {
		return nil, &wire.Problem{Kind: wire.Unsupported, Message: "this gateway keeps no files of syncs", Hint: "use a gateway whose sessions are in files, or another target"}
	}
	return c.files, nil
}

// listFiles writes the names of all files. A client must not take a part of them for all, since
// it reports missing files as a loss.
func (c syncCalls) listFiles() error {
	files, err := c.kept()
	if err != nil {
		return err
	}
	return storedCalls{call: c.call}.lines(func(w io.Writer) error {
		names, err := files.All(c.r.Context())
		encoder := json.NewEncoder(w)
		for _, name := range names {
			if err == nil {
				err = encoder.Encode(name)
			}
		}
		return err
	})
}

// getFile writes a file.
func (c syncCalls) getFile() error {
	files, err := c.kept()
	if err != nil {
		return err
	}
	file, size, err := files.OpenFile(c.r.Context(), c.r.PathValue("file"))
	if err != nil {
		return err
	}
	defer file.Close() // read-only
	c.w.Header().Set("Content-Type", typeBytes)
	c.w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	c.deadline()
	c.w.WriteHeader(http.StatusOK)
	if _, err := io.CopyN(sender{c.call}, file, size); err != nil {
		panic(http.ErrAbortHandler) // the client must notice that it is incomplete
	}
	return nil
}

// putFile adds a file.
func (c syncCalls) putFile() (wire.SyncFile, error) {
	files, err := c.kept()
	if err != nil {
		return wire.SyncFile{}, err
	}
	if c.r.ContentLength > maxSyncFile {
		return wire.SyncFile{}, tooLarge(maxSyncFile)
	}
	name := c.r.PathValue("file")
	size, err := files.PutFile(c.r.Context(), name, http.MaxBytesReader(c.w.ResponseWriter, io.NopCloser(&importBody{c.call}), maxSyncFile))
	if err != nil {
		return wire.SyncFile{}, err
	}
	c.bodyArrived()
	return wire.SyncFile{Name: name, Bytes: size}, nil
}
