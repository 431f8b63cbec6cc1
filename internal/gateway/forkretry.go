package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// forkTries is the number of times a request may restart its fork after a crash.
const forkTries = 32

// copied is the state of a fork that a request has made or started.
type copied struct {
	// whole is set if the copy is complete, hidden if lists do not show it.
	whole, hidden bool
	replaces      firn.ID
}

// forkedBefore returns the ID of the fork that a request makes, and its state if the same
// request made it before. The ID is derived from the request, except after a copy that was
// interrupted by a crash; such copies stay hidden.
func (g *sessionEditor) forkedBefore(ctx context.Context) (firn.ID, *copied, error) {
	r, ok := requestOf(ctx)
	if !ok {
		return firn.NewID(), nil, nil
	}
	for try := range forkTries {
		id := r.id(fmt.Sprintf("fork %d", try))
		found, err := g.findCopy(ctx, id, r)
		if err != nil || found == nil || found.whole {
			return id, found, err
		}
		if found.hidden {
			continue
		}
		vain := firn.NewEntry(&firn.Tombstone{Target: firn.EntryID(id), Reason: "the copy is not whole"})
		if _, err := g.Store.Append(ctx, id, store.Any, vain); err != nil {
			return "", nil, fmt.Errorf("hide incomplete fork %s: %w", id, err)
		}
	}
	return "", nil, &wire.Problem{Kind: wire.Conflict, Message: fmt.Sprintf("the fork was interrupted %d times", forkTries), Hint: "use a new Idempotency-Key"}
}

// findCopy reads the state of a request's fork; nil if it was not started.
func (g *sessionEditor) findCopy(ctx context.Context, id firn.ID, r request) (*copied, error) {
	found := &copied{}
	for rec, err := range g.Store.Read(ctx, id, store.Start) {
		if errors.Is(err, firn.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		entry, err := rec.Entry()
		if err != nil {
			continue
		}
		switch b := entry.Body.(type) {
		case *firn.Tombstone:
			found.hidden = found.hidden || b.Target == firn.EntryID(id)
		case *firn.Custom:
			var mark forkMark
			if b.Type == countersType && json.Unmarshal(b.Data, &mark) == nil && mark.Forked != nil {
				found.replaces = mark.Forked.Replaces
			}
		}
		if name, body, ok := addedFor(&rec); ok && name == r.name && body == r.body {
			found.whole = true
			break
		}
	}
	return found, nil
}

// forkedAgain answers a repeated request. It confirms that the copy is durable and points
// the key at it, unless the key was pointed elsewhere since.
func (g *sessionEditor) forkedAgain(ctx context.Context, id firn.ID, made *copied, key string) (wire.Session, error) {
	if err := store.Confirm(ctx, g.Store, id, store.Start); err != nil {
		return wire.Session{}, err
	}
	if key == "" {
		return g.reader.session(ctx, id)
	}
	k, err := g.canonical(key)
	if err != nil {
		return wire.Session{}, err
	}
	holder, err := g.keyHolder(ctx, k.String())
	if err != nil {
		return wire.Session{}, err
	}
	if holder == id || holder == made.replaces {
		if err := g.bindKey(ctx, k.String(), id); err != nil {
			return wire.Session{}, err
		}
	}
	return g.reader.updated(g.reader.session(ctx, id))
}

// keyHolder returns the session that a key points at, or "".
func (g *sessionEditor) keyHolder(ctx context.Context, key string) (firn.ID, error) {
	if key == "" {
		return "", nil
	}
	keyed, err := g.keyed()
	if err != nil {
		return "", err
	}
	id, err := keyed.Lookup(ctx, key)
	if err != nil && !errors.Is(err, firn.ErrNotFound) {
		return "", fmt.Errorf("find the session of key %s: %w", key, err)
	}
	return id, nil
}

// bindKey points a key at a new session. On failure the session exists nevertheless, so the
// error is an ErrUnknownOutcome.
func (g *sessionEditor) bindKey(ctx context.Context, key string, id firn.ID) error {
	if err := store.Bind(ctx, g.Store, key, id); err != nil {
		return fmt.Errorf("point key %s at session %s: %w", key, id, halfDone(err))
	}
	return nil
}

// halfDone wraps the error of a later step in ErrUnknownOutcome, because earlier steps have
// been written.
func halfDone(err error) error {
	if errors.Is(err, firn.ErrUnknownOutcome) {
		return err
	}
	return fmt.Errorf("%w: %w", firn.ErrUnknownOutcome, err)
}
