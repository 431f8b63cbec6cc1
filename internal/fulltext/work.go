package fulltext

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"firn"
	"firn/internal/search"
)

// work is what one goroutine does in the background: it alone changes the
// index, in this process.
type work struct {
	mu sync.Mutex
	// begun says that the goroutine runs, closed that it shall not again.
	begun, closed bool
	// due is what was asked for and is not done yet.
	due due
	// asked numbers the requests, done is the last that is done; news is closed
	// and made anew whenever done or the state changes.
	asked, done uint64
	news        chan struct{}
	// wake calls the goroutine; now says that somebody waits.
	wake chan struct{}
	now  bool

	state  search.State
	failed error
	// unread are the sessions that could not be read when that was last tried.
	unread map[firn.ID]unreadSession
	// began is when what is being done was begun; zero if nothing is.
	began time.Time
	// looked is when all sessions were looked at last, and seen the index that
	// they were compared with: another process may have put another in its place.
	looked time.Time
	seen   *database
	// stamp is what the source told before that; see Stamper.
	stamp  string
	ctx    context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// due is work to be done.
type due struct {
	// erased sessions are read anew and what they said before is wiped out; dirty
	// ones were added to; census looks at all; rebuild builds the index anew.
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

// tell lets those know who wait. It is called with mu.
func (w *work) tell() {
	close(w.news)
	w.news = make(chan struct{})
}

// settling is how long the goroutine waits for more before it writes down what
// was added, if nobody waits for it.
const settling = 200 * time.Millisecond

// Start begins to bring the index up to date, and to keep it so.
func (x *Index) Start() { x.request(func(d *due) { d.census = true }, false) }

// Touch tells that something was added to a session, or that it was changed.
// It costs next to nothing. Before anybody searches there is nothing to do:
// then all sessions are looked at.
func (x *Index) Touch(id firn.ID) {
	w := &x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun || w.closed {
		return
	}
	w.due.dirty[id] = true
	w.asked++
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// request asks for work and returns its number.
func (x *Index) request(add func(*due), now bool) uint64 {
	w := &x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0
	}
	add(&w.due)
	if !w.begun {
		w.begun = true
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

// await waits until a request is done. Limit, if it is not zero, is how long.
// It reports whether it was done.
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
			return false, fmt.Errorf("index of words: %w", firn.ErrClosed)
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

// State tells how the index is.
func (x *Index) State() search.State {
	w := &x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.state
	// What failed is due too, but nobody does it before somebody asks again.
	asked := w.begun && w.asked > w.done
	s.Building = s.Building || asked && (w.due.census || w.due.rebuild)
	s.Rebuilding = s.Rebuilding || asked && w.due.rebuild
	if w.failed != nil {
		s.Failed = w.failed.Error()
	}
	return s
}

// run is the goroutine.
func (x *Index) run() {
	w := &x.work
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.wake:
		}
		x.settle()
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
			x.report("the index of words is behind: %v", err)
		}
		w.mu.Lock()
		if err != nil { // look at all the next time, and erase what is not erased
			w.due.census = true
			maps.Copy(w.due.erased, todo.erased)
		}
		w.done, w.failed, w.state, w.began = number, err, search.State{}, time.Time{}
		w.tell()
		w.mu.Unlock()
	}
}

// settle waits a moment for more to do, unless somebody waits.
func (x *Index) settle() {
	w := &x.work
	timer := time.NewTimer(settling)
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

// do does what is due, once more from the beginning if the index turns out to
// be damaged.
func (x *Index) do(ctx context.Context, todo due) error {
	if todo.rebuild {
		if err := x.rebuild(ctx); err != nil {
			return err
		}
		todo.census = true // for what came meanwhile
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
		return db, fmt.Errorf("the index of words can only be read: %w", db.why)
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
