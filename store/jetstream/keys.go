package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/store"
)

// binding is the stored session of a key.
type binding struct {
	Key     string  `json:"key"`
	Session firn.ID `json:"session"`
}

// Lookup returns the session of a key; see [store.Keyed].
func (st *Store) Lookup(ctx context.Context, key string) (firn.ID, error) {
	if err := st.beginOperation(ctx); err != nil {
		return "", err
	}
	defer st.working.Done()
	if err := store.CheckKey(key); err != nil {
		return "", err
	}
	value, _, err := st.keys().get(ctx, keyName(key))
	id := firn.ID("")
	if err == nil {
		id, err = st.holder(ctx, key, value)
	}
	if err != nil {
		return "", st.failed(ctx, fmt.Errorf("look up key %s: %w", key, err))
	}
	return id, nil
}

// holder returns the session of a stored binding if it exists.
func (st *directory) holder(ctx context.Context, key string, value []byte) (firn.ID, error) {
	if value == nil {
		return "", firn.ErrNotFound
	}
	var b binding
	if err := json.Unmarshal(value, &b); err != nil || b.Key != key {
		return "", fmt.Errorf("%w: the stored binding is unreadable", firn.ErrCorrupt)
	}
	t, err := st.opened.fetchTail(ctx, b.Session, st.opened.lastSeen(b.Session))
	switch {
	case err != nil:
		return "", err
	case t.seq == 0: // a removed or purged session still has a message
		return "", &Damage{b.Session, store.Start, st.opened.servers(ctx, b.Session), fmt.Sprintf("the key %s points to it, but no server has any message of it", key)}
	case t.gone():
		return "", fmt.Errorf("session %s: %w", b.Session, firn.ErrNotFound)
	}
	return b.Session, nil
}

// checkLive returns an error if the session does not exist.
func (st *directory) checkLive(ctx context.Context, id firn.ID) error {
	if err := id.Check(); err != nil {
		return fmt.Errorf("session %.40q: %w", id, firn.ErrNotFound)
	}
	t, err := st.opened.fetchTail(ctx, id, st.opened.lastSeen(id))
	if err != nil {
		return err
	}
	if t.seq == 0 || t.gone() {
		return fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
	}
	return nil
}

// Bind binds a key to a session, replacing any previous binding; see [store.Keyed].
func (st *Store) Bind(ctx context.Context, key string, id firn.ID) error {
	_, err := st.bind(ctx, key, id, func([]byte) (firn.ID, error) { return "", firn.ErrNotFound })
	return err
}

// Claim binds a key to a session unless it is bound already, and returns the session that
// it is bound to; see [store.Claimer].
func (st *Store) Claim(ctx context.Context, key string, id firn.ID) (firn.ID, error) {
	return st.bind(ctx, key, id, func(value []byte) (firn.ID, error) { return st.holder(ctx, key, value) })
}

// Unbind removes the binding of a key; see [store.Unbinder].
func (st *Store) Unbind(ctx context.Context, key string) error {
	if err := st.beginOperation(ctx); err != nil {
		return err
	}
	defer st.working.Done()
	if err := store.CheckKey(key); err != nil {
		return err
	}
	for {
		value, revision, err := st.keys().get(ctx, keyName(key))
		if err == nil && value != nil {
			_, err = st.keys().remove(ctx, keyName(key), revision)
		}
		if errors.Is(err, errFenced) {
			continue // another writer was faster
		}
		if err != nil {
			return st.failed(ctx, fmt.Errorf("unbind key %s: %w", key, err))
		}
		return nil
	}
}

// bind binds a key to the session id and returns id. If holder returns a session, the key
// stays bound to that one, and bind returns it.
func (st *directory) bind(ctx context.Context, key string, id firn.ID, holder func(value []byte) (firn.ID, error)) (firn.ID, error) {
	if err := st.beginOperation(ctx); err != nil {
		return "", err
	}
	defer st.working.Done()
	if err := store.CheckKey(key); err != nil {
		return "", err
	}
	winner := id
	_, _, err := st.keys().change(ctx, keyName(key), func(value []byte) ([]byte, error) {
		held, err := holder(value)
		if !errors.Is(err, firn.ErrNotFound) {
			winner = held
			return nil, err
		}
		if err := st.checkLive(ctx, id); err != nil {
			return nil, err
		}
		winner = id
		return json.Marshal(binding{key, id})
	})
	if err != nil {
		return "", st.failed(ctx, fmt.Errorf("bind key %s: %w", key, err))
	}
	return winner, nil
}
