package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"firn.dev"
)

// Away reports whether the id is that of a session that is in the bin or was
// purged: it is taken, and nothing can be read or added under it.
func (st *Store) Away(ctx context.Context, id firn.ID) (bool, error) {
	if err := st.begin(ctx); err != nil {
		return false, err
	}
	defer st.end()
	err := st.putAway(id)
	if errors.Is(err, firn.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// AllAway tells of all such ids.
func (st *Store) AllAway(ctx context.Context) (map[firn.ID]bool, error) {
	if err := st.begin(ctx); err != nil {
		return nil, err
	}
	defer st.end()
	away := make(map[firn.ID]bool)
	for dir, ending := range map[string]string{filepath.Join(st.home, "bin"): "", st.receiptsDir(): ".json"} {
		entries, err := st.fs.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look which sessions were put away: %w", err)
		}
		for _, e := range entries {
			if name, ok := strings.CutSuffix(e.Name(), ending); ok && firn.ID(name).Check() == nil {
				away[firn.ID(name)] = true
			}
		}
	}
	return away, nil
}
