package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// Ready returns an error if sessions cannot be listed or the home is not writable.
func (g *Gateway) Ready(ctx context.Context) error {
	for _, err := range g.List(ctx, store.Query{Limit: 1}) {
		if err != nil {
			return fmt.Errorf("list sessions: %w", err)
		}
		break
	}
	if g.Home == "" {
		return nil
	}
	return writable(vfs.OS{}, g.Home)
}

// writable checks that a file can be created, written, synced and removed in a directory.
func writable(fsys vfs.FS, dir string) error {
	path := filepath.Join(dir, ".ready-"+rand.Text()[:10])
	f, err := fsys.Open(path, vfs.Create)
	if err == nil {
		_, err = f.Write([]byte("ready?\n"))
		err = errors.Join(err, f.Sync(), f.Close(), fsys.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("write test to %s: %w: %w", dir, firn.ErrNotSaved, err)
	}
	return nil
}
