package unionstore

import (
	"context"
	"errors"
	"iter"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// Follow yields the records after a position and then new ones. If the session is taken
// over meanwhile, it ends with a *[store.Moved], because positions of the source are not
// valid in the copy. It starts with one if the position is from before the takeover.
func (u *Store) Follow(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		taken, leave := u.watch(id)
		defer leave()
		source, foreign := u.SourceOf(ctx, id)
		if foreign {
			u.followSource(ctx, id, source, after, taken, yield)
			return
		}
		if !u.isPlace(ctx, id, after) {
			yield(store.Record{}, &store.Moved{ID: id})
			return
		}
		for record, err := range u.own.Follow(ctx, id, after) {
			if !yield(record, err) {
				return
			}
		}
	}
}

// errTaken ends following a source.
var errTaken = errors.New("the session was taken over")

// followSource follows a session of a source until it is taken over.
func (u *Store) followSource(ctx context.Context, id firn.ID, source Source, after store.Pos, taken <-chan struct{}, yield func(store.Record, error) bool) {
	following, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		u.await(following, id, taken)
		cancel(errTaken)
	}()
	defer func() {
		cancel(nil)
		<-done
	}()
	for record, err := range source.Follow(following, id, after) {
		if following.Err() != nil {
			break
		}
		if !yield(record, err) || err != nil {
			return
		}
	}
	if ctx.Err() == nil && errors.Is(context.Cause(following), errTaken) {
		yield(store.Record{}, &store.Moved{ID: id})
	}
}

// pollInterval is the interval of checks whether another process took over a session.
const pollInterval = 500 * time.Millisecond

// await waits until a session is taken over.
func (u *Store) await(ctx context.Context, id firn.ID, taken <-chan struct{}) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-taken:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
			if u.isOurs(ctx, id) {
				return
			}
		}
	}
}

// watch returns a channel that is closed when a session is taken over.
func (u *Store) watch(id firn.ID) (taken chan struct{}, leave func()) {
	taken = make(chan struct{})
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.watchers[id] == nil {
		u.watchers[id] = make(map[chan struct{}]bool)
	}
	u.watchers[id][taken] = true
	return taken, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if delete(u.watchers[id], taken); len(u.watchers[id]) == 0 {
			delete(u.watchers, id)
		}
	}
}

// notifyTaken notifies the watchers of a session that it was taken over.
func (u *Store) notifyTaken(id firn.ID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for taken := range u.watchers[id] {
		close(taken)
	}
	delete(u.watchers, id)
}

// isPlace reports whether an entry of a session ends at a position. It is called only for
// sessions that a source has; others have no foreign positions.
func (u *Store) isPlace(ctx context.Context, id firn.ID, pos store.Pos) bool {
	if pos == store.Start || pos == store.End {
		return true
	}
	if _, shadowed := u.sourceWith(ctx, id); !shadowed {
		return true
	}
	for record, err := range u.own.ReadBack(ctx, id, pos) {
		return err != nil || record.Gap == nil && record.Next == pos // the follower reports the error
	}
	return false
}
