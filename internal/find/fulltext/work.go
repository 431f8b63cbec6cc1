package fulltext

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// work is the state of the background goroutine, which makes all changes of this process to
// the index.
type work struct {
	mu sync.Mutex
	// started is set once the goroutine runs; closed prevents it from starting again.
	started, closed bool
	// due is the requested work that is not done yet.
	due due
	// asked is the number of the last request and done that of the last completed one; news
	// is closed and replaced whenever done or the state changes.
	asked, done uint64
	news        chan struct{}
	// wake wakes the goroutine; now is set if a caller is waiting.
	wake chan struct{}
	now  bool

	state  search.State
	failed error
	// unread holds the sessions that could not be read at the last attempt.
	unread map[firn.ID]unreadSession
	// began is the start time of the current work; zero if idle.
	began time.Time
	// looked is the time of the last census, and seen the index it was compared with, since
	// another process may have replaced the index.
	looked time.Time
	seen   *database
	// stamp is the source's stamp from before the census; see Stamper.
	stamp  string
	ctx    context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// due is pending work.
type due struct {
	// erased sessions are purged from the index and read again, and dirty ones were
	// appended to; census compares all sessions, and rebuild builds a new index.
	erased, dirty   map[firn.ID]bool
	census, rebuild bool
}

func (d *due) none() bool { return len(d.erased)+len(d.dirty) == 0 && !d.census && !d.rebuild }

func (w *work) init() {
	w.due.erased, w.due.dirty = make(map[firn.ID]bool), make(map[firn.ID]bool)
	w.news, w.wake = make(chan struct{}), make(chan struct{}, 1)
	w.ctx, w.cancel = context.WithCancel(context.Background())
}

func (w *work) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// stop ends the goroutine.
func (w *work) stop() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	w.ended.Wait()
}

// notify wakes all waiters. The caller must hold mu.
func (w *work) notify() {
	close(w.news)
	w.news = make(chan struct{})
}

// batchDelay is how long the goroutine waits for more changes before it writes, unless a
// caller is waiting.
const batchDelay = 200 * time.Millisecond

// Start brings the index up to date in the background and keeps it so.
func (x *Index) Start() {
	x.request(func(d *due) { d.census = true }, false)
	x.embedding.start()
}

// MarkChanged records that a session changed. It is cheap. Before the first search it does
// nothing, since the first search compares all sessions.
func (x *Index) MarkChanged(id firn.ID) {
	w := &x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.started || w.closed {
		return
	}
	w.due.dirty[id] = true
	w.asked++
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// request adds pending work and returns the number of the request.
func (x *Index) request(add func(*due), now bool) uint64 {
	w := &x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0
	}
	add(&w.due)
	if !w.started {
		w.started = true
		w.due.census = true
		w.ended.Go(x.run)
	}
	w.asked++
	w.now = w.now || now
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return w.asked
}

// await waits until a request is done, for at most limit if that is not zero. It reports
// whether the request was done.
func (x *Index) await(ctx context.Context, number uint64, limit time.Duration) (bool, error) {
	var timeout <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		timeout = timer.C
	}
	w := &x.work
	for {
		w.mu.Lock()
		done, failed, news, closed := w.done, w.failed, w.news, w.closed
		w.mu.Unlock()
		switch {
		case done >= number:
			return failed == nil, failed
		case closed:
			return false, fmt.Errorf("word index: %w", firn.ErrClosed)
		}
		select {
		case <-news:
		case <-timeout:
			return false, nil
		case <-w.ctx.Done():
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// State returns the current state of the index.
func (x *Index) State() search.State {
	w := &x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.state
	s.Vectors = x.embedding.vectorState()
	// Failed work is pending too, but is retried only on the next request.
	asked := w.started && w.asked > w.done
	s.Building = s.Building || asked && (w.due.census || w.due.rebuild)
	s.Rebuilding = s.Rebuilding || asked && w.due.rebuild
	if w.failed != nil {
		s.Failed = w.failed.Error()
	}
	return s
}

// run is the body of the background goroutine.
func (x *Index) run() {
	w := &x.work
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.wake:
		}
		x.waitForMore()
		w.mu.Lock()
		todo, number := w.due, w.asked
		w.due, w.now = due{erased: make(map[firn.ID]bool), dirty: make(map[firn.ID]bool)}, false
		w.state = search.State{Building: todo.census || todo.rebuild, Rebuilding: todo.rebuild}
		w.began = time.Now()
		w.mu.Unlock()
		var err error
		if !todo.none() {
			err = x.do(w.ctx, todo)
		}
		if w.ctx.Err() != nil {
			return
		}
		if err != nil {
			x.report("the word index is out of date: %v", err)
		}
		w.mu.Lock()
		if err != nil { // repeat the census next time, and any pending erasure
			w.due.census = true
			maps.Copy(w.due.erased, todo.erased)
		}
		w.done, w.failed, w.state, w.began = number, err, search.State{}, time.Time{}
		w.notify()
		w.mu.Unlock()
	}
}

// waitForMore waits for batchDelay, unless a caller is waiting.
func (x *Index) waitForMore() {
	w := &x.work
	timer := time.NewTimer(batchDelay)
	defer timer.Stop()
	for {
		w.mu.Lock()
		now := w.now || w.due.census
		w.mu.Unlock()
		if now {
			return
		}
		select {
		case <-timer.C:
			return
		case <-w.wake:
		case <-w.ctx.Done():
			return
		}
	}
}

// do performs pending work. If the index turns out to be damaged, it starts over with a new
// one.
func (x *Index) do(ctx context.Context, todo due) error {
	if todo.rebuild {
		if err := x.rebuild(ctx); err != nil {
			return err
		}
		todo.census = true // for changes made in the meantime
	}
	unlock, err := x.lock(ctx, lockName, lockTime)
	if err != nil {
		return err
	}
	defer unlock()
	if err := x.clear(); err != nil {
		return err
	}
	for range 2 {
		var db *database
		if db, err = x.doOnce(ctx, todo); err == nil || !x.damaged(db, err) {
			return err
		}
		todo.census = true
	}
	return err
}

func (x *Index) doOnce(ctx context.Context, todo due) (*database, error) {
	db, done, err := x.use(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if db.why != nil {
		return db, fmt.Errorf("the word index can only be read: %w", db.why)
	}
	marked, err := x.marks()
	if err != nil {
		return db, err
	}
	for _, id := range marked {
		todo.erased[id] = true
	}
	if err := x.erase(ctx, db, slices.Collect(maps.Keys(todo.erased))); err != nil {
		return db, err
	}
	x.work.mu.Lock()
	census := todo.census || x.work.seen != db
	if census {
		x.work.looked, x.work.seen = x.opts.Clock(), nil
	}
	x.work.mu.Unlock()
	if census {
		return db, x.catchUp(ctx, db)
	}
	return db, x.refresh(ctx, db, slices.Collect(maps.Keys(todo.dirty)))
}
