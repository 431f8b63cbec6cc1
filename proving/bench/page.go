package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/index"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// pages measures listing from the index, each time in a new process.
func (b *bench) pages(home string) error {
	if err := reindex(home); err != nil {
		return err
	}
	var page, all listed
	for range 7 { // the first run warms the system's cache
		if err := page.again("page", home, "50"); err != nil {
			return err
		}
		if err := all.again("page", home, "0"); err != nil {
			return err
		}
	}
	if page.Count != 50 {
		return fmt.Errorf("a page has %d sessions", page.Count)
	}
	b.want("a page of 50 of 10,000 sessions from the index, new process", ms(page.Time), "≤ 5 ms", page.Time <= 5*time.Millisecond)
	b.want("all of 10,000 sessions from the index, each asked how it stands", ms(all.Time), "≤ 40 ms", all.Time <= 40*time.Millisecond)
	b.want("a page of 50 from the index, peak memory of the process", fmt.Sprintf("%.0f MB", page.Peak), "≤ 20 MB", page.Peak <= 20)
	b.note("all of 10,000 sessions from the index, peak memory", fmt.Sprintf("%.0f MB", all.Peak))
	return nil
}

func withIndex(home string, readOnly bool, fn func(*index.Catalogue) error) error {
	st, err := filestore.Open(home, filestore.Options{ReadOnly: readOnly})
	if err != nil {
		return err
	}
	defer st.Close()
	c, err := index.Open(vfs.OS{}, filepath.Join(home, "index"), st, index.Options{ReadOnly: readOnly})
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(c)
}

func reindex(home string) error {
	return withIndex(home, false, func(c *index.Catalogue) error {
		return c.Rebuild(context.Background(), nil)
	})
}

func pageChild(args []string) (any, error) {
	limit := 0
	if _, err := fmt.Sscan(args[1], &limit); err != nil {
		return nil, err
	}
	start := time.Now()
	result := listed{}
	err := withIndex(args[0], true, func(c *index.Catalogue) error {
		page, err := c.Page(context.Background(), store.Query{Limit: limit}, index.Cursor{})
		result.Count = len(page.Infos)
		return err
	})
	result.Time, result.Peak = time.Since(start), peakMemory()
	return result, err
}
