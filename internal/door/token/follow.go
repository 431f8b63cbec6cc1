package token

import (
	"context"
	"slices"
	"sync"
	"time"

	"firn.dev/wire"
)

// A record shared by several gateways is not loaded for every request. The storage sends
// notifications of changes, and is polled in addition. If a secret is unknown, the record is
// loaded before the secret is rejected, since the token may just have been created
// elsewhere.
//
// While the storage does not answer, known tokens stay valid for reading for a limited time,
// and unknown ones are rejected.
const (
	// askEvery is the polling interval.
	askEvery = 5 * time.Second
	// freshFor is the maximum age of the record for requests that change something. It must
	// be longer than a leader election takes. oldFor is the maximum age for any request.
	freshFor = 30 * time.Second
	oldFor   = 10 * time.Minute
	// patience is how long to wait for the storage.
	patience = 3 * time.Second
)

// follower keeps a book in sync with its storage.
type follower struct {
	end  context.CancelFunc
	work sync.WaitGroup
}

// follow starts following the storage.
func (b *Book) follow(w Watched) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{end: cancel}
	b.follower = f
	news := make(chan struct{}, 1)
	f.work.Go(func() {
		w.Watch(ctx, func() {
			select {
			case news <- struct{}{}:
			default: // a load is already pending
			}
		})
	})
	f.work.Go(func() { b.followChanges(ctx, news) })
}

func (f *follower) stop() {
	f.end()
	f.work.Wait()
}

// followChanges loads the record on every notification, and at intervals.
func (b *Book) followChanges(ctx context.Context, news <-chan struct{}) {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for {
		select {
		case <-news:
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		bounded, cancel := context.WithTimeout(ctx, patience)
		if b.refresh(bounded, b.clock()) == nil {
			_ = b.note(bounded, usedEveryShared) // retried next time
		} else if b.age() > oldFor {
			b.endAll()
		}
		cancel()
	}
}

// age returns the time since the start of the last successful load.
func (b *Book) age() time.Duration {
	now := b.clock()
	b.mu.Lock()
	defer b.mu.Unlock()
	return now.Sub(b.asked)
}

// endAll notifies all watchers except those of turns, since the state of their tokens is
// unknown.
func (b *Book) endAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers = slices.DeleteFunc(b.watchers, func(w *watcher) bool {
		if !w.work {
			w.ended()
		}
		return !w.work
	})
}

// currentPage returns the record. If the storage is local, it is the current record. Otherwise it
// is the cached page if known returns true for it, and else the current one.
func (b *Book) currentPage(ctx context.Context, known func(page) bool) (page, error) {
	if b.follower == nil {
		err := b.refresh(ctx, b.clock())
		return b.latest(), err
	}
	since := b.clock()
	age := b.age()
	if age > oldFor {
		return page{}, unavailableError()
	}
	if p := b.latest(); known(p) {
		return p, nil
	}
	if age > freshFor {
		return page{}, unavailableError()
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := b.refresh(bounded, since); err != nil {
		if ctx.Err() != nil {
			return page{}, context.Cause(ctx)
		}
		return page{}, unavailableError()
	}
	return b.latest(), nil
}

func (b *Book) latest() page {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.page
}

// unavailableError is the error if it cannot be determined whether a token is valid.
func unavailableError() error {
	return &wire.Problem{Kind: wire.Unavailable, Message: "cannot check the token: the servers that store the tokens do not respond", Hint: "try again in a moment"}
}
