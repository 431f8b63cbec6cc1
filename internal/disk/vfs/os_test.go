package vfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/vfstest"
)

func TestOS(t *testing.T) {
	vfstest.Run(t, func(t *testing.T) (vfs.FS, string) { return vfs.OS{}, t.TempDir() })
}

func TestWriteFileInWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := vfs.WriteFile(vfs.OS{}, "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if info, err := (vfs.OS{}).Stat("a"); err != nil || info.Size != 1 {
		t.Fatal(info, err)
	}
}

// TestCloseDuringUse checks that concurrent calls either finish or fail with a closed
// error, and never use another file with the same descriptor.
func TestCloseDuringUse(t *testing.T) {
	dir := t.TempDir()
	for range 50 {
		f, err := vfs.OS{}.Open(filepath.Join(dir, "a"), vfs.Append)
		if err != nil {
			t.Fatal(err)
		}
		want, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					got, err := f.Stat()
					if errors.Is(err, os.ErrClosed) {
						return
					}
					if err != nil || !got.Same(want) {
						t.Errorf("%+v, %v", got, err)
						return
					}
				}
			})
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		other, err := vfs.OS{}.Open(filepath.Join(dir, "b"), vfs.Append)
		if err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		other.Close()
	}
}
