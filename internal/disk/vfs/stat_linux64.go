//go:build linux && (amd64 || arm64)

package vfs

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// statPath is unix.Stat without the allocation for paths of usual length.
func statPath(path string, st *unix.Stat_t) error {
	var buf [256]byte
	if len(path) >= len(buf) {
		return unix.Stat(path, st)
	}
	for i := range len(path) {
		if path[i] == 0 {
			return unix.EINVAL
		}
	}
	copy(buf[:], path)
	cwd := unix.AT_FDCWD
	_, _, errno := unix.Syscall6(sysFstatat, uintptr(cwd), uintptr(unsafe.Pointer(&buf)), uintptr(unsafe.Pointer(st)), 0, 0, 0)
	runtime.KeepAlive(st)
	if errno != 0 {
		return errno
	}
	return nil
}
