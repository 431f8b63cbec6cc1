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

// Progress is told how many of how many sessions were looked at. It is called
// by one goroutine at a time. Nil is nobody.
type Progress func(done, total int)

// Changes tells which sessions a refresh found to be other than the catalogue
// said, each list in the order of ids.
type Changes struct {
	Added, Changed, Gone []firn.ID
}

// None reports whether nothing had changed.
func (ch Changes) None() bool { return len(ch.Added)+len(ch.Changed)+len(ch.Gone) == 0 }

// Refresh compares the catalogue with all sessions, opens those that changed
// and writes down what it found. If it fails, or the context ends it, the
// catalogue is as it was.
func (c *Catalogue) Refresh(ctx context.Context, progress Progress) (Changes, error) {
	if err := c.usable(ctx); err != nil {
		return Changes{}, err
	}
	s, err := c.refresh(ctx, progress)
	if err != nil {
		return Changes{}, fmt.Errorf("refresh catalogue: %w", err)
	}
	if s.unwritten != nil {
		return s.summary(), fmt.Errorf("refresh catalogue: %w", s.unwritten)
	}
	return s.summary(), nil
}

// Rebuild throws the catalogue away and builds it from the sessions. From the
// same sessions it is always the same, byte for byte.
func (c *Catalogue) Rebuild(ctx context.Context, progress Progress) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	if c.opts.ReadOnly {
		return fmt.Errorf("rebuild catalogue: %w: it was opened to be read only", firn.ErrUnsupported)
	}
	others, err := c.strangers()
	if err != nil {
		return fmt.Errorf("rebuild catalogue: %w", err)
	}
	defer others.close()
	taken := c.noted()
	base, err := c.open()
	if err != nil {
		c.reportDamage(err)
	}
	defer base.close()
	if err := rowcache.RemoveAll(c.fs, c.dir); err != nil {
		c.report("remove cached rows: %v", err)
	}
	s := survey{}
	if err = s.look(rowcache.Bypass(ctx), c, taken, progress); err == nil {
		err = c.replace(ctx, base, s.rows)
	}
	if err != nil {
		return fmt.Errorf("rebuild catalogue: %w", err)
	}
	c.written(taken)
	return others.bury()
}

// survey is a look at all sessions.
type survey struct {
	// base is the file that the sessions were compared with; nil if there was none.
	base *book
	// rows tells how they are now, changes what of it the file did not say.
	rows    map[firn.ID]*row
	changes []change
	// unwritten says why the changes are not in the file.
	unwritten error
}

// refresh looks at all sessions and brings the catalogue up to date. That it
// could not be written is told in the survey: what was found is true anyway.
func (c *Catalogue) refresh(ctx context.Context, progress Progress) (*survey, error) {
	s := &survey{}
	others, err := c.strangers()
	if err != nil {
		s.unwritten = err
	}
	defer others.close()
	taken := c.noted()
	stamp, stampErr := c.stamp(ctx) // before the census: what comes after it has another
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
	if s.unwritten == nil {
		s.unwritten = c.commit(ctx, s.base, s.changes)
	}
	if s.unwritten == nil && !c.opts.ReadOnly {
		c.written(taken)
		s.unwritten = errors.Join(others.bury(), stampErr)
	}
	if s.unwritten == nil && !c.opts.ReadOnly {
		s.unwritten = c.setStamp(stamp)
	}
	return s, ctx.Err()
}

// load reads what the catalogue says now. One that cannot be read says nothing.
func (s *survey) load(c *Catalogue) {
	b, err := c.open()
	if b != nil {
		s.rows, err = b.all()
	}
	if err != nil {
		c.reportDamage(err)
		b.close()
		b = nil
	}
	s.base = b
}

// look is compare with a catalogue that says nothing.
func (s *survey) look(ctx context.Context, c *Catalogue, taken notes, progress Progress) error {
	standings, err := c.census(ctx)
	if err != nil {
		return err
	}
	return s.compare(ctx, c, standings, taken, progress)
}

// compare finds out what has changed, and how it is now.
func (s *survey) compare(ctx context.Context, c *Catalogue, standings []store.Standing, taken notes, progress Progress) error {
	if s.rows == nil {
		s.rows = make(map[firn.ID]*row, len(standings))
	}
	todo, missing := compare(s.rows, standings, taken)
	found, err := c.inspectAll(ctx, todo, progress)
	if err != nil {
		return err
	}
	for i, standing := range todo {
		s.settle(standing.ID, found[i], taken[standing.ID].erased)
	}
	for _, id := range missing {
		// A session that came after the census is not gone.
		r, err := c.look(ctx, id)
		if err != nil {
			return err
		}
		s.settle(id, r, taken[id].erased)
	}
	slices.SortFunc(s.changes, func(a, b change) int { return cmp.Compare(a.id, b.id) })
	return nil
}

// compare is the deciding: which sessions must be looked at, because they
// differ from their row or somebody noted them, and which were not counted.
func compare(rows map[firn.ID]*row, standings []store.Standing, taken notes) (todo []store.Standing, missing []firn.ID) {
	known := 0
	for _, s := range standings {
		r := rows[s.ID]
		if r != nil {
			known++
		}
		if _, noted := taken[s.ID]; r == nil || noted || !r.fresh(s) {
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

// settle notes what became of a session.
func (s *survey) settle(id firn.ID, now *row, erased bool) {
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

// census counts the sessions, each once.
func (c *Catalogue) census(ctx context.Context) ([]store.Standing, error) {
	standings, err := c.src.Census(ctx)
	if err != nil {
		return nil, err
	}
	return c.unique(ctx, standings)
}

// unique counts a session that is there twice, in the directories of two
// agents, as the one that reading it would find. It changes the slice.
func (c *Catalogue) unique(ctx context.Context, standings []store.Standing) ([]store.Standing, error) {
	other := func(s store.Standing) bool { return s.Agent != standings[0].Agent }
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
		found, err := c.src.Stand(ctx, s.ID)
		if err != nil && !isGone(err) {
			return nil, err
		}
		if err == nil {
			unique[i] = found
		}
	}
	return unique, nil
}

// isGone reports whether an error says that there is no such session. What
// cannot be an id is none either.
func isGone(err error) bool {
	return errors.Is(err, firn.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, firn.ErrInvalid)
}

// look tells how one session is now; nil if it is gone.
func (c *Catalogue) look(ctx context.Context, id firn.ID) (*row, error) {
	s, err := c.src.Stand(ctx, id)
	switch {
	case err == nil && s.Parts > 0:
		return c.inspect(ctx, s)
	case err == nil || isGone(err):
		return nil, nil
	case fatal(ctx, err):
		return nil, err
	}
	return faulty(store.Standing{ID: id}, err), nil
}

// inspect opens a session that stands so. The standing was taken before: if the
// session is changed meanwhile, the row does not fit it and is made again.
func (c *Catalogue) inspect(ctx context.Context, s store.Standing) (*row, error) {
	info, err := c.src.Inspect(ctx, s.ID)
	switch {
	case err == nil && info.ID != "":
		r := newRow(info, s.Modified)
		return &r, nil
	case err == nil || isGone(err):
		return nil, nil
	case fatal(ctx, err):
		return nil, err
	}
	return faulty(s, err), nil
}

// fatal reports whether an error concerns not one session but all.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, firn.ErrClosed)
}

// faulty makes the row of a session that cannot be looked at: it is listed all
// the same, with what is wrong.
func faulty(s store.Standing, err error) *row {
	r := newRow(store.Info{
		ID: s.ID, Agent: s.Agent, Bytes: s.Bytes, Parts: s.Parts, Archived: s.Archived, Fault: err.Error(),
	}, s.Modified)
	return &r
}

// inspectAll opens sessions, several at a time.
func (c *Catalogue) inspectAll(ctx context.Context, todo []store.Standing, progress Progress) ([]*row, error) {
	rows := make([]*row, len(todo))
	errs := make([]error, len(todo))
	var mu sync.Mutex
	done := 0
	each(ctx, len(todo), func(i int) bool {
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

// each calls do for 0 to n-1, several at a time, until one returns false or
// the context is done.
func each(ctx context.Context, n int, do func(i int) bool) {
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
