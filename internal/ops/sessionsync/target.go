package sessionsync

import (
	"context"
	"encoding/json"
	"errors"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// Names on a target.
const (
	markFile    = "firn-sync.json"
	manifestDir = "manifests"
	pieceDir    = "pieces"
)

// mark is the content of markFile, the only file that is not encrypted.
const mark = `{"format":"firn sync","version":1}` + "\n"

// Target is a place for files with names of the form a/b/c.
type Target interface {
	// List returns the names in a directory; none if it does not exist, ErrCorrupt if it is
	// something else.
	List(ctx context.Context, dir string) ([]string, error)
	// Get returns the content of a file, or ErrNotFound.
	Get(ctx context.Context, name string) ([]byte, error)
	// Put creates a file that is complete and durable when Put returns. It does nothing if
	// the file exists: names contain the hash of the content.
	Put(ctx context.Context, name string, data []byte) error
}

// piecePath returns the name of a piece on the target.
func piecePath(name string) string { return pieceDir + "/" + name[:2] + "/" + name }

// checkTarget reports whether a target was prepared before. It rejects a target of another
// format.
func checkTarget(ctx context.Context, t Target) (bool, error) {
	data, err := t.Get(ctx, markFile)
	if errors.Is(err, firn.ErrNotFound) {
		return false, nil
	}
	var m struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	switch {
	case err != nil:
		return false, err
	case json.Unmarshal(data, &m) != nil || m.Format != "firn sync":
		return false, failure.Of(firn.ErrCorrupt, "%s on the target is not firn's", markFile)
	case m.Version > formatVersion:
		return false, failure.Of(firn.ErrUnsupported, "a newer firn prepared the target")
	}
	return true, nil
}

// concernsAll reports whether an error of a target ends the sync, because every other file would
// fail too: the target cannot be reached, or its error says so.
func concernsAll(err error) bool {
	var all interface{ ConcernsAll() bool }
	return errors.Is(err, firn.ErrUnavailable) || errors.As(err, &all) && all.ConcernsAll()
}
