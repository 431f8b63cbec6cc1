package index

import (
	"context"
	"fmt"
	"sync"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// countCache caches the rows read for the last Count, so that the next one reads only added
// lines. It can be dropped at any time.
type countCache struct {
	mu sync.Mutex
	// info and size identify the file and the part of it that was read.
	info vfs.Info
	size int64
	rows map[firn.ID]*row
}

// maxCachedRows is the maximum number of rows kept in memory.
const maxCachedRows = 50_000

// Count returns the number of sessions that a query selects, according to the catalog,
// without examining sessions. Changes made through [Wrap] are included.
func (c *Catalogue) Count(ctx context.Context, q store.Query) (int, error) {
	if err := c.checkOpen(ctx); err != nil {
		return 0, err
	}
	if !c.unwritable() {
		n, err := c.countFile(ctx, q)
		if err == nil {
			return n, nil
		}
		if isFatal(ctx, err) {
			return 0, fmt.Errorf("count sessions: %w", err)
		}
	}
	s, err := c.refresh(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	return s.count(q), nil
}

// countFile counts the sessions in the file after writing pending changes.
func (c *Catalogue) countFile(ctx context.Context, q store.Query) (int, error) {
	if err := c.flush(ctx); err != nil {
		return 0, err
	}
	b, err := c.open()
	if err != nil {
		return 0, err
	}
	if b == nil {
		return 0, errFullScan
	}
	defer b.close()
	return c.countCache.count(b, q)
}

// count counts the rows of a file that a query selects.
func (t *countCache) count(b *catalogFile, q store.Query) (n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(b); err != nil {
		return 0, err
	}
	for _, r := range t.rows {
		if q.Matches(r.info) {
			n++
		}
	}
	t.trim()
	return n, nil
}

// load reads the lines that were added to the file. t.mu must be held.
func (t *countCache) load(b *catalogFile) (err error) {
	if t.rows != nil && b.info.Same(t.info) && b.head.size >= t.size {
		_, err = b.readFrom(t.size, t.rows)
	} else {
		t.rows, err = b.readAll()
	}
	if err != nil {
		t.rows = nil
		return err
	}
	t.info, t.size = b.info, b.head.size
	return nil
}

// trim drops the rows if there are too many to keep.
func (t *countCache) trim() {
	if len(t.rows) > maxCachedRows {
		t.rows = nil
	}
}
