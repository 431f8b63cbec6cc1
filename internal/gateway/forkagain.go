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

// forkTries is how often a request may begin its fork anew because a crash
// interrupted the copy.
const forkTries = 32

// copied is what the log tells of a fork that a request has made or begun.
type copied struct {
	// whole says that all of it is there, hidden that lists do not show it.
	whole, hidden bool
	replaces      firn.ID
}

// forkedBefore returns the id of the fork that a request makes, and what is known of
// it if the same request made it before. The id of a request with a name is always
// the same, but for copies that a crash interrupted: they are left, hidden.
func (g *Gateway) forkedBefore(ctx context.Context) (firn.ID, *copied, error) {
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
			return "", nil, fmt.Errorf("hide session %s, whose copy is not whole: %w", id, err)
		}
	}
	return "", nil, &wire.Problem{Kind: wire.Conflict, Message: fmt.Sprintf("the fork was interrupted %d times", forkTries), Hint: "use a new Idempotency-Key"}
}

// findCopy reads how far a request came with a fork; nil if it did not begin it.
func (g *Gateway) findCopy(ctx context.Context, id firn.ID, r request) (*copied, error) {
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

// forkedAgain answers a request that made its fork before. The copy is made sure of,
// and the key points at it, unless it was pointed elsewhere since.
func (g *Gateway) forkedAgain(ctx context.Context, id firn.ID, made *copied, key string) (wire.Session, error) {
	if err := store.Confirm(ctx, g.Store, id, store.Start); err != nil {
		return wire.Session{}, err
	}
	if key == "" {
		return g.session(ctx, id)
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
	return g.updated(g.session(ctx, id))
}

// keyHolder returns the session that a key points at; empty if none.
func (g *Gateway) keyHolder(ctx context.Context, key string) (firn.ID, error) {
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

// bindKey points a key at a session that was just made. If that fails the session is
// there nevertheless, so the error is an ErrUnknownOutcome.
func (g *Gateway) bindKey(ctx context.Context, key string, id firn.ID) error {
	if err := store.Bind(ctx, g.Store, key, id); err != nil {
		return fmt.Errorf("point key %s at session %s: %w", key, id, halfDone(err))
	}
	return nil
}

// halfDone makes the error of a later step an ErrUnknownOutcome: what the first steps
// wrote is there.
func halfDone(err error) error {
	if errors.Is(err, firn.ErrUnknownOutcome) {
		return err
	}
	return fmt.Errorf("%w: %w", firn.ErrUnknownOutcome, err)
}
