package index

import (
	"context"
	"fmt"

	"firn.dev/store"
)

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
	return c.table.count(b, q)
}
