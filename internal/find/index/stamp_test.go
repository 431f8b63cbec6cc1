package index

import (
	"context"
	"testing"

	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// stampedSource is a source in which sessions appear without a notification.
type stampedSource struct {
	fakeSource
	stamp string
	// counted is the number of calls of Census.
	counted int
}

func (s *stampedSource) Stamp(context.Context) (string, error) { return s.stamp, nil }

func (s *stampedSource) Census(ctx context.Context) ([]store.Status, error) {
	s.counted++
	return s.fakeSource.Census(ctx)
}

// TestStamp checks that a page shows unreported changes once the stamp differs, also in the
// next process, and calls Census only then.
func TestStamp(t *testing.T) {
	src, dir := &stampedSource{fakeSource: fakeSource{3}, stamp: "a"}, t.TempDir()
	var c *Catalogue
	open := func() {
		var err error
		if c, err = Open(vfs.OS{}, dir, src, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	look := func(want, counted int) {
		t.Helper()
		page, err := c.Page(t.Context(), store.Query{Limit: 10}, Cursor{})
		if err != nil || len(page.Infos) != want || src.counted != counted {
			t.Errorf("a page has %d sessions, and all were counted %d times: %v", len(page.Infos), src.counted, err)
		}
	}
	open()
	look(3, 1)
	look(3, 1)
	src.n, src.stamp = 5, "b"
	look(5, 2)
	look(5, 2)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	src.n, src.stamp = 6, "c"
	open()
	look(6, 3)
	look(6, 3)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
