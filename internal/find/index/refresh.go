package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/internal/find/rowcache"
	"firn.dev/store"
)

// Progress is called with the number of inspected sessions and the total, by one goroutine
// at a time. It may be nil.
type Progress func(done, total int)

// Changes lists the sessions that differed from the catalog, ordered by ID.
type Changes struct {
	Added, Changed, Gone []firn.ID
}

// Empty reports whether nothing had changed.
func (ch Changes) Empty() bool { return len(ch.Added)+len(ch.Changed)+len(ch.Gone) == 0 }

// Refresh compares the catalog with all sessions, opens those that changed and writes the
// result. If it fails or is canceled, the catalog is unchanged.
func (c *Catalogue) Refresh(ctx context.Context, progress Progress) (Changes, error) {
	if err := c.checkOpen(ctx); err != nil {
		return Changes{}, err
	}
	s, err := c.refresh(ctx, progress)
	if err != nil {
		return Changes{}, fmt.Errorf("refresh catalog: %w", err)
	}
	if s.writeErr != nil {
		return s.summary(), fmt.Errorf("refresh catalog: %w", s.writeErr)
	}
	return s.summary(), nil
}

// Rebuild discards the catalog and builds it from the sessions. The result depends only
// on the sessions, byte for byte.
func (c *Catalogue) Rebuild(ctx context.Context, progress Progress) error {
	if err := c.checkOpen(ctx); err != nil {
		return err
	}
	if c.opts.ReadOnly {
		return fmt.Errorf("rebuild catalog: %w: it was opened to be read only", firn.ErrUnsupported)
	}
	others, err := c.findOtherMarks()
	if err != nil {
		return fmt.Errorf("rebuild catalog: %w", err)
	}
	defer others.close()
	taken := c.copyPending()
	base, err := c.open()
	if err != nil {
		c.reportDamage(err)
	}
	defer base.close()
	if err := rowcache.RemoveAll(c.fs, c.dir); err != nil {
		c.report("remove cached rows: %v", err)
	}
	s := survey{}
	if err = s.scanAll(rowcache.Bypass(ctx), c, taken, progress); err == nil {
		err = c.replace(ctx, base, s.rows)
	}
	if err != nil {
		return fmt.Errorf("rebuild catalog: %w", err)
	}
	c.forgetPending(taken)
	return others.removeDead()
}

// survey is the result of examining all sessions.
type survey struct {
	// base is the file that the sessions were compared with; nil if there was none.
	base *catalogFile
	// rows are the current rows, changes their differences to the file.
	rows    map[firn.ID]*row
	changes []change
	// writeErr is the reason why the changes could not be written.
	writeErr error
}

// refresh examines all sessions and updates the catalog. If writing fails, the error is
// in survey.writeErr: the rows are valid anyway.
func (c *Catalogue) refresh(ctx context.Context, progress Progress) (*survey, error) {
	s := &survey{}
	others, err := c.findOtherMarks()
	if err != nil {
		s.writeErr = err
	}
	defer others.close()
	taken := c.copyPending()
	stamp, stampErr := c.stamp(ctx) // before the census: later changes have another stamp
	loaded := make(chan struct{})
	go func() { // reading the file takes about as long as the census
		defer close(loaded)
		s.load(c)
	}()
	standings, err := c.census(ctx)
	<-loaded
	defer s.base.close()
	if err == nil {
		err = s.compare(ctx, c, standings, taken, progress)
	}
	if err != nil {
		return nil, err
	}
	if s.writeErr == nil {
		s.writeErr = c.commit(ctx, s.base, s.changes)
	}
	if s.writeErr == nil && !c.opts.ReadOnly {
		c.forgetPending(taken)
		s.writeErr = errors.Join(others.removeDead(), stampErr)
	}
	if s.writeErr == nil && !c.opts.ReadOnly {
		s.writeErr = c.setStamp(stamp)
	}
	return s, ctx.Err()
}

// load reads the rows of the catalog. An unreadable catalog counts as empty.
func (s *survey) load(c *Catalogue) {
	b, err := c.open()
	if b != nil {
		s.rows, err = b.readAll()
	}
	if err != nil {
		c.reportDamage(err)
		b.close()
		b = nil
	}
	s.base = b
}

// scanAll is compare with an empty catalog.
func (s *survey) scanAll(ctx context.Context, c *Catalogue, taken pendingChanges, progress Progress) error {
	standings, err := c.census(ctx)
	if err != nil {
		return err
	}
	return s.compare(ctx, c, standings, taken, progress)
}

// compare finds the changes and computes the current rows.
func (s *survey) compare(ctx context.Context, c *Catalogue, standings []store.Status, taken pendingChanges, progress Progress) error {
	if s.rows == nil {
		s.rows = make(map[firn.ID]*row, len(standings))
	}
	todo, missing := compare(s.rows, standings, taken)
	found, err := c.inspectAll(ctx, todo, progress)
	if err != nil {
		return err
	}
	for i, standing := range todo {
		s.record(standing.ID, found[i], taken[standing.ID].erased)
	}
	for _, id := range missing {
		// It may have been created after the census.
		r, err := c.currentRow(ctx, id)
		if err != nil {
			return err
		}
		s.record(id, r, taken[id].erased)
	}
	slices.SortFunc(s.changes, func(a, b change) int { return cmp.Compare(a.id, b.id) })
	return nil
}

// compare returns the sessions that must be inspected, because they differ from their row
// or have pending changes, and the rows without a session.
func compare(rows map[firn.ID]*row, standings []store.Status, taken pendingChanges) (todo []store.Status, missing []firn.ID) {
	known := 0
	for _, s := range standings {
		r := rows[s.ID]
		if r != nil {
			known++
		}
		if _, noted := taken[s.ID]; r == nil || noted || !r.matches(s) {
			todo = append(todo, s)
		}
	}
	if known == len(rows) {
		return todo, nil
	}
	counted := make(map[firn.ID]bool, len(standings))
	for _, s := range standings {
		counted[s.ID] = true
	}
	for id := range rows {
		if !counted[id] {
			missing = append(missing, id)
		}
	}
	return todo, missing
}

// record records the current row of a session; nil if it is gone.
func (s *survey) record(id firn.ID, now *row, erased bool) {
	was := s.rows[id]
	if now != nil {
		s.rows[id] = now
	} else {
		delete(s.rows, id)
	}
	same := was == now || was != nil && now != nil && *was == *now
	if !same || erased {
		s.changes = append(s.changes, change{id: id, was: was, now: now, erased: erased})
	}
}

func (s *survey) summary() Changes {
	var sum Changes
	for _, ch := range s.changes {
		switch {
		case ch.now == nil:
			sum.Gone = append(sum.Gone, ch.id)
		case ch.was == nil:
			sum.Added = append(sum.Added, ch.id)
		default:
			sum.Changed = append(sum.Changed, ch.id)
		}
	}
	return sum
}

// census returns the status of all sessions without duplicates.
func (c *Catalogue) census(ctx context.Context) ([]store.Status, error) {
	standings, err := c.src.Census(ctx)
	if err != nil {
		return nil, err
	}
	return c.unique(ctx, standings)
}

// unique removes duplicates of sessions that exist in the directories of two agents, and
// keeps the copy that a reader would get. It modifies the slice.
func (c *Catalogue) unique(ctx context.Context, standings []store.Status) ([]store.Status, error) {
	other := func(s store.Status) bool { return s.Agent != standings[0].Agent }
	if !slices.ContainsFunc(standings, other) {
		return standings, nil
	}
	first := make(map[firn.ID]int, len(standings))
	unique := standings[:0]
	for _, s := range standings {
		i, twice := first[s.ID]
		if !twice {
			first[s.ID] = len(unique)
			unique = append(unique, s)
			continue
		}
		found, err := c.src.Status(ctx, s.ID)
		if err != nil && !isGone(err) {
			return nil, err
		}
		if err == nil {
			unique[i] = found
		}
	}
	return unique, nil
}

// isGone reports whether an error means that a session does not exist. An invalid ID cannot
// exist either.
func isGone(err error) bool {
	return errors.Is(err, firn.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, firn.ErrInvalid)
}

// currentRow returns the current row of a session; nil if it is gone.
func (c *Catalogue) currentRow(ctx context.Context, id firn.ID) (*row, error) {
	s, err := c.src.Status(ctx, id)
	switch {
	case err == nil && s.Parts > 0:
		return c.inspect(ctx, s)
	case err == nil || isGone(err):
		return nil, nil
	case isFatal(ctx, err):
		return nil, err
	}
	return faultRow(store.Status{ID: id}, err), nil
}

// inspect opens a session and returns its row. The status is older than the info: if the
// session changes in between, the row does not match and is computed again.
func (c *Catalogue) inspect(ctx context.Context, s store.Status) (*row, error) {
	info, err := c.src.Inspect(ctx, s.ID)
	switch {
	case err == nil && info.ID != "":
		r := newRow(info, s.Modified)
		return &r, nil
	case err == nil || isGone(err):
		return nil, nil
	case isFatal(ctx, err):
		return nil, err
	}
	return faultRow(s, err), nil
}

// isFatal reports whether an error concerns all sessions, not just one.
func isFatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, firn.ErrClosed)
}

// faultRow returns the row of a session that cannot be inspected. It is listed with its
// fault.
func faultRow(s store.Status, err error) *row {
	r := newRow(store.Info{
		ID: s.ID, Agent: s.Agent, Bytes: s.Bytes, Parts: s.Parts, Archived: s.Archived, Fault: err.Error(),
	}, s.Modified)
	return &r
}

// inspectAll opens sessions in parallel.
func (c *Catalogue) inspectAll(ctx context.Context, todo []store.Status, progress Progress) ([]*row, error) {
	rows := make([]*row, len(todo))
	errs := make([]error, len(todo))
	var mu sync.Mutex
	done := 0
	inParallel(ctx, len(todo), func(i int) bool {
		rows[i], errs[i] = c.inspect(ctx, todo[i])
		if progress != nil {
			mu.Lock()
			done++
			progress(done, len(todo))
			mu.Unlock()
		}
		return errs[i] == nil
	})
	return rows, errors.Join(ctx.Err(), firstError(errs))
}

// inParallel calls do with 0 to n-1, several at a time, until one call returns false or the
// context is done.
func inParallel(ctx context.Context, n int, do func(i int) bool) {
	var mu sync.Mutex
	next := 0
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= n && ctx.Err() == nil
	}
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if !do(i) {
					mu.Lock()
					next = n
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
