package memstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/store"
)

// Lookup returns the session a key points to.
func (m *Store) Lookup(ctx context.Context, key string) (firn.ID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lookup(ctx, key)
}

func (m *Store) lookup(ctx context.Context, key string) (firn.ID, error) {
	if err := store.CheckKey(key); err != nil {
		return "", err
	}
	if _, err := m.live(ctx, m.keys[key]); err != nil {
		return "", fmt.Errorf("look up key %s: %w", key, err)
	}
	return m.keys[key], nil
}

// Bind points a key to a session.
func (m *Store) Bind(ctx context.Context, key string, id firn.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bind(ctx, key, id)
}

func (m *Store) bind(ctx context.Context, key string, id firn.ID) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	if _, err := m.live(ctx, id); err != nil {
		return fmt.Errorf("bind key %s: %w", key, err)
	}
	m.keys[key] = id
	return nil
}

// Unbind deletes a key.
func (m *Store) Unbind(ctx context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := store.CheckKey(key); err != nil {
		return err
	}
	if err := m.ready(ctx); err != nil {
		return err
	}
	delete(m.keys, key)
	return nil
}

// Claim binds a key that is unbound.
func (m *Store) Claim(ctx context.Context, key string, id firn.ID) (firn.ID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if holder, err := m.lookup(ctx, key); !errors.Is(err, firn.ErrNotFound) {
		return holder, err
	}
	return id, m.bind(ctx, key, id)
}

// change runs do on a session that was not purged.
func (m *Store) change(ctx context.Context, id firn.ID, do func(*session)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(ctx); err != nil {
		return err
	}
	s := m.sessions[id]
	if s == nil || s.purged != nil {
		return fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
	}
	do(s)
	s.wake()
	return nil
}

// Archive hides a session from lists.
func (m *Store) Archive(ctx context.Context, id firn.ID) error {
	return m.archive(ctx, id, true)
}

// Unarchive makes an archived session visible again.
func (m *Store) Unarchive(ctx context.Context, id firn.ID) error {
	return m.archive(ctx, id, false)
}

func (m *Store) archive(ctx context.Context, id firn.ID, archived bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.live(ctx, id)
	if err == nil {
		s.archived = archived
	}
	return err
}

// Remove moves a session to the trash bin.
func (m *Store) Remove(ctx context.Context, id firn.ID, reason string) error {
	return m.change(ctx, id, func(s *session) {
		if !s.removed {
			s.removed, s.removedAt, s.reason = true, m.now(), reason
		}
	})
}

// Bin lists the sessions in the trash bin.
func (m *Store) Bin(ctx context.Context) ([]store.Binned, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(ctx); err != nil {
		return nil, err
	}
	var all []store.Binned
	for id, s := range m.sessions {
		if s.removed && s.purged == nil {
			all = append(all, store.Binned{Info: s.info(id), Removed: s.removedAt, Reason: s.reason})
		}
	}
	store.SortBinned(all)
	return all, nil
}

// Restore moves a session out of the trash bin.
func (m *Store) Restore(ctx context.Context, id firn.ID) error {
	return m.change(ctx, id, func(s *session) { s.removed = false })
}

// Purge erases a session, or some of its entries.
func (m *Store) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (store.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(ctx); err != nil {
		return store.Receipt{}, err
	}
	s := m.sessions[id]
	if s == nil {
		return store.Receipt{}, fmt.Errorf("purge session %s: %w", id, firn.ErrNotFound)
	}
	if s.purged != nil {
		return *s.purged, nil
	}
	receipt := store.Receipt{Session: id, Entries: slices.Clone(entries), Reason: reason, Begun: m.now(), Files: []string{}}
	if len(entries) == 0 {
		s.entries, s.purged = nil, &receipt
	} else if err := s.erase(entries); err != nil {
		return store.Receipt{}, fmt.Errorf("purge entries of session %s: %w", id, err)
	}
	receipt.Done = m.now()
	s.wake()
	return receipt, nil
}

// erase replaces entries with gaps that keep their place in the tree. If one is missing, it
// erases none.
func (s *session) erase(ids []firn.EntryID) error {
	left := slices.Clone(s.entries)
	for _, id := range ids {
		i := s.find(id)
		if i < 0 || id == "" {
			return fmt.Errorf("entry %q: %w", id, firn.ErrNotFound)
		}
		raw, err := erasedLine(left[i])
		if err != nil {
			return fmt.Errorf("entry %q: %w", id, err)
		}
		left[i].Body, left[i].Extra = &firn.Opaque{Type: firn.KindErased, Raw: raw}, nil
	}
	s.entries = left
	return nil
}

// erasedLine returns the line of an erased entry in the native format.
func erasedLine(e firn.Entry) (json.RawMessage, error) {
	line := struct {
		Type   firn.Kind     `json:"type"`
		ID     firn.EntryID  `json:"id"`
		Parent *firn.EntryID `json:"parentId"`
		Time   string        `json:"timestamp"`
	}{Type: firn.KindErased, ID: e.ID, Time: e.Time.Format("2006-01-02T15:04:05.000Z")}
	if e.Parent != "" {
		line.Parent = &e.Parent
	}
	return json.Marshal(line)
}
