package index

import (
	"context"
	"fmt"
	"sync"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// tallied is what the file said when sessions were counted last: so that the next
// who counts reads only what was added. It can be thrown away at any time.
type tallied struct {
	mu sync.Mutex
	// info and size are those of the file as far as it was read.
	info vfs.Info
	size int64
	rows map[firn.ID]*row
}

// mostTallied bounds how many rows are kept in memory.
const mostTallied = 50_000

// Count tells how many sessions a query selects, as far as the catalogue knows:
// no session is looked at. What went through [Wrap] it knows.
func (c *Catalogue) Count(ctx context.Context, q store.Query) (int, error) {
	if err := c.usable(ctx); err != nil {
		return 0, err
	}
	if !c.unwritable() {
		n, err := c.tally(ctx, q)
		if err == nil {
			return n, nil
		}
		if fatal(ctx, err) {
			return 0, fmt.Errorf("count sessions: %w", err)
		}
	}
	s, err := c.refresh(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	return s.count(q), nil
}

// tally counts the sessions in the file, after what was noted is in it.
func (c *Catalogue) tally(ctx context.Context, q store.Query) (int, error) {
	if err := c.flush(ctx); err != nil {
		return 0, err
	}
	b, err := c.open()
	if err != nil {
		return 0, err
	}
	if b == nil {
		return 0, errSlow
	}
	defer b.close()
	return c.tallied.count(b, q)
}

// count counts the rows of a book that a query selects.
func (t *tallied) count(b *book, q store.Query) (n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows != nil && b.info.Same(t.info) && b.head.size >= t.size {
		_, err = b.from(t.size, t.rows)
	} else {
		t.rows, err = b.all()
	}
	if err != nil {
		t.rows = nil
		return 0, err
	}
	t.info, t.size = b.info, b.head.size
	for _, r := range t.rows {
		if q.Matches(r.info) {
			n++
		}
	}
	if len(t.rows) > mostTallied {
		t.rows = nil
	}
	return n, nil
}
