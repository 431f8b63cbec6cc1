package index

import (
	"context"
	"fmt"
	"sync"
	"time"

	"firn/internal/vfs"
	"firn/store"
)

// counts remembers how many sessions queries select, for as long as the file
// says the same. Somebody who goes through a list asks the same for each page.
type counts struct {
	mu sync.Mutex
	// info, size and lines are those of the file that was counted.
	info  vfs.Info
	size  int64
	lines int
	of    map[store.Query]int
}

// mostCounts bounds how many queries are remembered.
const mostCounts = 64

// known returns the count of a query, if it is still that of the file.
func (n *counts) known(b *book, q store.Query) (int, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil || !n.info.Same(b.info) || n.size != b.head.size || n.lines != b.head.lines {
		return 0, false
	}
	total, ok := n.of[q]
	return total, ok
}

// keep remembers the count of a query.
func (n *counts) keep(b *book, q store.Query, total int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	same := n.info.Same(b.info) && n.size == b.head.size && n.lines == b.head.lines
	if n.of == nil || !same || len(n.of) >= mostCounts {
		n.of = make(map[store.Query]int)
	}
	n.info, n.size, n.lines = b.info, b.head.size, b.head.lines
	n.of[q] = total
}

// countKey is the query without what does not matter for how many there are.
func countKey(q store.Query) store.Query {
	q.Limit = 0
	q.Since, q.Until = plainUnlessZero(q.Since), plainUnlessZero(q.Until)
	return q
}

func plainUnlessZero(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return plainTime(t)
}

// Count tells how many sessions a query selects, as far as the catalogue knows:
// no session is looked at. What went through [Wrap] it knows. While nothing
// changes it is counted once.
func (c *Catalogue) Count(ctx context.Context, q store.Query) (int, error) {
	if err := c.usable(ctx); err != nil {
		return 0, err
	}
	if err := c.flush(ctx); err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	b, err := c.open()
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	if b != nil && !c.unwritable() {
		defer b.close()
		n, err := c.total(ctx, b, q)
		if err == nil || fatal(ctx, err) {
			return n, err
		}
		c.reportDamage(err)
	} else {
		b.close()
	}
	s, err := c.refresh(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	return s.count(q), nil
}

// total counts the sessions in the file that a query selects. It reads all of
// the file, unless it did so before; no session is looked at.
func (c *Catalogue) total(ctx context.Context, b *book, q store.Query) (int, error) {
	q = countKey(q)
	if n, ok := c.counts.known(b, q); ok {
		return n, nil
	}
	n, back := 0, b.back() // which leaves out what a later line replaces
	for read := 0; !back.done; read++ {
		r, err := back.next()
		if err != nil {
			return 0, err
		}
		if r == nil {
			break
		}
		if read%1024 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if q.Matches(r.info) {
			n++
		}
	}
	c.counts.keep(b, q, n)
	return n, nil
}
