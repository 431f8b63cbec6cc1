package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/find/grep"
	"firn.dev/internal/find/search"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/window"
)

// measures returns the figures of a check. Each is measured in about a second.
func measures() []measure {
	return []measure{
		{"decode a turn: allocations", decodeAllocs},
		{"decode a turn, against encoding/json: time", decodeTime},
		{"append one entry, not synced: allocations", appendAllocs},
		{"append one entry, not synced, against a bare write: time", appendTime},
		{"append 100 entries at once, against bare writes: time", batchTime},
		{"append one entry, durable: writes and syncs", appendSyncs},
		{"resume 2 MB, compacted: bytes read for each that is live", resumeBytes},
		{"resume 2 MB, compacted: allocations", resumeAllocs},
		{"resume 20 MB against 2 MB, both compacted: time", resumeTime},
		{"resume 2 MB, not compacted, against encoding/json: time", resumeWhole},
		{"list 500 sessions without an index, against reading 4 kB: time", listTime},
		{"list 500 sessions without an index: allocations of each", listAllocs},
		{"a page of 50 from the index: allocations", pageAllocs},
		{"grep 20 MB against reading it: time", grepTime},
		{"search: allocations of a query", searchAllocs},
		{"a turn, all but the model: allocations", turnAllocs},
		{"ten turns on 20 MB without counters: bytes read for each byte", turnBytes},
	}
}

// cpuRatio returns the CPU time of ours relative to theirs: the median of many rounds, in
// each of which both run for a while, one after the other. A temporarily slower machine or
// a coarse clock affects some rounds, but not the median.
func cpuRatio(rounds int, ours, theirs func() error) (figure, error) {
	var all []float64
	for range rounds {
		a, err := cpuTime(ours)
		if err != nil {
			return figure{}, err
		}
		c, err := cpuTime(theirs)
		if err != nil {
			return figure{}, err
		}
		all = append(all, a/c)
	}
	slices.Sort(all)
	return figure{all[len(all)/2], 1}, nil
}

// minRun is the minimum duration of a measurement, which must exceed the resolution of the
// system's CPU clock.
const minRun = 15 * time.Millisecond

// cpuTime returns the average CPU time of fn in seconds.
func cpuTime(fn func() error) (float64, error) {
	begun, from, n := time.Now(), processorTime(), 0
	for n == 0 || time.Since(begun) < minRun {
		if err := fn(); err != nil {
			return 0, err
		}
		n++
	}
	return (processorTime() - from).Seconds() / float64(n), nil
}

// allocations returns the number of allocations of fn.
func allocations(runs int, fn func() error) (figure, error) {
	var failed error
	n := testing.AllocsPerRun(runs, func() {
		if err := fn(); err != nil {
			failed = err
		}
	})
	return figure{n, 1}, failed
}

// turnLines returns the lines of a turn.
func turnLines() (lines [][]byte, err error) {
	d := native.New()
	for _, e := range newTalk(3).turn() {
		e.Parent = "01k7q2hz3m4x7"
		line, err := d.Append(nil, e)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func decodeAll(lines [][]byte) error {
	d := native.New()
	for _, line := range lines {
		if _, err := d.Decode(line); err != nil {
			return err
		}
	}
	return nil
}

func decodeAllocs(*bench) (figure, error) {
	lines, err := turnLines()
	if err != nil {
		return figure{}, err
	}
	return allocations(200, func() error { return decodeAll(lines) })
}

func decodeTime(*bench) (figure, error) {
	lines, err := turnLines()
	if err != nil {
		return figure{}, err
	}
	many := func(fn func() error) func() error {
		return func() error {
			for range 20 {
				if err := fn(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return cpuRatio(60, many(func() error { return decodeAll(lines) }), many(func() error {
		for _, line := range lines {
			var v any
			if err := json.Unmarshal(line, &v); err != nil {
				return err
			}
		}
		return nil
	}))
}

// scratch calls fn with a temporary store.
func (b *bench) scratch(o filestore.Options, fn func(*filestore.Store) error) error {
	home, err := os.MkdirTemp(b.dir, "check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	st, err := filestore.Open(home, o)
	if err != nil {
		return err
	}
	return errors.Join(fn(st), st.Close())
}

func appendAllocs(b *bench) (n figure, err error) {
	err = b.scratch(filestore.Options{Sync: filestore.SyncNever}, func(st *filestore.Store) error {
		entry := small()
		entry.ID = ""
		n, err = allocations(2000, func() error {
			_, err := st.Append(context.Background(), "s", store.Any, entry)
			return err
		})
		return err
	})
	return n, err
}

func appendTime(b *bench) (figure, error) { return b.appended(200, 1) }
func batchTime(b *bench) (figure, error)  { return b.appended(5, 100) }

// appended measures appending batches against writing as many bytes as plain lines.
func (b *bench) appended(batches, size int) (r figure, err error) {
	line := []byte(strings.Repeat("x", 299) + "\n")
	err = b.scratch(filestore.Options{Sync: filestore.SyncNever}, func(st *filestore.Store) error {
		f, err := os.OpenFile(filepath.Join(st.Home(), "bare"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		batch := make([]firn.Entry, size)
		r, err = cpuRatio(40, func() error {
			for range batches {
				for i := range batch {
					batch[i] = small()
				}
				if _, err := st.Append(context.Background(), "s", store.Any, batch...); err != nil {
					return err
				}
			}
			return nil
		}, func() error {
			for range batches * size {
				if _, err := f.Write(line); err != nil {
					return err
				}
			}
			return nil
		})
		return err
	})
	return r, err
}

// appendSyncs counts the writes and syncs of a durable append.
func appendSyncs(b *bench) (figure, error) {
	disk := &busyFS{FS: vfs.OS{}}
	const n = 50
	err := b.scratch(filestore.Options{FS: disk}, func(st *filestore.Store) error {
		for i := range n + 1 {
			if i == 1 { // after the session was created
				disk.asked.Store(0)
			}
			if _, err := st.Append(context.Background(), "s", store.Any, small()); err != nil {
				return err
			}
		}
		return nil
	})
	return figure{float64(disk.asked.Load()), n}, err
}

// busyFS counts writes and syncs.
type busyFS struct {
	vfs.FS
	asked atomic.Int64
}

// Open opens a file whose writes and syncs are counted.
func (d *busyFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := d.FS.Open(path, mode)
	return &busyFile{f, d}, err
}

type busyFile struct {
	vfs.File
	disk *busyFS
}

// Write counts and writes.
func (f *busyFile) Write(b []byte) (int, error) {
	f.disk.asked.Add(1)
	return f.File.Write(b)
}

// Sync counts and syncs.
func (f *busyFile) Sync() error {
	f.disk.asked.Add(1)
	return f.File.Sync()
}

// grown creates a session of a size once, and returns its home.
func (b *bench) grown(name string, size int64, compacted bool) (string, error) {
	home, fresh := b.home(name)
	if !fresh {
		return home, nil
	}
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return "", err
	}
	return home, errors.Join(grow(context.Background(), st, "s", size, compacted), st.Close())
}

// resumeOnce opens a session and builds the window for the model.
func resumeOnce(home string, fsys vfs.FS) (store.Pos, error) {
	st, err := filestore.Open(home, filestore.Options{ReadOnly: true, FS: fsys})
	if err != nil {
		return 0, err
	}
	path, err := window.Collect(st.ReadBack(context.Background(), "s", store.End))
	if err != nil {
		return 0, errors.Join(err, st.Close())
	}
	if w := window.Build(path, window.Options{Profile: window.Anthropic()}); len(w.Items) == 0 {
		err = errors.New("the window is empty")
	}
	return path.Start, errors.Join(err, st.Close())
}

func resumeBytes(b *bench) (figure, error) {
	home, err := b.grown("c2", 2e6, true)
	if err != nil {
		return figure{}, err
	}
	counting := &countingFS{FS: vfs.OS{}}
	start, err := resumeOnce(home, counting)
	if err != nil {
		return figure{}, err
	}
	live, err := bytesAfter(home, "s", start)
	return figure{float64(counting.read.Load()), float64(live)}, err
}

func resumeAllocs(b *bench) (figure, error) {
	home, err := b.grown("c2", 2e6, true)
	if err != nil {
		return figure{}, err
	}
	return allocations(20, func() error { _, err := resumeOnce(home, nil); return err })
}

func resumeTime(b *bench) (figure, error) {
	small, err := b.grown("c2", 2e6, true)
	if err != nil {
		return figure{}, err
	}
	large, err := b.grown("c20", 20e6, true)
	if err != nil {
		return figure{}, err
	}
	return cpuRatio(60, func() error { _, err := resumeOnce(large, nil); return err }, func() error { _, err := resumeOnce(small, nil); return err })
}

// resumeWhole compares resuming to reading the same lines with the standard library, both
// on one processor.
func resumeWhole(b *bench) (figure, error) {
	home, err := b.grown("n2", 2e6, false)
	if err != nil {
		return figure{}, err
	}
	files, err := grep.Files(vfs.OS{}, false, home)
	if err != nil || len(files) != 1 {
		return figure{}, fmt.Errorf("%d files, %w", len(files), err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return cpuRatio(25, func() error { _, err := resumeOnce(home, nil); return err }, func() error {
		data, err := os.ReadFile(files[0])
		if err != nil {
			return err
		}
		for line := range bytes.Lines(data) {
			var v any
			if err := json.Unmarshal(line, &v); err != nil {
				return err
			}
		}
		return nil
	})
}

const fewSessions = 500

// few returns a home with fewSessions sessions.
func (b *bench) few() (string, error) {
	home, fresh := b.home("few")
	if !fresh {
		return home, nil
	}
	return home, errors.Join(manySessions(home, fewSessions), reindex(home))
}

func listTime(b *bench) (figure, error) {
	home, err := b.few()
	if err != nil {
		return figure{}, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return cpuRatio(25, func() error { _, err := listChild([]string{home}); return err }, func() error { _, err := read4kChild([]string{home}); return err })
}

func listAllocs(b *bench) (figure, error) {
	home, err := b.few()
	if err != nil {
		return figure{}, err
	}
	n, err := allocations(5, func() error { _, err := listChild([]string{home}); return err })
	return figure{n.got, fewSessions}, err
}

func pageAllocs(b *bench) (figure, error) {
	home, err := b.few()
	if err != nil {
		return figure{}, err
	}
	return allocations(20, func() error { _, err := pageChild([]string{home, "50"}); return err })
}

// grepTime compares grep to reading the files and searching for a newline.
func grepTime(b *bench) (figure, error) {
	home, err := b.grown("c20", 20e6, true)
	if err != nil {
		return figure{}, err
	}
	pattern := regexp.MustCompile(rareWord)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return cpuRatio(15, func() error {
		files, err := grep.Files(vfs.OS{}, false, home)
		if err != nil {
			return err
		}
		_, err = grep.Run(context.Background(), vfs.OS{}, files, grep.Options{Pattern: pattern}, func(grep.Match) error { return nil })
		return err
	}, func() error { return scan(home) })
}

// scan reads all transcripts and searches for a word.
func scan(home string) error {
	return filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(rareWord)) {
			return errors.New("the rare word is there")
		}
		return err
	})
}

// searchAllocs runs several kinds of queries on the full-text index.
func searchAllocs(b *bench) (figure, error) {
	home, fresh := b.home("words")
	if fresh {
		if err := manyMessages(home, 4000); err != nil {
			return figure{}, err
		}
	}
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return figure{}, err
	}
	defer st.Close()
	index := fulltext.New(vfs.OS{}, filepath.Join(home, "index"), st, fulltext.Options{Patience: time.Hour})
	defer index.Close()
	if fresh {
		if err := index.Rebuild(context.Background()); err != nil {
			return figure{}, err
		}
	}
	l := newLexicon(2)
	var queries []search.Query
	for range 20 {
		for _, text := range []string{l.word(), l.word() + " AND " + l.word(), l.word() + " " + l.word() + " " + l.word()} {
			q, err := search.Parse(text, time.Now())
			if err != nil {
				return figure{}, err
			}
			queries = append(queries, q)
		}
	}
	n, err := allocations(2, func() error {
		for _, q := range queries {
			if _, err := index.Search(context.Background(), q); err != nil {
				return err
			}
		}
		return nil
	})
	return figure{n.got, float64(len(queries))}, err
}

// turnAllocs runs turns with a model that answers immediately.
func turnAllocs(b *bench) (n figure, err error) {
	err = b.scratch(filestore.Options{Sync: filestore.SyncNever}, func(st *filestore.Store) error {
		if err := grow(context.Background(), st, "s", 2e6, true); err != nil {
			return err
		}
		a := instantAgent(st)
		defer a.Close()
		n, err = allocations(10, func() error { return turnOnce(a, "s") })
		return err
	})
	return n, err
}

// turnBytes returns the bytes read in ten consecutive turns, relative to the size of a
// session whose usage has not been counted yet.
func turnBytes(b *bench) (figure, error) {
	const size = 20e6
	counting := &countingFS{FS: vfs.OS{}}
	err := b.scratch(filestore.Options{Sync: filestore.SyncNever, FS: counting}, func(st *filestore.Store) error {
		if err := grow(context.Background(), st, "s", size, true); err != nil {
			return err
		}
		counting.read.Store(0)
		a := instantAgent(st)
		defer a.Close()
		for range 10 {
			if err := turnOnce(a, "s"); err != nil {
				return err
			}
		}
		a.Wait()
		return nil
	})
	return figure{float64(counting.read.Load()), size}, err
}
