package filestore

import (
	"context"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/store"
)

// table returns the key table of the agent that a key belongs to.
func (st *keyTables) table(key string) (*table, error) {
	if err := store.CheckKey(key); err != nil {
		return nil, err
	}
	agent := store.AgentOf(key)
	if err := checkAgent(agent); err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	t := st.tables[agent]
	if t == nil {
		t = openTable(st.fs, st.sessionsDir(agent), tableOptions{
			Now: st.opts.Now, ReadOnly: st.opts.ReadOnly, Rotate: st.opts.RotateKeys,
			Rebuild: func() (map[string]firn.ID, error) { return st.keysOf(agent) },
			Report:  st.reports.add,
		})
		st.tables[agent] = t
	}
	return t, nil
}

// keysOf returns the sessions of all keys of an agent according to the transcripts: for
// each key the latest claim, see [store.Claim]. A hidden session without a prompt lost the
// race for its key; it counts only if there is no other.
func (st *keyTables) keysOf(agent string) (map[string]firn.ID, error) {
	found, err := st.inspect.allTranscripts("") // a key may point to a session of another agent
	if err != nil {
		return nil, err
	}
	infos, err := st.claimants(found)
	if err != nil {
		return nil, err
	}
	type holder struct {
		id   firn.ID
		at   int64
		vain bool
	}
	latest := make(map[string]holder)
	for _, info := range infos {
		for _, c := range info.Claims() {
			if store.AgentOf(c.Key) != agent {
				continue
			}
			now := holder{info.ID, c.At, info.Hidden && info.Prompt == ""}
			old, ok := latest[c.Key]
			if !ok || now.vain != old.vain && old.vain || now.vain == old.vain && (now.at > old.at || now.at == old.at && now.id > old.id) {
				latest[c.Key] = now
			}
		}
	}
	keys := make(map[string]firn.ID, len(latest))
	for key, h := range latest {
		keys[key] = h.id
	}
	return keys, nil
}

// claimants returns the infos of transcripts. It reads only those that changed since they
// were added to the catalogue.
func (st *keyTables) claimants(found []transcript) ([]store.Info, error) {
	known := st.knownRows()
	archived, err := st.inspect.archived()
	if err != nil { // keys do not depend on it, only what the catalogue says
		known = func(store.Status) (store.Info, bool) { return store.Info{}, false }
	}
	infos := make([]store.Info, len(found))
	inParallel(st.lifetime, len(found), func() func(i int) {
		in := st.inspect.inspector()
		return func(i int) {
			status, err := st.inspect.status(found[i])
			status.Archived = archived[found[i].id]
			var ok bool
			if err == nil {
				infos[i], ok = known(status)
			}
			if !ok {
				infos[i] = in.inspect(st.lifetime, found[i])
			}
		}
	})
	return infos, st.lifetime.Err()
}

// Lookup returns the session a key points to.
func (st *Store) Lookup(ctx context.Context, key string) (firn.ID, error) {
	if err := st.startCall(ctx); err != nil {
		return "", err
	}
	defer st.finishCall()
	return st.lookup(key)
}

func (st *keyTables) lookup(key string) (firn.ID, error) {
	t, err := st.table(key)
	if err != nil {
		return "", err
	}
	id, ok, err := t.lookup(key)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", fmt.Errorf("look up key %s: %w", key, firn.ErrNotFound)
	}
	if t.unsaved() && !st.opts.ReadOnly {
		id = st.saveRebuilt(t, key, id)
	}
	if _, _, err := st.locate(id); err != nil {
		return "", fmt.Errorf("look up key %s: %w", key, err)
	}
	return id, nil
}

// saveRebuilt saves a table that was rebuilt from the transcripts before its answer is
// used. Other processes may be creating sessions for the same key, and a later rebuild
// could find a different one. If saving fails, the rebuilt answer is used.
func (st *keyTables) saveRebuilt(t *table, key string, id firn.ID) firn.ID {
	held, err := t.claim(key, id, st.sessionExists)
	if err != nil {
		st.reportLater("%v", err)
		return id
	}
	return held
}

// sessionExists reports whether a session can be used.
func (st *keyTables) sessionExists(id firn.ID) bool {
	_, _, err := st.locate(id)
	return err == nil
}

// Bind points a key to a session.
func (st *Store) Bind(ctx context.Context, key string, id firn.ID) error {
	if err := st.startWrite(ctx); err != nil {
		return err
	}
	defer st.finishCall()
	t, err := st.table(key)
	if err != nil {
		return err
	}
	if _, _, err := st.locate(id); err != nil {
		return fmt.Errorf("bind key %s: %w", key, err)
	}
	return t.bind(key, id)
}

// Unbind deletes a key and its row.
func (st *Store) Unbind(ctx context.Context, key string) error {
	if err := st.startWrite(ctx); err != nil {
		return err
	}
	defer st.finishCall()
	t, err := st.table(key)
	if err != nil {
		return err
	}
	return t.unbind(key)
}

// Claim binds a key that is unbound or whose session does not exist.
func (st *Store) Claim(ctx context.Context, key string, id firn.ID) (firn.ID, error) {
	if err := st.startWrite(ctx); err != nil {
		return "", err
	}
	defer st.finishCall()
	if holder, err := st.lookup(key); !errors.Is(err, firn.ErrNotFound) {
		return holder, err
	}
	t, err := st.table(key)
	if err != nil {
		return "", err
	}
	if _, _, err := st.locate(id); err != nil {
		return "", fmt.Errorf("claim key %s: %w", key, err)
	}
	return t.claim(key, id, func(held firn.ID) bool {
		_, _, err := st.locate(held)
		return !errors.Is(err, firn.ErrNotFound)
	})
}
