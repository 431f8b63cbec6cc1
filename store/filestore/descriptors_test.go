package filestore_test

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// tightFS limits the number of open files.
type tightFS struct {
	vfs.FS
	mu         sync.Mutex
	open, most int
	refused    int
}

func (f *tightFS) take(op, path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open >= f.most {
		f.refused++
		return &fs.PathError{Op: op, Path: path, Err: syscall.EMFILE}
	}
	f.open++
	return nil
}

func (f *tightFS) give() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open--
}

func (f *tightFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	if err := f.take("open", path); err != nil {
		return nil, err
	}
	file, err := f.FS.Open(path, mode)
	if err != nil {
		f.give()
		return nil, err
	}
	return &tightFile{file, f}, nil
}

func (f *tightFS) ReadDir(path string) ([]fs.DirEntry, error) {
	if err := f.take("open", path); err != nil {
		return nil, err
	}
	defer f.give()
	return f.FS.ReadDir(path)
}

func (f *tightFS) MkdirAll(path string) error {
	if err := f.take("open", path); err != nil {
		return err
	}
	defer f.give()
	return f.FS.MkdirAll(path)
}

func (f *tightFS) SyncDir(path string) error {
	if err := f.take("open", path); err != nil {
		return err
	}
	defer f.give()
	return f.FS.SyncDir(path)
}

type tightFile struct {
	vfs.File
	fs *tightFS
}

func (f *tightFile) Close() error {
	err := f.File.Close()
	f.fs.give()
	return err
}

// TestFewDescriptors uses many sessions, writers and followers with few file descriptors.
// The store must close idle files, and no call may fail. OpenFiles is set as if there were
// no limit.
func TestFewDescriptors(t *testing.T) {
	for _, most := range []int{6, 8, 16, 40} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			files := &tightFS{FS: vfs.OS{}, most: most}
			st, err := filestore.Open(t.TempDir(), filestore.Options{FS: files, OpenFiles: 1024, PartSize: 600, Sync: filestore.SyncNever})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			const sessions, followers, rounds = 40, 20, 3
			ids := make([]firn.ID, sessions)
			for i := range ids {
				ids[i] = reviewBegin(t, st, 2)
				if err := st.Bind(t.Context(), fmt.Sprintf("agent:main:k%d", i), ids[i]); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var watching sync.WaitGroup
			for i := range followers {
				watching.Go(func() { followCount(ctx, t, st, ids[i], 2+rounds) })
			}
			writers := max(1, most/8) // each has up to two parts open, and a reader's file
			var writing sync.WaitGroup
			for w := range writers {
				writing.Go(func() {
					for range rounds {
						for i := w; i < sessions; i += writers {
							if _, err := st.Append(t.Context(), ids[i], store.Any, firn.UserText(fmt.Sprintf("more %0300d", i))); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			writing.Wait()
			watching.Wait()
			listed := 0
			for info, err := range st.List(t.Context(), store.Query{}) {
				if err != nil || info.Fault != "" {
					t.Fatalf("list: %v, %q", err, info.Fault)
				}
				listed++
			}
			if listed != sessions {
				t.Errorf("%d of %d sessions are listed", listed, sessions)
			}
			for i, id := range ids {
				if n := reviewCount(t, st, id); n != 2+rounds {
					t.Errorf("session %d has %d entries", i, n)
				}
				if got, err := st.Lookup(t.Context(), fmt.Sprintf("agent:main:k%d", i)); err != nil || got != id {
					t.Errorf("key %d points at %s: %v", i, got, err)
				}
			}
			if files.refused == 0 {
				t.Error("descriptors never ran out")
			}
			if err := st.Close(); err != nil || files.open != 0 {
				t.Errorf("%d files are left open: %v", files.open, err)
			}
		})
	}
}

// followCount follows a session until it has seen want entries.
func followCount(ctx context.Context, t *testing.T, st *filestore.Store, id firn.ID, want int) {
	for r, err := range st.Follow(ctx, id, store.Start) {
		if err != nil {
			t.Errorf("follow: %v", err)
			return
		}
		if r.Gap == nil && r.Glance.Kind != firn.KindHeader {
			if want--; want == 0 {
				return
			}
		}
	}
}

// TestEveryOpenWithoutDescriptor makes each call that needs a descriptor fail once. No
// operation may fail.
func TestEveryOpenWithoutDescriptor(t *testing.T) {
	kinds := faultfs.Open | faultfs.Create | faultfs.ReadDir | faultfs.SyncDir | faultfs.SyncFS | faultfs.Mkdir
	n, met := 0, true
	for met {
		n++
		fsys := faultfs.New()
		fsys.FailNth(n, faultfs.Fault{Of: kinds, Err: syscall.EMFILE})
		if err := useStore(t.Context(), fsys); err != nil {
			t.Fatalf("call %d found no descriptor: %v", n, err)
		}
		met = fsys.Waiting() == 0
	}
	if n < 20 {
		t.Errorf("only %d calls were tried", n)
	}
}

// useStore uses most operations of a store.
func useStore(ctx context.Context, fsys vfs.FS) (err error) {
	st, err := filestore.Open("/home", filestore.Options{FS: fsys, PartSize: 400})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() {
		if closeErr := st.Close(); err == nil {
			err = closeErr
		}
	}()
	id := firn.ID("one")
	for i := range 3 {
		if _, err := st.Append(ctx, id, store.Any, firn.UserText(fmt.Sprintf("said %0200d", i))); err != nil {
			return fmt.Errorf("append: %w", err)
		}
	}
	if err := st.Bind(ctx, "agent:main:k", id); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	read := 0
	for r, err := range st.ReadBack(ctx, id, store.End) {
		if err != nil {
			return fmt.Errorf("read back: %w", err)
		}
		if r.Gap == nil {
			read++
		}
	}
	for _, err := range st.Read(ctx, id, store.Start) {
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
	for info, err := range st.List(ctx, store.Query{}) {
		if err != nil || info.Fault != "" {
			return fmt.Errorf("list: %w %s", err, info.Fault)
		}
	}
	if err := st.Remove(ctx, id, "test"); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	if read != 4 {
		return fmt.Errorf("%d records were read", read)
	}
	_, err = fsys.Stat(filepath.Join("/home", "bin", string(id)))
	return err
}
