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

// Standing is the status of a session according to the file system.
type Standing = store.Standing

// Census returns the standing of all sessions, in no particular order, without opening
// them.
func (st *Store) Census(ctx context.Context) ([]Standing, error) {
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
	standings := make([]Standing, len(found))
	inParallel(ctx, len(found), func() func(i int) {
		return func(i int) {
			s, err := st.standing(found[i])
			if !found[i].irregular && (errors.Is(err, fs.ErrNotExist) || err == nil && s.Bytes == 0) {
				return // removed meanwhile, or its first append failed
			}
			// A session whose files cannot be examined is included; reading it reports the
			// error.
			s.Archived = archived[found[i].id]
			standings[i] = s
		}
	})
	return slices.DeleteFunc(standings, func(s Standing) bool { return s.ID == "" }), ctx.Err()
}

// Stand returns the standing of one session.
func (st *Store) Stand(ctx context.Context, id firn.ID) (Standing, error) {
	if err := st.startCall(ctx); err != nil {
		return Standing{}, err
	}
	defer st.finishCall()
	t, err := st.transcript(id)
	if err != nil {
		return Standing{}, err
	}
	s, err := st.standing(t)
	if t.irregular && errors.Is(err, fs.ErrNotExist) { // it exists; reading it reports the error
		err = nil
	}
	if err != nil {
		return s, err
	}
	s.Archived, err = st.exists(st.archiveMark(id))
	return s, err
}

func (st *Store) standing(t transcript) (Standing, error) {
	s := Standing{ID: t.id, Agent: t.agent, Parts: t.extraParts + 1}
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
