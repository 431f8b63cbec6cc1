package index

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// Feed is a position in the changes of a catalog. The zero feed is before all.
type Feed struct {
	info vfs.Info
	size int64
}

// Since returns the rows that were added to the catalog after a position, and the position
// after them. It reads only those. If whole is set, the file was replaced, and these are the
// rows of all sessions.
func (c *Catalogue) Since(ctx context.Context, from Feed) (infos []store.Info, whole bool, now Feed, err error) {
	if err := c.checkOpen(ctx); err != nil {
		return nil, false, from, err
	}
	b, err := c.openCurrent(ctx)
	if err == nil {
		defer b.close()
		rows := make(map[firn.ID]*row)
		start := from.size
		if whole = from.size == 0 || !b.info.Same(from.info) || b.head.size < from.size; whole {
			rows, err = b.readAll()
		} else {
			_, err = b.readFrom(start, rows)
		}
		if err == nil {
			return allInfos(rows), whole, Feed{b.info, b.head.size}, nil
		}
	}
	if isFatal(ctx, err) {
		return nil, false, from, fmt.Errorf("read changes: %w", err)
	}
	s, err := c.refresh(ctx, nil)
	if err != nil {
		return nil, false, from, fmt.Errorf("read changes: %w", err)
	}
	return allInfos(s.rows), true, Feed{}, nil
}

func allInfos(rows map[firn.ID]*row) []store.Info {
	infos := make([]store.Info, 0, len(rows))
	for _, r := range rows {
		infos = append(infos, r.info)
	}
	return infos
}
