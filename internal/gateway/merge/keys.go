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
// more. Only the table changes: the transcripts record the claims already. Of all sessions
// that claim a key, the one with the greatest (time, session ID) wins on every machine.
func bindKeys(ctx context.Context, st store.Store, id firn.ID, names store.Checkpoint) error {
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
				continue
			}
			other, claimed, err := claimOf(ctx, st, now, claim.Key)
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

// claimOf returns the claim of a session for a key. It reads back to the latest checkpoint.
func claimOf(ctx context.Context, st store.Store, id firn.ID, key string) (store.Claim, bool, error) {
	var later []firn.Entry
	for rec, err := range st.ReadBack(ctx, id, store.End) {
		if err != nil {
			return store.Claim{}, false, err
		}
		if rec.Gap != nil || !concernsKeys(rec.Glance.Kind) {
			continue
		}
		e, err := rec.Entry()
		if err != nil {
			continue
		}
		later = append(later, e)
		if b, ok := e.Body.(*firn.Custom); ok {
			if _, complete := store.CheckpointOf(b); complete {
				break
			}
		}
	}
	var c store.Checkpoint
	for _, e := range slices.Backward(later) {
		c.See(id, e)
	}
	i := slices.IndexFunc(c.Keys, func(claim store.Claim) bool { return claim.Key == key })
	if i < 0 {
		return store.Claim{}, false, nil
	}
	return c.Keys[i], true, nil
}

// concernsKeys reports whether entries of that kind can change the keys of a session.
func concernsKeys(kind firn.Kind) bool { return kind == firn.KindHeader || kind == firn.KindCustom }

// releaseKeys handles the keys that point to a session that does not claim them: another
// session that claims them gets them, or they are deleted.
func releaseKeys(ctx context.Context, st store.Store, keyed store.Keyed, id firn.ID, names store.Checkpoint) error {
	source, ok := store.As[store.Source](st)
	unbinder, can := store.As[store.Unbinder](st)
	if !ok || !can {
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
		winner, err := electSession(ctx, st, key)
		if err != nil {
			return err
		}
		if winner == "" {
			err = unbinder.Unbind(ctx, key)
		} else {
			err = keyed.Bind(ctx, key, winner)
		}
		if err != nil {
			return err
		}
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
