package merge

import (
	"context"
	"errors"
	"slices"

	"firn.dev"
	"firn.dev/store"
)

// bindKeys points the keys that the session claims to it, unless another session has a newer
// claim, and elects another session for keys that point to it although it claims them no
// more. If the merge changed the claims, an older claim may be left of a key that points to
// the session: then all sessions are compared. Only the table changes: the transcripts record
// the claims already. Of all sessions that claim a key, the one with the greatest (time,
// session ID) wins on every machine.
func bindKeys(ctx context.Context, st store.Store, id firn.ID, names store.Checkpoint, changed bool) error {
	keyed, ok := store.As[store.Keyed](st)
	if !ok {
		return nil
	}
	for _, claim := range names.Keys {
		now, err := keyed.Lookup(ctx, claim.Key)
		if err != nil && !errors.Is(err, firn.ErrNotFound) {
			return err
		}
		if err == nil {
			if now == id {
				if changed {
					if err := rebind(ctx, st, keyed, claim.Key); err != nil {
						return err
					}
				}
				continue
			}
			other, claimed, err := store.ClaimOf(ctx, st, now, claim.Key)
			if err != nil {
				return err
			}
			if claimed && !newer(claim, id, other, now) {
				continue
			}
		}
		if err := keyed.Bind(ctx, claim.Key, id); err != nil {
			return err
		}
	}
	return releaseKeys(ctx, st, keyed, id, names)
}

// newer reports whether a claim of session a is newer than one of session b.
func newer(x store.Claim, a firn.ID, y store.Claim, b firn.ID) bool {
	return x.At > y.At || x.At == y.At && a > b
}

// releaseKeys handles the keys that point to a session that does not claim them: another
// session that claims them gets them, or they are deleted.
func releaseKeys(ctx context.Context, st store.Store, keyed store.Keyed, id firn.ID, names store.Checkpoint) error {
	source, ok := store.As[store.Source](st)
	if !ok {
		return nil
	}
	bound, err := source.Bindings(ctx)
	if err != nil {
		return err
	}
	for key, to := range bound {
		if to != id || slices.ContainsFunc(names.Keys, func(c store.Claim) bool { return c.Key == key }) {
			continue
		}
		if err := rebind(ctx, st, keyed, key); err != nil {
			return err
		}
	}
	return nil
}

// rebind points a key to the session with the newest claim, or deletes it if there is none.
func rebind(ctx context.Context, st store.Store, keyed store.Keyed, key string) error {
	winner, err := electSession(ctx, st, key)
	if err != nil {
		return err
	}
	if winner != "" {
		return keyed.Bind(ctx, key, winner)
	}
	if unbinder, ok := store.As[store.Unbinder](st); ok {
		return unbinder.Unbind(ctx, key)
	}
	return nil
}

// electSession returns the session with the newest claim for a key; empty if there is none.
func electSession(ctx context.Context, st store.Store, key string) (winner firn.ID, err error) {
	var best store.Claim
	for _, q := range []store.Query{{}, {Archived: true}, {Hidden: true}, {Archived: true, Hidden: true}} {
		q.Key = key
		for info, err := range st.List(ctx, q) {
			if err != nil {
				return "", err
			}
			for _, claim := range info.Claims() {
				if claim.Key == key && (winner == "" || newer(claim, info.ID, best, winner)) {
					best, winner = claim, info.ID
				}
			}
		}
	}
	return winner, nil
}
