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

// Files returns the files of a session, the first part first, without side files.
func (st *Store) Files(ctx context.Context, id firn.ID) ([]string, error) {
	if err := st.startCall(ctx); err != nil {
		return nil, err
	}
	defer st.finishCall()
	_, path, err := st.locate(id)
	if err != nil {
		return nil, err
	}
	parts, err := journal.Parts(st.fs, path)
	if err != nil {
		return nil, fmt.Errorf("list files of session %s: %w", id, err)
	}
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Path
	}
	return names, nil
}

// Place returns the part, counting from 1, and the byte offset of a position.
func (st *Store) Place(_ context.Context, _ firn.ID, pos firn.Pos) (part int, offset int64) {
	part, offset = journal.Split(pos)
	return part + 1, offset
}

// Weigh returns the files that purging a session would remove, including side files, and
// their total size. Purging entries removes no files.
func (st *Store) Weigh(ctx context.Context, id firn.ID, whole bool) (files []string, bytes int64, err error) {
	if err := st.startCall(ctx); err != nil {
		return nil, 0, err
	}
	defer st.finishCall()
	if !whole {
		return nil, 0, nil
	}
	places, err := st.fileSetsOf(id)
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
		return nil, 0, fmt.Errorf("list files of session %s: %w", id, err)
	}
	return files, bytes, nil
}
