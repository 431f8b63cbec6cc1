package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// smallDisk is a disk that can be filled.
type smallDisk struct {
	fs   vfs.FS
	home string
	// fill leaves about so many bytes free; free releases the space again.
	fill func(leave int64)
	free func()
}

// TestFullDisk fills a disk in memory; see TestFullDiskReal.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, leave := range []int64{0, 1, 100, 511, 3000, 5000, 9999} {
		t.Run(fmt.Sprint(leave), func(t *testing.T) {
			fsys := faultfs.New()
			d := smallDisk{fs: fsys, home: "/home", free: func() { fsys.Limit(-1) }}
			d.fill = func(leave int64) {
				used := leave
				for _, name := range fsys.Files() {
					data, err := fsys.Get(name)
					must(t, err)
					used += int64(len(data))
				}
				fsys.Limit(used)
			}
			fullDisk(t, d, leave)
		})
	}
}

// fullDisk fills a disk while entries are appended. Every append that reported success must
// be stored, nothing may be left half done, and appends must work again when there is
// space.
func fullDisk(t *testing.T, d smallDisk, leave int64) {
	w := &fullWorld{t: t, d: d, kept: make(map[firn.ID][]firn.EntryID)}
	w.st = openHome(t, d.home, filestore.Options{FS: d.fs, PartSize: 20000})
	for _, id := range fullSessions {
		for range 5 {
			w.mustAppend(id, verifiableEntry(200))
		}
	}
	must(t, w.st.Bind(t.Context(), "key", "s0"))
	w.together(20) // creates a commit log
	w.checkAll()

	d.fill(leave)
	w.untilFull("s0", verifiableEntry(3000))
	w.untilFull("s1", verifiableEntry(3000), verifiableEntry(3000), verifiableEntry(3000), verifiableEntry(3000))
	w.together(20)
	w.checkAll()
	// Remove and Purge empty the commit log first, which frees space.
	if err := w.st.Remove(t.Context(), "nowhere", ""); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("remove a missing session: %v", err)
	}
	d.fill(0)
	w.refusals()
	w.checkAll()

	d.free()
	w.goOn()
	w.checkAll()
	must(t, w.st.Close())
	w.st = openHome(t, d.home, filestore.Options{FS: d.fs, PartSize: 20000})
	w.checkAll()
}

var fullSessions = []firn.ID{"s0", "s1", "s2", "gone", "secret"}

// fullWorld is a store on a small disk, with its acknowledged entries.
type fullWorld struct {
	t  *testing.T
	d  smallDisk
	st *filestore.Store

	mu   sync.Mutex
	kept map[firn.ID][]firn.EntryID
}

// append appends entries and reports whether they were saved. A failure must be due to the
// full disk.
func (w *fullWorld) append(id firn.ID, entries ...firn.Entry) bool {
	_, err := w.st.Append(context.Background(), id, store.Any, entries...)
	if err != nil {
		if !errors.Is(err, firn.ErrNotSaved) || !errors.Is(err, syscall.ENOSPC) {
			w.t.Errorf("append to %s: %v", id, err)
		}
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range entries {
		w.kept[id] = append(w.kept[id], e.ID)
	}
	return true
}

func (w *fullWorld) mustAppend(id firn.ID, entries ...firn.Entry) {
	w.t.Helper()
	if !w.append(id, entries...) {
		w.t.Fatal("the disk is full too soon")
	}
}

// untilFull appends copies of entries to a session until that fails, and then once more.
func (w *fullWorld) untilFull(id firn.ID, entries ...firn.Entry) {
	again := func() bool {
		for i := range entries {
			entries[i] = verifiableEntry(3000)
		}
		return w.append(id, entries...)
	}
	for range 20 {
		if !again() {
			if again() {
				w.t.Error("an entry that did not fit was accepted the second time")
			}
			return
		}
	}
	w.t.Error("the disk does not get full")
}

// together appends to several sessions concurrently, so that the commit log is used.
func (w *fullWorld) together(times int) {
	var wg sync.WaitGroup
	for _, id := range fullSessions[:3] {
		wg.Go(func() {
			for range times {
				w.append(id, verifiableEntry(100))
			}
		})
	}
	wg.Wait()
}

// checkAll checks that all acknowledged entries exist and nothing is torn.
func (w *fullWorld) checkAll() {
	w.t.Helper()
	look, err := filestore.Open(w.d.home, filestore.Options{FS: w.d.fs, ReadOnly: true})
	must(w.t, err)
	defer look.Close()
	for id, kept := range w.kept {
		for name, st := range map[string]*filestore.Store{"the store": w.st, "another": look} {
			r, err := readSession(st, id)
			if err == nil && len(r.gaps) > 0 {
				err = &r.gaps[0]
			}
			if err == nil && !slices.Equal(r.ids(), kept) {
				err = fmt.Errorf("%d entries exist, %d were saved: %w", len(r.entries), len(kept), r.checkHas(kept))
			}
			if err = errors.Join(err, r.checkChain(), r.checkVouched()); err == nil {
				err = checkResumed(st, id, r)
			}
			if err != nil {
				w.t.Errorf("%s reads session %s: %v", name, id, err)
			}
		}
	}
}

// files reads all files except logs and locks.
func (w *fullWorld) files() map[string]string {
	all := make(map[string]string)
	must(w.t, walkFiles(w.d.fs, w.d.home, func(path string) error {
		if strings.Contains(path, "/commit/") || strings.HasSuffix(path, "lock") {
			return nil
		}
		data, err := readFile(w.d.fs, path)
		all[path] = string(data)
		return err
	}))
	return all
}

// refusals tries operations that need space. They must fail without changing anything.
func (w *fullWorld) refusals() {
	ctx, before := context.Background(), w.files()
	secret := w.kept["secret"][1]
	for what, do := range map[string]func() error{
		"bind":                    func() error { return w.st.Bind(ctx, "key", "s1") },
		"bind a long new key":     func() error { return w.st.Bind(ctx, strings.Repeat("k", 1000), "s1") },
		"remove":                  func() error { return w.st.Remove(ctx, "gone", strings.Repeat("why ", 2000)) },
		"purge a session":         func() error { _, err := w.st.Purge(ctx, "gone", strings.Repeat("why ", 2000)); return err },
		"purge an entry":          func() error { _, err := w.st.Purge(ctx, "secret", strings.Repeat("why ", 2000), secret); return err },
		"begin a session":         func() error { _, err := w.st.Append(ctx, "new", store.Start, verifiableEntry(9000)); return err },
		"begin a session of keys": func() error { _, err := store.LoadOrCreate(ctx, w.st, strings.Repeat("n", 1000)); return err },
	} {
		if err := do(); !errors.Is(err, syscall.ENOSPC) {
			w.t.Errorf("%s on a full disk: %v", what, err)
		}
		for path, data := range w.files() {
			if was, ok := before[path]; data != was && (ok || data != "") {
				w.t.Errorf("%s on a full disk changed %s from %d bytes to %d", what, path, len(was), len(data))
			}
		}
	}
	if id, err := w.st.Lookup(ctx, "key"); id != "s0" || err != nil {
		w.t.Errorf("the key points at %s, %v", id, err)
	}
	n := 0
	for info, err := range w.st.List(ctx, store.Query{}) {
		must(w.t, err)
		if n++; info.Fault != "" {
			w.t.Errorf("session %s is listed with the fault %s", info.ID, info.Fault)
		}
	}
	if n != len(fullSessions) {
		w.t.Errorf("%d sessions are listed, want %d", n, len(fullSessions))
	}
}

// goOn repeats these operations when there is space.
func (w *fullWorld) goOn() {
	ctx := context.Background()
	for _, id := range fullSessions {
		w.mustAppend(id, verifiableEntry(100))
	}
	w.together(10)
	must(w.t, w.st.Bind(ctx, "key", "s1"))
	if id, err := w.st.Lookup(ctx, "key"); id != "s1" || err != nil {
		w.t.Errorf("the key points at %s, %v", id, err)
	}
	must(w.t, w.st.Remove(ctx, "s2", "to try it"))
	must(w.t, w.st.Restore(ctx, "s2"))
	if _, err := store.LoadOrCreate(ctx, w.st, "another key"); err != nil {
		w.t.Error(err)
	}
	if _, err := w.st.Append(ctx, "new", store.Start, verifiableEntry(20)); err != nil {
		w.t.Errorf("start a session whose first append failed: %v", err)
	}
	receipt, err := w.st.Purge(ctx, "gone", "asked for")
	if err != nil || receipt.Done.IsZero() {
		w.t.Errorf("purge: %+v, %v", receipt, err)
	}
	delete(w.kept, "gone")
}

// walkFiles calls visit for all files below a directory.
func walkFiles(fsys vfs.FS, dir string, visit func(path string) error) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			err = walkFiles(fsys, path, visit)
		} else {
			err = visit(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readFile(fsys vfs.FS, path string) (data []byte, err error) {
	file, err := fsys.Open(path, vfs.Read)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return io.ReadAll(file)
}
