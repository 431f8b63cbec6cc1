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

// change is a change of a session's row.
type change struct {
	id firn.ID
	// was is the row in the catalog at the time of the comparison; nil if there was none
	// or no comparison (blind).
	was   *row
	blind bool
	// now is the current row; nil if the session is gone.
	now *row
	// erased is set if data of the session was erased.
	erased bool
}

// needsRewrite reports whether old lines of the session must be removed from the file. If
// the session is gone, or changed without growing, its data may have been erased and must
// not remain in the catalog.
func (ch *change) needsRewrite() bool {
	if ch.now == nil || ch.erased {
		return true
	}
	return ch.was != nil && ch.now.info.Bytes <= ch.was.info.Bytes && !ch.now.modified.Equal(ch.was.modified)
}

// redundant reports whether the row in the catalog makes the change unnecessary: it is
// equal, or newer.
func (ch *change) redundant(there *row) bool {
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

// minExtra is how many obsolete lines the file may always contain. Beyond that, and as many
// as there are sessions, the file is rewritten.
const minExtra = 1000

func overgrown(h head, more int) bool { return h.lines+more-h.rows > max(minExtra, h.rows) }

// commit writes changes to the file. base is the file the changes were computed from; nil
// if there was none, in which case the changes contain all sessions. If the file was
// removed since, nothing is written.
func (c *Catalogue) commit(ctx context.Context, base *catalogFile, changes []change) error {
	if c.opts.ReadOnly || len(changes) == 0 && base != nil {
		return nil
	}
	return c.withLock(ctx, func() error {
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

// create writes the file when there is no usable one.
func (c *Catalogue) create(rows []*row) error {
	return errors.Join(c.rewrite(rows), c.mark.restore(c.fs, c.dir))
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

// update writes changes to an existing file.
func (c *Catalogue) update(base, cur *catalogFile, changes []change) error {
	// Lines written since base may make changes redundant. If base is another file, all
	// lines count.
	since, from := make(map[firn.ID]*row), int64(headLen)
	if cur.extends(base) {
		from = base.head.size
	}
	if _, err := cur.readFrom(from, since); err != nil {
		if base == nil {
			return c.create(rowsOf(changes))
		}
		return c.removeDamaged(err)
	}
	scrub := false
	changes = slices.DeleteFunc(slices.Clone(changes), func(ch change) bool {
		there, ok := since[ch.id]
		if (ok || from == headLen) && ch.redundant(there) && !ch.erased {
			return true
		}
		scrub = scrub || ch.needsRewrite()
		return false
	})
	switch {
	case len(changes) == 0:
		return nil
	case scrub || overgrown(cur.head, len(changes)):
		return c.rewriteWith(cur, changes)
	}
	return c.add(cur, rowsOf(changes))
}

// replace rewrites the file with rows that were all just computed. Of the lines written by
// others since base, only newer rows are kept.
func (c *Catalogue) replace(ctx context.Context, base *catalogFile, rows map[firn.ID]*row) error {
	return c.withLock(ctx, func() error {
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

// since reads the lines added to the file since base.
func (c *Catalogue) since(base *catalogFile) (map[firn.ID]*row, error) {
	rows := make(map[firn.ID]*row)
	cur, err := c.open()
	defer cur.close()
	if cur.extends(base) {
		_, err = cur.readFrom(base.head.size, rows)
	}
	return rows, err
}

// rewriteWith rewrites the file with changes applied.
func (c *Catalogue) rewriteWith(cur *catalogFile, changes []change) error {
	rows, err := cur.readAll()
	if err != nil {
		return c.removeDamaged(err)
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
	if !differs { // the removed sessions were not in the file
		return nil
	}
	return c.rewrite(slices.Collect(maps.Values(rows)))
}

// removeDamaged removes a damaged file. It is rebuilt when it is needed.
func (c *Catalogue) removeDamaged(cause error) error {
	c.reportDamage(cause)
	return c.fs.Remove(c.path())
}

// sortRows sorts rows in file order: reverse list order, rows with a fault at the end.
func sortRows(rows []*row) {
	slices.SortFunc(rows, func(a, b *row) int {
		return cmp.Or(a.key().Compare(b.key()), store.CompareInfos(&b.info, &a.info))
	})
}

// add appends rows to the file. They become visible when the header is written.
func (c *Catalogue) add(cur *catalogFile, rows []*row) (err error) {
	sortRows(rows)
	h := cur.head
	var lines []byte
	for _, r := range rows {
		lines = appendLine(lines, r, h.newest)
		h.newest = later(h.newest, r.key())
	}
	file, err := c.fs.Open(c.path(), vfs.Update)
	if err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = fmt.Errorf("write catalog: %w", err)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Same(cur.info) {
		return fmt.Errorf("%w: another program replaced it without the lock", firn.ErrConflict)
	}
	if _, err := file.WriteAt(lines, h.size); err != nil {
		return err
	}
	h.size += int64(len(lines))
	h.lines += len(rows)
	return c.writeHead(file, h)
}

// writeHead writes the header. It syncs the file unless there is a mark: then that is done
// before the mark is removed. After a power failure the header may be newer than the lines;
// their checksums detect that.
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

// rewrite replaces the file with one that contains exactly these rows.
func (c *Catalogue) rewrite(rows []*row) error {
	sortRows(rows)
	h := head{lines: len(rows), rows: len(rows)}
	b := make([]byte, headLen, headLen+len(rows)*512)
	for _, r := range rows {
		b = appendLine(b, r, h.newest)
		h.newest = later(h.newest, r.key())
	}
	h.size = int64(len(b))
	copy(b, h.encode())
	c.removeTempFiles()
	if err := vfs.WriteFile(c.fs, c.path(), b); err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	return nil
}

// removeTempFiles removes temporary files of killed processes. Only the holder of the lock
// writes, so none are in use.
func (c *Catalogue) removeTempFiles() {
	entries, err := c.fs.ReadDir(c.dir)
	if err != nil {
		return // writing the file will fail too, and be reported
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+fileName+".tmp-") {
			if err := c.fs.Remove(filepath.Join(c.dir, e.Name())); err != nil {
				c.report("remove temporary files of the catalog: %v", err)
			}
		}
	}
}

const (
	lockName = "lock"
	// lockWait is how long a writer waits for others. They hold the lock only while
	// writing, not while examining sessions.
	lockWait = 10 * time.Second
)

// withLock runs fn while no other process or goroutine writes.
func (c *Catalogue) withLock(ctx context.Context, fn func() error) (err error) {
	if err := c.fs.MkdirAll(c.dir); err != nil {
		return fmt.Errorf("lock catalog: %w", err)
	}
	file, err := c.fs.Open(filepath.Join(c.dir, lockName), vfs.Update)
	if err != nil {
		return fmt.Errorf("lock catalog: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }() // releases the lock
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait,
		fmt.Errorf("lock catalog: %w by another process for %s", firn.ErrLocked, lockWait))
	defer cancel()
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		free, err := file.TryLock()
		if err != nil {
			return fmt.Errorf("lock catalog: %w", err)
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
