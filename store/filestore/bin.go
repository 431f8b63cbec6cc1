package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/store"
)

var _ store.Binner = (*Store)(nil)

// Bin lists the sessions in the trash bin. A session is in the trash bin while the first part
// of its transcript is in the trash bin directory: Remove moves that part first, Restore moves
// it last. An unreadable manifest is reported as the Fault of its session.
func (st *Store) Bin(ctx context.Context) ([]store.Binned, error) {
	if err := st.startCall(ctx); err != nil {
		return nil, err
	}
	defer st.finishCall()
	entries, err := st.fs.ReadDir(filepath.Join(st.home, "bin"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the trash bin: %w", err)
	}
	var ids []firn.ID
	for _, e := range entries {
		if id := firn.ID(e.Name()); id.Check() == nil {
			ids = append(ids, id)
		}
	}
	found, errs := make([]store.Binned, len(ids)), make([]error, len(ids))
	inParallel(ctx, len(ids), func() func(i int) {
		in := st.inspector()
		return func(i int) { found[i], errs[i] = st.binned(&in, ids[i]) }
	})
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return nil, fmt.Errorf("list the trash bin: %w", err)
	}
	all := found[:0]
	for _, b := range found {
		if b.ID != "" {
			all = append(all, b)
		}
	}
	store.SortBinned(all)
	return all, nil
}

// binned returns the session in a directory of the trash bin. It returns a zero Binned if there
// is none.
func (st *inspection) binned(in *inspector, id firn.ID) (store.Binned, error) {
	m, manifestErr := st.mover.manifest(id)
	if manifestErr != nil {
		m = manifest{Session: id, Files: []string{string(id) + transcriptExt}}
	}
	path := filepath.Join(st.binDir(id), m.Files[0])
	if there, err := st.exists(path); !there || err != nil {
		return store.Binned{}, err
	}
	parts, err := journal.Parts(st.fs, path)
	if err != nil {
		return store.Binned{}, err
	}
	b := store.Binned{Info: in.inspect(context.Background(), transcript{id: id, agent: m.Agent, path: path, extraParts: len(parts) - 1}), Removed: m.Removed, Reason: m.Reason}
	if b.ID == "" && manifestErr == nil { // an empty transcript, or one that was just restored
		return b, nil
	}
	b.ID = id
	if manifestErr != nil {
		b.Fault = manifestErr.Error()
	}
	if b.Archived, err = st.exists(st.archiveMark(id)); err != nil {
		return b, err
	}
	b.Bytes, err = st.binSize(id)
	return b, err
}

// binSize returns the total size of the files in the trash bin directory of a session.
func (st *inspection) binSize(id firn.ID) (int64, error) {
	entries, err := st.fs.ReadDir(st.binDir(id))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	total := int64(0)
	for _, e := range entries {
		info, statErr := st.fs.Stat(filepath.Join(st.binDir(id), e.Name()))
		if statErr == nil {
			total += info.Size
		} else if !errors.Is(statErr, fs.ErrNotExist) {
			err = errors.Join(err, statErr)
		}
	}
	return total, err
}
