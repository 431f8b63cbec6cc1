package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/journal"
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

// Place returns the part and the byte in it that a position stands for.
func (st *Store) Place(_ context.Context, _ firn.ID, pos firn.Pos) (part int, offset int64) {
	part, offset = journal.Split(pos)
	return part + 1, offset
}

// Weigh tells which files purging a session would take, with what was saved beside
// them, and how many bytes they are. For entries none goes wholly.
func (st *Store) Weigh(ctx context.Context, id firn.ID, whole bool) (files []string, bytes int64, err error) {
	if err := st.begin(ctx); err != nil {
		return nil, 0, err
	}
	defer st.end()
	if !whole {
		return nil, 0, nil
	}
	places, err := st.placesOf(id)
	for _, p := range places {
		for _, name := range p.files {
			path := filepath.Join(p.dir, name)
			info, statErr := st.fs.Stat(path)
			if errors.Is(statErr, fs.ErrNotExist) {
				continue
			}
			files, bytes, err = append(files, st.relative(path)), bytes+info.Size, errors.Join(err, statErr)
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("look for the files of session %s: %w", id, err)
	}
	return files, bytes, nil
}
