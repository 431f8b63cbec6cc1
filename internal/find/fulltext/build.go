package fulltext

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// job is a session to index: its current state and the row the index has for it.
type job struct {
	status store.Status
	old    *row
	gone   bool
}

// catchUp compares the index with all sessions and brings it up to date.
func (x *Index) catchUp(ctx context.Context, db *database) error {
	known, err := allRows(ctx, db.read)
	if err != nil {
		return err
	}
	stamp, stampErr := x.stamp(ctx) // Taken before the census, so that later changes yield a different stamp.
	standings, err := x.census(ctx)
	if err != nil {
		return fmt.Errorf("read all sessions: %w", err)
	}
	if err := x.build(ctx, db, jobs(standings, known), true); err != nil {
		return err
	}
	x.work.mu.Lock()
	defer x.work.mu.Unlock()
	x.work.seen = db
	if stampErr == nil {
		x.work.stamp = stamp
	}
	return nil
}

// jobs returns the changed sessions, newest first, so that recent messages can be found
// while older sessions are still being read.
func jobs(standings []store.Status, known map[firn.ID]*row) []job {
	slices.SortStableFunc(standings, func(a, b store.Status) int {
		return cmp.Or(b.Modified.Compare(a.Modified), cmp.Compare(a.ID, b.ID))
	})
	var todo []job
	seen := make(map[firn.ID]bool, len(standings))
	for _, s := range standings {
		if seen[s.ID] {
			continue
		}
		seen[s.ID] = true
		if old := known[s.ID]; !old.unchanged(s) {
			todo = append(todo, job{status: s, old: old})
		}
	}
	for id := range known {
		if !seen[id] {
			todo = append(todo, job{status: store.Status{ID: id}, gone: true})
		}
	}
	return todo
}

// refresh brings the given sessions up to date.
func (x *Index) refresh(ctx context.Context, db *database, ids []firn.ID) error {
	slices.Sort(ids)
	var todo []job
	for _, id := range ids {
		s, err := x.src.Status(ctx, id)
		if errors.Is(err, firn.ErrNotFound) {
			todo = append(todo, job{status: store.Status{ID: id}, gone: true})
			continue
		}
		if err != nil && (ctx.Err() != nil || errors.Is(err, firn.ErrUnavailable) || errors.Is(err, firn.ErrClosed)) {
			return err
		}
		if err != nil { // one unreadable session does not block the others
			x.noteUnread(job{status: store.Status{ID: id}}, &unread{id, err})
			continue
		}
		old, err := rowOf(ctx, db, sessionKey(id))
		if err != nil {
			return err
		}
		todo = append(todo, job{status: s, old: old})
	}
	return x.build(ctx, db, todo, false)
}

// ahead bounds the number of changes queued for the writer.
const ahead = 16

// build reads sessions in parallel and writes their rows to the index. A session that
// cannot be read is reported and skipped.
func (x *Index) build(ctx context.Context, db *database, todo []job, show bool) error {
	if len(todo) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, next := make(chan change, ahead), make(chan job)
	go func() {
		defer close(next)
		for _, j := range todo {
			select {
			case next <- j:
			case <-ctx.Done():
				return
			}
		}
	}()
	var readers sync.WaitGroup
	errs := make([]error, min(len(todo), runtime.GOMAXPROCS(0)))
	for i := range errs {
		readers.Go(func() { errs[i] = x.readAll(ctx, next, changes) })
	}
	go func() { // ends when the readers end
		readers.Wait()
		close(changes)
	}()
	if show {
		x.show(todo)
	}
	err := x.writeAll(ctx, db, changes, show)
	cancel()
	for range changes { // drain, so that the readers can finish
	}
	if err == nil {
		err = firstError(errs)
	}
	return err
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readAll reads sessions and sends the resulting changes to the writer.
func (x *Index) readAll(ctx context.Context, next <-chan job, changes chan<- change) error {
	r := &reader{src: x.src, sourceOf: x.sourceOf, emit: func(c change) error {
		select {
		case changes <- c:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	for j := range next {
		var err error
		if j.gone {
			err = r.gone(j.status.ID)
		} else {
			err = r.session(ctx, j.status, j.old)
		}
		var failed *unread
		if errors.As(err, &failed) {
			x.noteUnread(j, failed)
			continue
		}
		if err != nil {
			return err
		}
		x.noteRead(j.status.ID)
	}
	return nil
}

// writeAll writes the changes that the readers produce.
func (x *Index) writeAll(ctx context.Context, db *database, changes <-chan change, show bool) error {
	w := &writer{db: db}
	for c := range changes {
		if err := w.add(ctx, c); err != nil {
			return err
		}
		if show {
			x.progress(&c)
		}
	}
	return w.flush(ctx)
}

// show publishes the amount of work in the index state.
func (x *Index) show(todo []job) {
	w := &x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Building, w.state.Done, w.state.Total, w.state.Read, w.state.Bytes = true, 0, len(todo), 0, 0
	for _, j := range todo {
		w.state.Bytes += j.status.Bytes
	}
}

// progress records in the index state that a change was written.
func (x *Index) progress(c *change) {
	w := &x.work
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Read += c.read
	if c.row != nil || c.wipe && len(c.docs) == 0 {
		w.state.Done++
	}
}

// Rebuild builds a new index from the sessions and replaces the current one with it. The
// current index stays usable until then.
func (x *Index) Rebuild(ctx context.Context) error {
	number := x.request(func(d *due) { d.rebuild = true }, true)
	_, err := x.await(ctx, number, 0)
	return err
}

// StartRebuild starts a Rebuild and returns immediately.
func (x *Index) StartRebuild() { x.request(func(d *due) { d.rebuild = true }, true) }

func (x *Index) rebuild(ctx context.Context) error {
	unlock, err := x.lock(ctx, freshLockName, 0)
	if err != nil {
		return err
	}
	defer unlock()
	path := filepath.Join(x.dir, freshName)
	if err := removeFiles(x.fs, path); err != nil {
		return fmt.Errorf("rebuild the word index: %w", err)
	}
	fresh, err := openDatabase(ctx, x.fs, path, unsafe)
	if err != nil {
		return err
	}
	err = fresh.mergeLater(ctx, func() error { return x.catchUp(ctx, fresh) })
	if err = errors.Join(err, fresh.close()); err == nil {
		err = x.sync(path)
	}
	if err != nil {
		return errors.Join(err, removeFiles(x.fs, path))
	}
	unlockOld, err := x.lock(ctx, lockName, 0)
	if err != nil {
		return errors.Join(err, removeFiles(x.fs, path))
	}
	defer unlockOld()
	return x.swap(path)
}

// sync fsyncs a file that was written without durability.
func (x *Index) sync(path string) error {
	file, err := x.fs.Open(path, vfs.Update)
	if err != nil {
		return fmt.Errorf("rebuild the word index: %w", err)
	}
	return errors.Join(file.Sync(), file.Close())
}

// swap replaces the current index with a new one.
func (x *Index) swap(fresh string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db != nil {
		x.drop()
	}
	// The old WAL must be removed before the new file is in place, or SQLite would replay
	// it into the new file.
	if err := removeFiles(x.fs, x.path()); err != nil {
		return fmt.Errorf("replace the word index: %w", err)
	}
	if err := x.fs.Rename(fresh, x.path()); err != nil {
		return fmt.Errorf("replace the word index: %w", err)
	}
	return removeFiles(x.fs, fresh)
}
