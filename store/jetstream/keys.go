package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/store"
)

// binding is where a key points.
type binding struct {
	Key     string  `json:"key"`
	Session firn.ID `json:"session"`
}

// Lookup returns the session a key points at; see [store.Keyed].
func (st *Store) Lookup(ctx context.Context, key string) (firn.ID, error) {
	if err := st.begin(ctx); err != nil {
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

// holder returns the session that a value points at if it is there.
func (st *Store) holder(ctx context.Context, key string, value []byte) (firn.ID, error) {
	if value == nil {
		return "", firn.ErrNotFound
	}
	var b binding
	if err := json.Unmarshal(value, &b); err != nil || b.Key != key {
		return "", fmt.Errorf("%w: it does not tell where it points", firn.ErrCorrupt)
	}
	t, err := st.lookUp(ctx, b.Session, st.seen(b.Session))
	switch {
	case err != nil:
		return "", err
	case t.seq == 0: // one that was removed or purged has a message that says so
		return "", &Damage{b.Session, store.Start, st.servers(ctx, b.Session), fmt.Sprintf("the key %s points at it, and no server has a message of it", key)}
	case t.gone():
		return "", fmt.Errorf("session %s: %w", b.Session, firn.ErrNotFound)
	}
	return b.Session, nil
}

// live refuses a session that is not there.
func (st *Store) live(ctx context.Context, id firn.ID) error {
	if err := id.Check(); err != nil {
		return fmt.Errorf("session %.40q: %w", id, firn.ErrNotFound)
	}
	t, err := st.lookUp(ctx, id, st.seen(id))
	if err != nil {
		return err
	}
	if t.seq == 0 || t.gone() {
		return fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
	}
	return nil
}

// Bind points a key at a session, wherever it pointed before; see [store.Keyed].
func (st *Store) Bind(ctx context.Context, key string, id firn.ID) error {
	_, err := st.bind(ctx, key, id, func([]byte) (firn.ID, error) { return "", firn.ErrNotFound })
	return err
}

// Claim points a key at a session if it points nowhere, and returns where it
// points afterwards; see [store.Claimer].
func (st *Store) Claim(ctx context.Context, key string, id firn.ID) (firn.ID, error) {
	return st.bind(ctx, key, id, func(value []byte) (firn.ID, error) { return st.holder(ctx, key, value) })
}

// Unbind makes a key point nowhere; see [store.Unbinder].
func (st *Store) Unbind(ctx context.Context, key string) error {
	if err := st.begin(ctx); err != nil {
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
			continue // somebody else was faster
		}
		if err != nil {
			return st.failed(ctx, fmt.Errorf("unbind key %s: %w", key, err))
		}
		return nil
	}
}

// bind points a key at a session unless holder finds one that keeps it.
func (st *Store) bind(ctx context.Context, key string, id firn.ID, holder func(value []byte) (firn.ID, error)) (firn.ID, error) {
	if err := st.begin(ctx); err != nil {
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
		if err := st.live(ctx, id); err != nil {
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
