package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"firn.dev"
)

// Archive hides a session from lists; see [store.Remover].
func (st *Store) Archive(ctx context.Context, id firn.ID) error {
	return st.mark(ctx, id, func(t *tail) error {
		t.archived = true
		return t.checkReadable()
	})
}

// Unarchive shows a session in lists again.
func (st *Store) Unarchive(ctx context.Context, id firn.ID) error {
	return st.mark(ctx, id, func(t *tail) error {
		t.archived = false
		return t.checkReadable()
	})
}

// Remove moves a session to the trash bin.
func (st *Store) Remove(ctx context.Context, id firn.ID, reason string) error {
	return st.setMark(ctx, id, reason, func(t *tail) error {
		t.removed = true
		return t.checkExists()
	})
}

// Restore moves a session out of the trash bin.
func (st *Store) Restore(ctx context.Context, id firn.ID) error {
	return st.mark(ctx, id, func(t *tail) error {
		t.removed = false
		return t.checkExists()
	})
}

// checkReadable returns an error if the session cannot be read.
func (t *tail) checkReadable() error {
	if t.seq == 0 || t.gone() {
		return firn.ErrNotFound
	}
	return nil
}

// checkExists returns an error if the session never existed or was purged.
func (t *tail) checkExists() error {
	if t.seq == 0 || t.receipt != nil {
		return firn.ErrNotFound
	}
	return nil
}

func (st *directory) mark(ctx context.Context, id firn.ID, change func(*tail) error) error {
	return st.setMark(ctx, id, "", change)
}

// setMark appends a message that changes the state of a session, unless the session has
// that state already.
func (st *directory) setMark(ctx context.Context, id firn.ID, reason string, change func(*tail) error) error {
	if err := st.beginOperation(ctx); err != nil {
		return err
	}
	defer st.working.Done()
	s, err := st.opened.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer st.opened.release(s)
	err = st.updateMark(ctx, s, reason, change)
	if err != nil {
		return st.failed(ctx, fmt.Errorf("session %.128s: %w", id, err))
	}
	return nil
}

// updateMark is setMark for a caller that has acquired the session.
func (st *directory) updateMark(ctx context.Context, s *session, reason string, change func(*tail) error) error {
	if s.id.Check() != nil {
		return firn.ErrNotFound
	}
	for {
		if err := st.opened.refreshTail(ctx, s); err != nil {
			return err
		}
		t := s.tail
		if err := change(&t); err != nil || t == s.tail {
			return err
		}
		err := st.putMark(ctx, s, t, reason, false)
		if !errors.Is(err, errFenced) {
			return err
		}
	}
}

// putMark appends the message that makes t the tail of the session. A rollup removes all
// earlier messages.
func (st *directory) putMark(ctx context.Context, s *session, t tail, reason string, rollup bool) error {
	data, err := json.Marshal(mark{Time: st.opts.Now().UTC().Format(time.RFC3339Nano), Reason: reason, Receipt: t.receipt})
	if err != nil {
		return err
	}
	f := t.nextFrame(kindMark, st.opened.messageID(s.id, t.end))
	f.data = data
	return st.opened.put(ctx, s, f, rollup)
}
