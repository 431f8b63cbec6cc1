package token

import (
	"context"
	"slices"
	"sync"
	"time"

	"firn/wire"
)

// A book that several gateways share is not asked for each request: what changes
// is told, and now and then it is asked whether that is all. A secret that nobody
// here knows is asked about before it is refused: it may have been made elsewhere
// a moment ago.
//
// While the keep does not answer, what is known stays good for a while, to read
// with. Nothing new is believed then.
const (
	// askEvery is how often it is asked whether anything has changed.
	askEvery = 5 * time.Second
	// freshFor is how old an answer may be to let somebody change something, which
	// must be longer than servers take to find out who leads; oldFor to let them in
	// at all.
	freshFor = 30 * time.Second
	oldFor   = 10 * time.Minute
	// patience is how long it is waited for an answer.
	patience = 3 * time.Second
)

// follower keeps a book up with its keep.
type follower struct {
	end  context.CancelFunc
	work sync.WaitGroup
}

// follow begins to keep up.
func (b *Book) follow(w Watched) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{end: cancel}
	b.follower = f
	news := make(chan struct{}, 1)
	f.work.Go(func() {
		w.Watch(ctx, func() {
			select {
			case news <- struct{}{}:
			default: // it will be asked anyway
			}
		})
	})
	f.work.Go(func() { b.keepUp(ctx, news) })
}

func (f *follower) stop() {
	f.end()
	f.work.Wait()
}

// keepUp asks the keep whenever there are news, and now and then.
func (b *Book) keepUp(ctx context.Context, news <-chan struct{}) {
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
			_ = b.note(bounded, usedEveryShared) // tried again the next time
		} else if b.age() > oldFor {
			b.endAll()
		}
		cancel()
	}
}

// age is how long ago the keep was asked that answered last.
func (b *Book) age() time.Duration {
	now := b.clock()
	b.mu.Lock()
	defer b.mu.Unlock()
	return now.Sub(b.asked)
}

// endAll tells all watchers but those of turns: nobody knows whether their tokens are
// good.
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

// look returns the page: as it is now if it is near; else one in which something
// is known that is looked for, or, if there is none, as it is now.
func (b *Book) look(ctx context.Context, known func(page) bool) (page, error) {
	if b.follower == nil {
		err := b.refresh(ctx, b.clock())
		return b.latest(), err
	}
	since := b.clock()
	age := b.age()
	if age > oldFor {
		return page{}, away()
	}
	if p := b.latest(); known(p) {
		return p, nil
	}
	if age > freshFor {
		return page{}, away()
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := b.refresh(bounded, since); err != nil {
		if ctx.Err() != nil {
			return page{}, context.Cause(ctx)
		}
		return page{}, away()
	}
	return b.latest(), nil
}

func (b *Book) latest() page {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.page
}

// away is what somebody is told of whom nobody knows whether they may come in.
func away() error {
	return &wire.Problem{Kind: wire.Unavailable, Message: "whether that lets you in cannot be found out: the servers that keep the tokens do not answer", Hint: "try again in a moment"}
}
