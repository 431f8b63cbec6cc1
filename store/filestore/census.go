package filestore

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/store"
)

// Census returns the status of all sessions, in no particular order, without opening
// them.
func (st *Store) Census(ctx context.Context) ([]store.Status, error) {
	if err := st.startCall(ctx); err != nil {
		return nil, err
	}
	defer st.finishCall()
	found, err := st.allTranscripts("")
	if err != nil {
		return nil, err
	}
	archived, err := st.archived()
	if err != nil {
		return nil, err
	}
	statuses := make([]store.Status, len(found))
	inParallel(ctx, len(found), func() func(i int) {
		return func(i int) {
			s, err := st.status(found[i])
			if !found[i].irregular && (errors.Is(err, fs.ErrNotExist) || err == nil && s.Bytes == 0) {
				return // removed meanwhile, or its first append failed
			}
			// A session whose files cannot be examined is included; reading it reports the
			// error.
			s.Archived = archived[found[i].id]
			statuses[i] = s
		}
	})
	return slices.DeleteFunc(statuses, func(s store.Status) bool { return s.ID == "" }), ctx.Err()
}

// Status returns the status of one session.
func (st *Store) Status(ctx context.Context, id firn.ID) (store.Status, error) {
	if err := st.startCall(ctx); err != nil {
		return store.Status{}, err
	}
	defer st.finishCall()
	t, err := st.transcript(id)
	if err != nil {
		return store.Status{}, err
	}
	s, err := st.status(t)
	if t.irregular && errors.Is(err, fs.ErrNotExist) { // it exists; reading it reports the error
		err = nil
	}
	if err != nil {
		return s, err
	}
	s.Archived, err = st.exists(st.archiveMark(id))
	return s, err
}

func (st *inspection) status(t transcript) (store.Status, error) {
	s := store.Status{ID: t.id, Agent: t.agent, Parts: t.extraParts + 1}
	if t.extraParts == 0 {
		info, err := st.fs.Stat(t.path)
		s.Bytes, s.Modified = info.Size, info.ModTime
		return s, err
	}
	parts, err := journal.Parts(st.fs, t.path)
	for _, p := range parts {
		s.Bytes += p.Size
		if p.ModTime.After(s.Modified) {
			s.Modified = p.ModTime
		}
	}
	return s, err
}
