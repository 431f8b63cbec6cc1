package filestore

import (
	"context"
	"fmt"

	"firn"
	"firn/internal/journal"
)

// Files names the files that a session is kept in, the first part first. What
// was saved beside them because it could not be read is not among them.
func (st *Store) Files(ctx context.Context, id firn.ID) ([]string, error) {
	if err := st.begin(ctx); err != nil {
		return nil, err
	}
	defer st.end()
	_, path, err := st.locate(id)
	if err != nil {
		return nil, err
	}
	parts, err := journal.Parts(st.fs, path)
	if err != nil {
		return nil, fmt.Errorf("look for the files of session %s: %w", id, err)
	}
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Path
	}
	return names, nil
}
