package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"firn.dev"
)

// Archive puts a session out of the list; see [store.Remover].
func (st *Store) Archive(ctx context.Context, id firn.ID) error {
	return st.mark(ctx, id, func(t *tail) error {
		t.archived = true
		return t.there()
	})
}

// Unarchive puts a session back into the list.
func (st *Store) Unarchive(ctx context.Context, id firn.ID) error {
	return st.mark(ctx, id, func(t *tail) error {
		t.archived = false
		return t.there()
	})
}

// Remove moves a session to the bin.
func (st *Store) Remove(ctx context.Context, id firn.ID, reason string) error {
	return st.markWhy(ctx, id, reason, func(t *tail) error {
		t.removed = true
		return t.kept()
	})
}

// Restore takes a session out of the bin.
func (st *Store) Restore(ctx context.Context, id firn.ID) error {
	return st.mark(ctx, id, func(t *tail) error {
		t.removed = false
		return t.kept()
	})
}

// there refuses a session that cannot be read.
func (t *tail) there() error {
	if t.seq == 0 || t.gone() {
		return firn.ErrNotFound
	}
	return nil
}

// kept refuses a session that never was or was purged.
func (t *tail) kept() error {
	if t.seq == 0 || t.receipt != nil {
		return firn.ErrNotFound
	}
	return nil
}

func (st *Store) mark(ctx context.Context, id firn.ID, change func(*tail) error) error {
	return st.markWhy(ctx, id, "", change)
}

// markWhy adds a message that says what becomes of a session, if that is not so
// already.
func (st *Store) markWhy(ctx context.Context, id firn.ID, reason string, change func(*tail) error) error {
	if err := st.begin(ctx); err != nil {
		return err
	}
	defer st.working.Done()
	s, err := st.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer st.release(s)
	err = st.retold(ctx, s, reason, change)
	if err != nil {
		return st.failed(ctx, fmt.Errorf("session %.128s: %w", id, err))
	}
	return nil
}

// retold is markWhy for who has the session.
func (st *Store) retold(ctx context.Context, s *session, reason string, change func(*tail) error) error {
	if s.id.Check() != nil {
		return firn.ErrNotFound
	}
	for {
		if err := st.look(ctx, s); err != nil {
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

// putMark adds the message that makes t the tail of the session. A rollup takes
// all messages before it away.
func (st *Store) putMark(ctx context.Context, s *session, t tail, reason string, rollup bool) error {
	data, err := json.Marshal(mark{Time: st.opts.Now().UTC().Format(time.RFC3339Nano), Reason: reason, Receipt: t.receipt})
	if err != nil {
		return err
	}
	f := t.follow(kindMark, st.messageID(s.id, t.end))
	f.data = data
	return st.put(ctx, s, f, rollup)
}
