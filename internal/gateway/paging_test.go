package gateway

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/index"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// counting counts the sessions that a catalog inspects.
type counting struct {
	*filestore.Store
	asked atomic.Int64
}

func (c *counting) Census(ctx context.Context) ([]store.Status, error) {
	all, err := c.Store.Census(ctx)
	c.asked.Add(int64(len(all)))
	return all, err
}

func (c *counting) Status(ctx context.Context, id firn.ID) (store.Status, error) {
	c.asked.Add(1)
	return c.Store.Status(ctx, id)
}

func (c *counting) Inspect(ctx context.Context, id firn.ID) (store.Info, error) {
	c.asked.Add(1)
	return c.Store.Inspect(ctx, id)
}

// TestPageReadsOnlyItsSessions checks that a page inspects only its own sessions,
// wherever it is in the list.
func TestPageReadsOnlyItsSessions(t *testing.T) {
	home := t.TempDir()
	files, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	source := &counting{Store: files}
	catalog, err := index.Open(vfs.OS{}, filepath.Join(home, "index"), source, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRoom(t, index.Wrap(files, catalog), home)
	const sessions, limit = 500, 20
	for i := range sessions {
		r.start(firn.Header{Session: firn.ID(fmt.Sprintf("s-%03d", i))}, says("", "hello"))
	}
	got(r.Sessions(r.ctx, SessionQuery{Limit: limit}))(t) // fills the catalog
	seen := 0
	for q := (SessionQuery{Limit: limit}); ; {
		source.asked.Store(0)
		page := got(r.Sessions(r.ctx, q))(t)
		seen += len(page.Items)
		if n := source.asked.Load(); n > 3*limit {
			t.Fatalf("after %d sessions a page of %d looked up %d", seen, limit, n)
		}
		if page.Cursor == "" {
			break
		}
		q.Cursor = page.Cursor
	}
	if seen != sessions {
		t.Errorf("%d sessions were listed", seen)
	}
}
