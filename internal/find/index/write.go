package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// change is what became of a session.
type change struct {
	id firn.ID
	// was is the row that the catalogue had when we looked; nil if none, or if
	// we did not look (blind).
	was   *row
	blind bool
	// now is the row it should have; nil if the session is gone.
	now *row
	// erased says that something in the session was erased.
	erased bool
}

// scrub reports whether lines of the session must go from the file. A session
// that only grew says what it said before; of one that is gone, or that
// changed and did not grow, something may have been erased, and the catalogue
// must not go on telling it.
func (ch *change) scrub() bool {
	if ch.now == nil || ch.erased {
		return true
	}
	return ch.was != nil && ch.now.info.Bytes <= ch.was.info.Bytes && !ch.now.modified.Equal(ch.was.modified)
}

// needless reports whether a row of the catalogue makes the change needless:
// it says the same, or somebody has looked at the session after us.
func (ch *change) needless(there *row) bool {
	switch {
	case there == nil:
		return ch.now == nil
	case ch.now != nil && *there == *ch.now:
		return true
	case !ch.blind && ch.was != nil && *there == *ch.was:
		return false
	}
	return ch.now != nil && there.modified.After(ch.now.modified) || ch.now == nil && !ch.blind
}

// How far the catalogue may grow before it is written anew: as many lines
// again as it has sessions, or a thousand if it has few.
const minExtra = 1000

func overgrown(h head, more int) bool { return h.lines+more-h.rows > max(minExtra, h.rows) }

// commit brings changes into the file. Base is the book that they were found
// with, nil if there was none that could be used: then the changes tell of all
// sessions there are. If somebody threw the file away since, nothing is written.
func (c *Catalogue) commit(ctx context.Context, base *book, changes []change) error {
	if c.opts.ReadOnly || len(changes) == 0 && base != nil {
		return nil
	}
	return c.locked(ctx, func() error {
		cur, err := c.open()
		defer cur.close()
		switch {
		case cur != nil:
			return c.update(base, cur, changes)
		case base != nil:
			return err
		}
		return c.create(rowsOf(changes))
	})
}

// create writes the file when there is none that could be used.
func (c *Catalogue) create(rows []*row) error {
	return errors.Join(c.rewrite(rows), c.mark.renew(c.fs, c.dir))
}

func rowsOf(changes []change) []*row {
	var rows []*row
	for _, ch := range changes {
		if ch.now != nil {
			rows = append(rows, ch.now)
		}
	}
	return rows
}

// update brings changes into the file that is there.
func (c *Catalogue) update(base, cur *book, changes []change) error {
	// What was written since base may make changes needless. If base is
	// another file, that is all of it.
	since, from := make(map[firn.ID]*row), int64(headLen)
	if cur.follows(base) {
		from = base.head.size
	}
	if _, err := cur.from(from, since); err != nil {
		if base == nil {
			return c.create(rowsOf(changes))
		}
		return c.throwAway(err)
	}
	scrub := false
	changes = slices.DeleteFunc(slices.Clone(changes), func(ch change) bool {
		there, ok := since[ch.id]
		if (ok || from == headLen) && ch.needless(there) && !ch.erased {
			return true
		}
		scrub = scrub || ch.scrub()
		return false
	})
	switch {
	case len(changes) == 0:
		return nil
	case scrub || overgrown(cur.head, len(changes)):
		return c.renew(cur, changes)
	}
	return c.add(cur, rowsOf(changes))
}

// replace writes the file anew with rows that were all just looked up. Only
// what others wrote since base, of a later time, is kept.
func (c *Catalogue) replace(ctx context.Context, base *book, rows map[firn.ID]*row) error {
	return c.locked(ctx, func() error {
		since, err := c.since(base)
		if err != nil {
			c.report("%v; it is replaced", err)
		}
		for id, r := range since {
			if ours := rows[id]; ours == nil || r.modified.After(ours.modified) {
				rows[id] = r
			}
		}
		return c.create(slices.Collect(maps.Values(rows)))
	})
}

// since reads what was added to the file since base.
func (c *Catalogue) since(base *book) (map[firn.ID]*row, error) {
	rows := make(map[firn.ID]*row)
	cur, err := c.open()
	defer cur.close()
	if cur.follows(base) {
		_, err = cur.from(base.head.size, rows)
	}
	return rows, err
}

// renew writes the file anew, with changes.
func (c *Catalogue) renew(cur *book, changes []change) error {
	rows, err := cur.all()
	if err != nil {
		return c.throwAway(err)
	}
	differs := false
	for _, ch := range changes {
		was := rows[ch.id]
		if ch.now != nil {
			rows[ch.id] = ch.now
		} else {
			delete(rows, ch.id)
		}
		differs = differs || ch.erased || was != ch.now
	}
	if !differs { // those that are gone were never there
		return nil
	}
	return c.rewrite(slices.Collect(maps.Values(rows)))
}

// throwAway removes a file that turned out to be damaged. The next one to need
// it builds it anew.
func (c *Catalogue) throwAway(cause error) error {
	c.reportDamage(cause)
	return c.fs.Remove(c.path())
}

// order sorts rows as they stand in the file: a list turned round, and those
// with a fault at the end.
func order(rows []*row) {
	slices.SortFunc(rows, func(a, b *row) int {
		return cmp.Or(a.key().Compare(b.key()), store.CompareInfos(&b.info, &a.info))
	})
}

// add writes rows behind the others. The head comes after them: only with it
// they are there.
func (c *Catalogue) add(cur *book, rows []*row) (err error) {
	order(rows)
	h := cur.head
	var lines []byte
	for _, r := range rows {
		lines = appendLine(lines, r, h.newest)
		h.newest = later(h.newest, r.key())
	}
	file, err := c.fs.Open(c.path(), vfs.Update)
	if err != nil {
		return fmt.Errorf("write catalogue: %w", err)
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = fmt.Errorf("write catalogue: %w", err)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Same(cur.info) {
		return fmt.Errorf("%w: somebody replaced it without asking for the lock", firn.ErrConflict)
	}
	if _, err := file.WriteAt(lines, h.size); err != nil {
		return err
	}
	h.size += int64(len(lines))
	h.lines += len(rows)
	return c.writeHead(file, h)
}

// writeHead tells how far the file goes now, and makes it durable unless we
// have a mark: then that is done when the mark is taken away. A power cut may
// keep the head and not the lines before it. They are then found to be damaged.
func (c *Catalogue) writeHead(file vfs.File, h head) error {
	if _, err := file.WriteAt(h.encode(), 0); err != nil {
		return err
	}
	if c.mark.isSet() {
		return nil
	}
	return file.Sync()
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// rewrite replaces the file by one that has just these rows.
func (c *Catalogue) rewrite(rows []*row) error {
	order(rows)
	h := head{lines: len(rows), rows: len(rows)}
	b := make([]byte, headLen, headLen+len(rows)*512)
	for _, r := range rows {
		b = appendLine(b, r, h.newest)
		h.newest = later(h.newest, r.key())
	}
	h.size = int64(len(b))
	copy(b, h.encode())
	c.sweep()
	if err := vfs.WriteFile(c.fs, c.path(), b); err != nil {
		return fmt.Errorf("write catalogue: %w", err)
	}
	return nil
}

// sweep removes what a process that died while writing left behind. Only the
// holder of the lock writes, so it is nobody's.
func (c *Catalogue) sweep() {
	entries, err := c.fs.ReadDir(c.dir)
	if err != nil {
		return // then the file cannot be written either, and that is told
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+fileName+".tmp-") {
			if err := c.fs.Remove(filepath.Join(c.dir, e.Name())); err != nil {
				c.report("remove what was left of writing the catalogue: %v", err)
			}
		}
	}
}

const (
	lockName = "lock"
	// lockWait is how long a writer waits for others. They hold the lock while
	// they write, never while they look at sessions.
	lockWait = 10 * time.Second
)

// locked runs fn while no other process, and nobody else in this one, writes.
func (c *Catalogue) locked(ctx context.Context, fn func() error) (err error) {
	if err := c.fs.MkdirAll(c.dir); err != nil {
		return fmt.Errorf("lock catalogue: %w", err)
	}
	file, err := c.fs.Open(filepath.Join(c.dir, lockName), vfs.Update)
	if err != nil {
		return fmt.Errorf("lock catalogue: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }() // which frees it
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait,
		fmt.Errorf("lock catalogue: %w by another process for %s", firn.ErrLocked, lockWait))
	defer cancel()
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		free, err := file.TryLock()
		if err != nil {
			return fmt.Errorf("lock catalogue: %w", err)
		}
		if free {
			return fn()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
