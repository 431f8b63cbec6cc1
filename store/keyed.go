package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"firn.dev"
)

// maxKeyLen is the maximum length of a key in bytes.
const maxKeyLen = 1024

// CheckKey returns ErrInvalid unless a key has 1 to 1024 bytes of valid UTF-8 without
// control characters.
func CheckKey(key string) error {
	if key == "" || len(key) > maxKeyLen {
		return fmt.Errorf("%w key %.40q: expected 1 to %d bytes", firn.ErrInvalid, key, maxKeyLen)
	}
	if !isPrintable(key) {
		return fmt.Errorf("%w key %.40q: expected text without control characters", firn.ErrInvalid, key)
	}
	return nil
}

// mainAgent is the default agent of a session.
const mainAgent = "main"

// AgentOf returns the agent that a key belongs to: <agent> for keys of the form
// agent:<agent>:…, else "main".
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

// LoadOrCreate returns the session a key points to, and creates one if the key is not
// bound. It returns ErrUnsupported if the store is not [Keyed].
//
// If the store is a [Claimer], concurrent callers with the same new key all get the same
// session. The sessions that the other callers created are hidden. With other stores the
// last caller to bind wins, and earlier callers may hold a session that the key no longer
// points to.
func LoadOrCreate(ctx context.Context, s Store, key string) (firn.ID, error) {
	return LoadOrCreateIn(ctx, s, key, "")
}

// LoadOrCreateIn is LoadOrCreate with the working directory of a new session.
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

// create creates a session and binds the key to it. If another caller was faster, it
// returns that caller's session and hides its own.
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

// Discard hides a session that lost the race for a key to winner.
func Discard(ctx context.Context, s Store, id firn.ID, key string, winner firn.ID) error {
	moved, err := KeyEntry(key, winner)
	if err != nil {
		return err
	}
	vain := firn.Entry{Body: &firn.Tombstone{Target: firn.EntryID(id), Reason: "another session was started for its key concurrently"}}
	_, err = s.Append(ctx, id, Any, moved, vain)
	return err
}

// claim binds the key to id and returns the session the key points to afterwards.
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
