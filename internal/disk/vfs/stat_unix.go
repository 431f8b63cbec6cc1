//go:build !windows && !(linux && (amd64 || arm64))

package vfs

import "golang.org/x/sys/unix"

// statPath calls stat(2).
func statPath(path string, st *unix.Stat_t) error { return unix.Stat(path, st) }
