package filestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"firn.dev/internal/disk/vfs"
)

// TestFullDiskReal fills a real file system of 2 MB. It needs the right to mount; otherwise
// only TestFullDisk runs, in memory.
func TestFullDiskReal(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: the full disk is tried in memory only")
		return
	}
	for _, leave := range []int64{0, 4096, 20000} {
		dir := t.TempDir()
		must(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m,mode=0700"))
		t.Cleanup(func() { must(t, syscall.Unmount(dir, 0)) })
		n := 0
		fullDisk(t, smallDisk{
			fs: vfs.OS{}, home: filepath.Join(dir, "home"),
			fill: func(leave int64) { n++; fillDisk(t, filepath.Join(dir, "ballast"+strconv.Itoa(n)), leave) },
			free: func() {
				for ; n > 0; n-- {
					must(t, os.Remove(filepath.Join(dir, "ballast"+strconv.Itoa(n))))
				}
			},
		}, leave)
	}
}

// fillDisk writes a file until the disk is full, and then truncates it.
func fillDisk(t *testing.T, path string, leave int64) {
	file, err := os.Create(path)
	must(t, err)
	size := int64(0)
	for piece := make([]byte, 4096); ; {
		n, err := file.Write(piece)
		size += int64(n)
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		must(t, err)
	}
	must(t, file.Truncate(max(0, size-leave)))
	must(t, file.Close())
}
