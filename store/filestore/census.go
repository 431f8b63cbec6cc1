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

// Standing is what the file system tells of a session without opening it.
type Standing = store.Standing

// Census tells of all sessions there are, in no order. It opens none.
func (st *Store) Census(ctx context.Context) ([]Standing, error) {
	if err := st.begin(ctx); err != nil {
		return nil, err
	}
	defer st.end()
	found, err := st.allTranscripts("")
	if err != nil {
		return nil, err
	}
	archived, err := st.archived()
	if err != nil {
		return nil, err
	}
	standings := make([]Standing, len(found))
	inParallel(ctx, len(found), func() func(i int) {
		return func(i int) {
			s, err := st.standing(found[i])
			if !found[i].odd && (errors.Is(err, fs.ErrNotExist) || err == nil && s.Bytes == 0) {
				return // removed meanwhile, or its first append failed
			}
			// One that cannot be asked is told of all the same; looking at it
			// will tell what is wrong.
			s.Archived = archived[found[i].id]
			standings[i] = s
		}
	})
	return slices.DeleteFunc(standings, func(s Standing) bool { return s.ID == "" }), ctx.Err()
}

// Stand tells of one session.
func (st *Store) Stand(ctx context.Context, id firn.ID) (Standing, error) {
	if err := st.begin(ctx); err != nil {
		return Standing{}, err
	}
	defer st.end()
	t, err := st.transcript(id)
	if err != nil {
		return Standing{}, err
	}
	s, err := st.standing(t)
	if t.odd && errors.Is(err, fs.ErrNotExist) { // it is there; reading it tells what is wrong
		err = nil
	}
	if err != nil {
		return s, err
	}
	s.Archived, err = st.exists(st.archiveMark(id))
	return s, err
}

func (st *Store) standing(t transcript) (Standing, error) {
	s := Standing{ID: t.id, Agent: t.agent, Parts: t.further + 1}
	if t.further == 0 {
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
