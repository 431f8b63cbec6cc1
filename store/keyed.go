package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"firn.dev"
)

// maxKeyLen bounds the length of a key in bytes.
const maxKeyLen = 1024

// CheckKey refuses what cannot be a key: nothing, more than 1024 bytes,
// invalid text and control characters.
func CheckKey(key string) error {
	if key == "" || len(key) > maxKeyLen {
		return fmt.Errorf("%w key %.40q: want 1 to %d bytes", firn.ErrInvalid, key, maxKeyLen)
	}
	if !plain(key) {
		return fmt.Errorf("%w key %.40q: want text without control characters", firn.ErrInvalid, key)
	}
	return nil
}

// mainAgent is whose a session is when nobody says it.
const mainAgent = "main"

// AgentOf returns the agent that a key belongs to: that of agent:<agent>:…,
// else "main".
func AgentOf(key string) string {
	rest, ok := strings.CutPrefix(key, "agent:")
	if !ok {
		return mainAgent
	}
	agent, _, ok := strings.Cut(rest, ":")
	if !ok || agent == "" {
		return mainAgent
	}
	return agent
}

// LoadOrCreate returns the session that a key points at, and begins one if it
// points nowhere. A store that is not [Keyed] gives ErrUnsupported.
//
// Callers that come with the same new key at the same time all get the same
// session if the store is a [Claimer]; each of the others has then begun a
// session in vain, which is left behind hidden. With other stores the last one
// to bind wins, and those before it may hold a session that the key no longer
// points at.
func LoadOrCreate(ctx context.Context, s Store, key string) (firn.ID, error) {
	return LoadOrCreateIn(ctx, s, key, "")
}

// LoadOrCreateIn is LoadOrCreate of a session that, if it is begun, is begun in a directory.
func LoadOrCreateIn(ctx context.Context, s Store, key, cwd string) (firn.ID, error) {
	if err := CheckKey(key); err != nil {
		return "", err
	}
	keyed, ok := As[Keyed](s)
	if !ok {
		return "", fmt.Errorf("load or create the session of key %s: the store keeps no keys: %w", key, firn.ErrUnsupported)
	}
	id, err := keyed.Lookup(ctx, key)
	if errors.Is(err, firn.ErrNotFound) {
		id, err = create(ctx, s, keyed, key, cwd)
	}
	if err != nil {
		return "", fmt.Errorf("load or create the session of key %s: %w", key, err)
	}
	return id, nil
}

// create begins a session and points the key at it, unless somebody was
// faster: then it returns theirs and hides its own.
func create(ctx context.Context, s Store, keyed Keyed, key, cwd string) (firn.ID, error) {
	id := firn.NewID()
	header := firn.Entry{Body: &firn.Header{Session: id, Agent: AgentOf(key), Key: key, CWD: cwd}}
	if _, err := s.Append(ctx, id, Start, header); err != nil {
		return "", err
	}
	winner, err := claim(ctx, s, keyed, key, id)
	if err != nil || winner == id {
		return winner, err
	}
	return winner, Discard(ctx, s, id, key, winner)
}

// Discard hides a session that was begun for a key at the same time as another one, to
// which the key points.
func Discard(ctx context.Context, s Store, id firn.ID, key string, winner firn.ID) error {
	moved, err := KeyEntry(key, winner)
	if err != nil {
		return err
	}
	vain := firn.Entry{Body: &firn.Tombstone{Target: firn.EntryID(id), Reason: "another session was begun for its key at the same time"}}
	_, err = s.Append(ctx, id, Any, moved, vain)
	return err
}

// claim points the key at id and returns where the key points afterwards.
func claim(ctx context.Context, s Store, keyed Keyed, key string, id firn.ID) (firn.ID, error) {
	if claimer, ok := As[Claimer](s); ok {
		return claimer.Claim(ctx, key, id)
	}
	err := keyed.Bind(ctx, key, id)
	if errors.Is(err, firn.ErrConflict) {
		return keyed.Lookup(ctx, key)
	}
	return id, err
}
