package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"firn.dev"
)

// keeper seals sessions in the background that this store has appended to: idle ones, and
// those with many messages. It never delays an append: it seals concurrently with writers,
// and if a writer is faster, the seal is rejected without effect. It also writes missing
// rows of the index, so that the next process to open the store need not build them.
type keeper struct {
	st *Store
	// after is how long a session must be idle; never if negative.
	after time.Duration
	// wake signals that a session may be due before the next round.
	wake chan struct{}

	mu    sync.Mutex
	loose map[firn.ID]loose
	// round is held while due sessions are processed.
	round sync.Mutex
}

// loose is a session with messages that are not in a seal.
type loose struct {
	messages int
	bytes    int64
	// touched is the time of the last message.
	touched time.Time
	// fails is the number of failed attempts to seal it since it was first touched;
	// notBefore is the earliest time of the next one.
	fails     int
	notBefore time.Time
}

const (
	defaultSealAfter = 10 * time.Minute
	// manyMessages and manyBytes are the limits for unsealed data of an active session.
	manyMessages = 256
	manyBytes    = 512 << 10
	// maxLoose is the maximum number of sessions that are tracked. Others are sealed when
	// they are used again.
	maxLoose = 1 << 16
	// maxDelay is the maximum delay after failed attempts.
	maxDelay = 10 * time.Minute
)

func newKeeper(st *Store) *keeper {
	return &keeper{st: st, after: st.opts.SealAfter, wake: make(chan struct{}, 1), loose: make(map[firn.ID]loose)}
}

// many reports whether a session exceeds the limits for an active session.
func (l *loose) many() bool { return l.messages > manyMessages || l.bytes > manyBytes }

// due reports whether a session should be sealed now.
func (l *loose) due(now time.Time, after time.Duration) bool {
	return !now.Before(l.notBefore) && (l.many() || now.Sub(l.touched) >= after)
}

// failed delays the next attempt, longer each time.
func (l *loose) failed(now time.Time) {
	l.fails++
	l.notBefore = now.Add(min(maxDelay, time.Second<<min(l.fails, 10)))
}

// touch records the tail of a session that this store has written to.
func (k *keeper) touch(id firn.ID, t tail) {
	if k.after < 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l, known := k.loose[id]
	if t.loose == 0 || t.gone() {
		delete(k.loose, id)
		return
	}
	if !known && len(k.loose) >= maxLoose {
		return
	}
	l.messages, l.bytes, l.touched = t.loose, t.size-t.base, k.st.opts.Now()
	k.loose[id] = l
	if l.many() && l.due(l.touched, k.after) {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

// due returns the sessions that should be sealed, longest idle first.
func (k *keeper) due(now time.Time) []firn.ID {
	k.mu.Lock()
	defer k.mu.Unlock()
	var ids []firn.ID
	for id, l := range k.loose {
		if l.due(now, k.after) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b firn.ID) int { return k.loose[a].touched.Compare(k.loose[b].touched) })
	return ids
}

// run seals due sessions until the context is done.
func (k *keeper) run(ctx context.Context) {
	if k.after < 0 {
		return
	}
	ticker := time.NewTicker(min(max(k.after/10, time.Second), 30*time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			k.sealDue(ctx)
			k.index(ctx, chunk)
		case <-k.wake:
			k.sealDue(ctx)
		}
	}
}

// sealDue seals the due sessions one after the other.
func (k *keeper) sealDue(ctx context.Context) {
	k.round.Lock()
	defer k.round.Unlock()
	for _, id := range k.due(k.st.opts.Now()) {
		k.mu.Lock()
		was := k.loose[id]
		k.mu.Unlock()
		err := k.seal(ctx, id)
		if ctx.Err() != nil {
			return
		}
		k.finishAttempt(id, was, err)
	}
}

// seal seals a session without acquiring it. A concurrent append takes precedence.
func (k *keeper) seal(ctx context.Context, id firn.ID) error {
	s := &session{id: id}
	s.low.Store(k.st.lastSeen(id))
	err := k.st.seal(ctx, s)
	if err == nil {
		k.st.invalidate(id, s.low.Load())
	}
	return err
}

// finishAttempt updates a session after an attempt to seal it; was is its state before. If
// it was appended to since, it becomes due again later.
func (k *keeper) finishAttempt(id firn.ID, was loose, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, known := k.loose[id]
	switch {
	case !known || err == nil && l != was:
	case err == nil, errors.Is(err, firn.ErrNotFound):
		delete(k.loose, id)
	case errors.Is(err, firn.ErrCorrupt):
		delete(k.loose, id)
		k.st.opts.Report(fmt.Sprintf("session %s cannot be sealed and is unchanged: %v", id, err))
	default: // another writer was faster, or the cluster does not respond
		l.failed(k.st.opts.Now())
		k.loose[id] = l
	}
}

// invalidate marks the cached tail of a session as outdated, unless the session is in use:
// its user will find out.
func (st *reader) invalidate(id firn.ID, seq uint64) {
	st.mu.Lock()
	s := st.sessions[id]
	st.mu.Unlock()
	if s == nil {
		return
	}
	select {
	case s.turn <- struct{}{}:
		s.fresh = s.fresh && s.tail.seq >= seq
		s.noteSequence(seq)
		<-s.turn
	default:
	}
}

// index writes rows if more than a few are missing, in small steps, so that listing never
// waits long.
func (k *keeper) index(ctx context.Context, few int) {
	x := k.st.index
	for shard := range k.st.names.shards {
		for more := true; more && ctx.Err() == nil; {
			err := x.with(ctx, func() (err error) {
				if more = len(x.pending.sessions) > few; more {
					if err = x.read(ctx); err == nil {
						more, err = x.catchUpSome(ctx, shard)
					}
				}
				return err
			})
			if err != nil {
				return // the next round tries again
			}
		}
	}
	_ = x.with(ctx, func() error { x.prune(); return nil }) // fails only if the store is being closed
}
