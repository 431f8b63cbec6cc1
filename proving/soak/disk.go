//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// disk is the file system of the home: a mounted image that can be filled or stalled
// without harm to the machine, or a plain directory if mounting is not possible.
type disk struct {
	dir string
	// notMounted is the reason why it is a plain directory; empty if it is mounted.
	notMounted string

	mu     sync.Mutex
	frozen bool
}

const diskSize = 2 << 30

// newDisk creates a disk of a size below a directory.
func newDisk(dir string, size int64) (*disk, error) {
	d := &disk{dir: filepath.Join(dir, "disk")}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	_ = syscall.Unmount(d.dir, syscall.MNT_DETACH) // left by a previous run that was killed
	image := filepath.Join(dir, "disk.img")
	_ = os.Remove(image) // the kernel may still use the old image
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Truncate(image, size); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"mkfs.ext4", "-q", "-F", "-m", "0", image},
		{"mount", "-o", "loop,noatime", image, d.dir},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			d.notMounted = fmt.Sprintf("%s: %v: %.200s", args[0], err, out)
			return d, nil
		}
	}
	return d, nil
}

// newMemoryDisk creates a small disk in memory.
func newMemoryDisk(dir string, size int64) (*disk, error) {
	d := &disk{dir: filepath.Join(dir, "disk")}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	return d, syscall.Mount("tmpfs", d.dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size))
}

func (d *disk) ballast(n int) string { return filepath.Join(d.dir, fmt.Sprintf("ballast-%d", n)) }

// ballasts is the number of files that fill the disk, in decreasing size.
const ballasts = 3

// fill uses up all free space.
func (d *disk) fill() error {
	for n, step := range [ballasts]int64{16 << 20, 64 << 10, 4 << 10} {
		file, err := os.OpenFile(d.ballast(n), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			if errors.Is(err, syscall.ENOSPC) {
				return nil
			}
			return err
		}
		for size := int64(0); err == nil; size += step {
			err = syscall.Fallocate(int(file.Fd()), 0, size, step)
			if errors.Is(err, syscall.EINTR) {
				err = nil
				size -= step
			}
		}
		file.Close() // nothing was written
		if !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("fill the disk: %w", err)
		}
	}
	return nil
}

// empty frees the space again.
func (d *disk) empty() error {
	var all error
	for n := range ballasts {
		if err := os.Remove(d.ballast(n)); err != nil && !errors.Is(err, os.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// ioctl requests that freeze and thaw a file system.
const (
	fiFreeze = 0xC0045877
	fiThaw   = 0xC0045878
)

// freeze blocks all writes until thaw, like an unresponsive disk.
func (d *disk) freeze() error { return d.ask(fiFreeze, true) }
func (d *disk) thaw() error   { return d.ask(fiThaw, false) }

func (d *disk) ask(what uintptr, frozen bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frozen == frozen {
		return nil
	}
	dir, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, dir.Fd(), what, 0); errno != 0 {
		return fmt.Errorf("stop or release the disk: %w", errno)
	}
	d.frozen = frozen
	return nil
}

// close unmounts the disk.
func (d *disk) close() error {
	if d.notMounted != "" {
		return nil
	}
	err := d.thaw()
	for range 50 { // it may be in use for a moment
		busy := syscall.Unmount(d.dir, 0)
		if busy == nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(err, syscall.Unmount(d.dir, syscall.MNT_DETACH))
}
