package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// small returns an entry whose line has about 300 bytes.
func small() firn.Entry {
	return userEntry(strings.Repeat("lorem ipsum ", 13))
}

// append measures appends without sync.
func (b *bench) append() error {
	home, _ := b.home("append")
	ctx := context.Background()
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return err
	}
	defer st.Close()
	const batches, size = 600, 100
	took, err := best(3, func() error {
		id := firn.NewID()
		for range batches {
			batch := make([]firn.Entry, size)
			for i := range batch {
				batch[i] = small()
			}
			if _, err := st.Append(ctx, id, store.Any, batch...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	rate := perSecond(batches*size, took)
	b.want("append, not synced, batches of 100, entries a second", fmt.Sprintf("%.0f", rate), "≥ 300,000", rate >= 300_000)
	return b.appendSingle(ctx, st)
}

func (b *bench) appendSingle(ctx context.Context, st *filestore.Store) error {
	const n = 50_000
	id := firn.NewID()
	entry := small()
	entry.ID = ""
	var allocs float64
	took, err := best(3, func() error {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range n {
			if _, err := st.Append(ctx, id, store.Any, entry); err != nil {
				return err
			}
		}
		runtime.ReadMemStats(&after)
		allocs = float64(after.Mallocs-before.Mallocs) / n
		return nil
	})
	if err != nil {
		return err
	}
	rate := perSecond(n, took)
	b.want("append, not synced, one by one, entries a second", fmt.Sprintf("%.0f", rate), "≥ 200,000", rate >= 200_000)
	b.want("append, allocations an entry", fmt.Sprintf("%.1f", allocs), "≤ 5", allocs <= 5)
	return b.bareWrites(n)
}

// bareWrites measures plain writes for comparison.
func (b *bench) bareWrites(n int) error {
	path := filepath.Join(b.dir, "append", "bare")
	line := []byte(strings.Repeat("x", 299) + "\n")
	took, err := best(3, func() error {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		for range n {
			if _, err := f.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
	b.note("bare write(2) of 300 bytes, a second", fmt.Sprintf("%.0f", perSecond(n, took)))
	return err
}

// best returns the shortest of n runs.
func best(n int, fn func() error) (time.Duration, error) {
	shortest := time.Duration(1<<63 - 1)
	for range n {
		start := time.Now()
		if err := fn(); err != nil {
			return 0, err
		}
		shortest = min(shortest, time.Since(start))
	}
	return shortest, nil
}

// durable measures synced appends over many sessions and on one session, both against a
// sync per file.
func (b *bench) durable() error {
	home, _ := b.home("durable")
	ctx := context.Background()
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	const sessions, rounds = 1000, 50
	ids := make([]firn.ID, sessions)
	for i := range ids {
		ids[i] = firn.NewID()
	}
	entry := small()
	entry.ID = "" // the store assigns a new ID
	appendTo := func(i int) error {
		_, err := st.Append(ctx, ids[i%sessions], store.Any, entry)
		return err
	}
	if err := runParallel(sessions, sessions, appendTo); err != nil { // create the sessions outside of the measurement
		return err
	}
	ours, err := best(10, func() error { return runParallel(sessions, sessions*rounds, appendTo) }) // as many attempts as the others get
	if err != nil {
		return err
	}
	theirs, err := b.perFile(sessions, sessions*rounds)
	if err != nil {
		return err
	}
	b.note("durable appends over 1,000 sessions, a second", fmt.Sprintf("%.0f", perSecond(sessions*rounds, ours)))
	b.note("the same with fdatasync of each file, a second", fmt.Sprintf("%.0f", perSecond(sessions*rounds, theirs)))
	b.want("durable appends over 1,000 sessions against fdatasync of each", times(ratio(theirs, ours)), "≥ 4 ×", ratio(theirs, ours) >= 4)
	log, err := b.bareLog(sessions, rounds)
	if err != nil {
		return err
	}
	b.note("the same bytes in one log, synced for each thousand, a second", fmt.Sprintf("%.0f", perSecond(sessions*rounds, log)))
	b.want("durable appends over 1,000 sessions against the bare log", times(ratio(ours, log)), "≤ 2.5 ×", ratio(ours, log) <= 2.5)
	return b.durableOne(ctx, st)
}

// bareLog measures a lower bound for durable appends: the lines of all sessions are encoded
// and written to one file, which is synced once per round.
func (b *bench) bareLog(sessions, rounds int) (time.Duration, error) {
	f, err := vfs.OS{}.Open(filepath.Join(b.dir, "perfile", "log"), vfs.Append)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	d, entry := native.New(), small()
	return best(10, func() error {
		for range rounds {
			var batch []byte
			for range sessions {
				entry.ID = firn.NewEntryID()
				line, err := d.Append(batch, entry)
				if err != nil {
					return err
				}
				batch = append(line, '\n')
			}
			if _, err := f.Write(batch); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
		}
		return nil
	})
}

// runParallel calls fn with 0 to n-1 from a number of concurrent workers.
func runParallel(workers, n int, fn func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := fn(i); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// perFile appends as many lines with a sync per line. It uses the number of workers that
// performs best.
func (b *bench) perFile(files, n int) (time.Duration, error) {
	dir := filepath.Join(b.dir, "perfile")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	open := make([]vfs.File, files)
	for i := range open {
		f, err := vfs.OS{}.Open(filepath.Join(dir, fmt.Sprint(i)), vfs.Append)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		open[i] = f
	}
	line := []byte(strings.Repeat("x", 299) + "\n")
	appendTo := func(i int) error {
		f := open[i%files]
		if _, err := f.Write(line); err != nil {
			return err
		}
		return f.Sync()
	}
	shortest := time.Duration(1<<63 - 1)
	for _, workers := range []int{1, 8, 64, 256, files} {
		took, err := best(2, func() error { return runParallel(workers, n, appendTo) })
		if err != nil {
			return 0, err
		}
		shortest = min(shortest, took)
	}
	return shortest, nil
}

func (b *bench) durableOne(ctx context.Context, st *filestore.Store) error {
	const n = 2000
	id := firn.NewID()
	entry := small()
	entry.ID = ""
	ours := func() error {
		for range n {
			if _, err := st.Append(ctx, id, store.Any, entry); err != nil {
				return err
			}
		}
		return nil
	}
	f, err := vfs.OS{}.Open(filepath.Join(b.dir, "perfile", "one"), vfs.Append)
	if err != nil {
		return err
	}
	defer f.Close()
	d := native.New()
	theirs := func() error { // the minimum work to store an entry
		for range n {
			entry.ID = firn.NewEntryID()
			line, err := d.Append(nil, entry)
			if err != nil {
				return err
			}
			if _, err := f.Write(append(line, '\n')); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
		}
		entry.ID = ""
		return nil
	}
	a, c := time.Duration(1<<63-1), time.Duration(1<<63-1)
	for range 6 { // alternating, since disk performance varies
		took, err := best(1, ours)
		if err != nil {
			return err
		}
		a = min(a, took)
		if took, err = best(1, theirs); err != nil {
			return err
		}
		c = min(c, took)
	}
	b.want("durable appends to one session against encode, write, fdatasync", times(ratio(a, c)), "≤ 1.1 ×", ratio(a, c) <= 1.1)
	return nil
}

// userEntry returns a user message with an ID, which printers require.
func userEntry(text string) firn.Entry { return firn.NewEntry(firn.UserText(text).Body) }
