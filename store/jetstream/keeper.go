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

// keeper seals, in the background, the sessions that this store has added to:
// those that rest, and those that have got many messages. It never holds up an
// append: it seals beside those who write, and if one of them is faster the seal
// is refused and nothing has changed. It also writes down rows of the index when
// many are missing, so that who opens the store next need not make them.
type keeper struct {
	st *Store
	// after is how long a session must rest; never if it is negative.
	after time.Duration
	// wake says that something may be due before the next round.
	wake chan struct{}

	mu    sync.Mutex
	loose map[firn.ID]loose
	// round is held by who looks what is due.
	round sync.Mutex
}

// loose is a session with messages that are in no seal.
type loose struct {
	messages int
	bytes    int64
	// touched is when the last one came.
	touched time.Time
	// fails counts attempts to seal it in vain, since it was touched first;
	// notBefore is when the next one may be made.
	fails     int
	notBefore time.Time
}

const (
	defaultSealAfter = 10 * time.Minute
	// manyMessages and manyBytes are what a session may have behind its seal while
	// it is in use.
	manyMessages = 256
	manyBytes    = 512 << 10
	// maxLoose bounds how many sessions are remembered. The others are sealed once
	// they are used again.
	maxLoose = 1 << 16
	// maxDelay bounds how long after attempts in vain the next one is made.
	maxDelay = 10 * time.Minute
)

func newKeeper(st *Store) *keeper {
	return &keeper{st: st, after: st.opts.SealAfter, wake: make(chan struct{}, 1), loose: make(map[firn.ID]loose)}
}

// many reports whether a session has more messages than one that is in use should.
func (l *loose) many() bool { return l.messages > manyMessages || l.bytes > manyBytes }

// due reports whether a session is to be sealed now.
func (l *loose) due(now time.Time, after time.Duration) bool {
	return !now.Before(l.notBefore) && (l.many() || now.Sub(l.touched) >= after)
}

// failed puts the next attempt off, longer each time.
func (l *loose) failed(now time.Time) {
	l.fails++
	l.notBefore = now.Add(min(maxDelay, time.Second<<min(l.fails, 10)))
}

// touch takes notice of the end of a session that this store has written to.
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

// due returns the sessions that are to be sealed, those that rest longest first.
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

// run keeps until the context is done.
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
			k.keep(ctx)
			k.index(ctx, chunk)
		case <-k.wake:
			k.keep(ctx)
		}
	}
}

// keep seals what is due, one after the other.
func (k *keeper) keep(ctx context.Context) {
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
		k.settle(id, was, err)
	}
}

// seal seals a session without taking its turn. Whoever appends meanwhile wins.
func (k *keeper) seal(ctx context.Context, id firn.ID) error {
	s := &session{id: id}
	s.low.Store(k.st.seen(id))
	err := k.st.seal(ctx, s)
	if err == nil {
		k.st.outdate(id, s.low.Load())
	}
	return err
}

// settle decides what becomes of a session that was to be sealed and was so
// before. If somebody has added to it since it is looked at again in its time.
func (k *keeper) settle(id firn.ID, was loose, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, known := k.loose[id]
	switch {
	case !known || err == nil && l != was:
	case err == nil, errors.Is(err, firn.ErrNotFound):
		delete(k.loose, id)
	case errors.Is(err, firn.ErrCorrupt):
		delete(k.loose, id)
		k.st.opts.Report(fmt.Sprintf("session %s cannot be sealed, and stays as it is: %v", id, err))
	default: // somebody was faster, or nobody answers
		l.failed(k.st.opts.Now())
		k.loose[id] = l
	}
}

// outdate tells a session that its end is another message now, unless somebody
// is using it: they will find out.
func (st *Store) outdate(id firn.ID, seq uint64) {
	st.mu.Lock()
	s := st.sessions[id]
	st.mu.Unlock()
	if s == nil {
		return
	}
	select {
	case s.turn <- struct{}{}:
		s.fresh = s.fresh && s.tail.seq >= seq
		s.saw(seq)
		<-s.turn
	default:
	}
}

// index writes rows down if more than a few are missing, some at a time, so that
// nobody who lists has to wait for long.
func (k *keeper) index(ctx context.Context, few int) {
	x := k.st.index
	for shard := range k.st.names.shards {
		for more := true; more && ctx.Err() == nil; {
			err := x.with(ctx, func() (err error) {
				if more = len(x.news.stood) > few; more {
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
