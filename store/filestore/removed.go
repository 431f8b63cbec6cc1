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

// IsReserved reports whether a session is in the trash bin or was purged: its ID is reserved,
// and it can neither be read nor appended to.
func (st *Store) IsReserved(ctx context.Context, id firn.ID) (bool, error) {
	if err := st.startCall(ctx); err != nil {
		return false, err
	}
	defer st.finishCall()
	err := st.checkRemoved(id)
	if errors.Is(err, firn.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// ReservedIDs returns the IDs of all sessions in the trash bin or purged.
func (st *Store) ReservedIDs(ctx context.Context) (map[firn.ID]bool, error) {
	if err := st.startCall(ctx); err != nil {
		return nil, err
	}
	defer st.finishCall()
	away := make(map[firn.ID]bool)
	for dir, ending := range map[string]string{filepath.Join(st.home, "bin"): "", st.receiptsDir(): ".json"} {
		entries, err := st.fs.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list removed sessions: %w", err)
		}
		for _, e := range entries {
			if name, ok := strings.CutSuffix(e.Name(), ending); ok && firn.ID(name).Check() == nil {
				away[firn.ID(name)] = true
			}
		}
	}
	return away, nil
}
