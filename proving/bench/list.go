package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// list measures listing many sessions in a new process.
func (b *bench) list() error {
	const sessions = 10_000
	home, fresh := b.home("list")
	if fresh {
		if err := manySessions(home, sessions); err != nil {
			return err
		}
	}
	var all, read listed
	for range 7 { // alternating; the first run warms the system's cache for both
		if err := all.again("list", home); err != nil {
			return err
		}
		if err := read.again("read4k", home); err != nil {
			return err
		}
	}
	if all.Count != sessions {
		return fmt.Errorf("listed %d sessions of %d", all.Count, sessions)
	}
	b.note("read 4 kB of each of 10,000 sessions", ms(read.Time))
	b.note("list 10,000 sessions, no index", ms(all.Time))
	b.want("list 10,000 sessions against reading 4 kB of each", times(ratio(all.Time, read.Time)), "≤ 2 ×", ratio(all.Time, read.Time) <= 2)
	b.note("list 10,000 sessions, peak memory of the process", fmt.Sprintf("%.0f MB", all.Peak))
	return b.pages(home)
}

func manySessions(home string, n int) error {
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return err
	}
	t := newTalk(5)
	for range n {
		entries := append(t.turn(), t.turn()...)
		if _, err := st.Append(context.Background(), firn.NewID(), store.Start, entries...); err != nil {
			return err
		}
	}
	return st.Close()
}

type listed struct {
	Time  time.Duration
	Count int
	Peak  float64
}

// again runs a child once more and keeps the shortest time.
func (l *listed) again(child string, args ...string) error {
	var next listed
	if err := spawn(&next, child, args...); err != nil {
		return err
	}
	if l.Time == 0 || next.Time < l.Time {
		*l = next
	}
	return nil
}

func listChild(args []string) (any, error) {
	start := time.Now()
	st, err := filestore.Open(args[0], filestore.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	n := 0
	for _, err := range st.List(context.Background(), store.Query{}) {
		if err != nil {
			return nil, err
		}
		n++
	}
	return listed{Time: time.Since(start), Count: n, Peak: peakMemory()}, st.Close()
}

// read4kChild measures the minimum cost of listing without an index.
func read4kChild(args []string) (any, error) {
	start := time.Now()
	n := 0
	buf := make([]byte, 4096)
	err := filepath.WalkDir(args[0], func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Read(buf)
		n++
		return err
	})
	return listed{Time: time.Since(start), Count: n, Peak: peakMemory()}, err
}
