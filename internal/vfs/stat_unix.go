//go:build !windows && !(linux && (amd64 || arm64))

package vfs

import "golang.org/x/sys/unix"

// statPath asks the system what is at a path.
func statPath(path string, st *unix.Stat_t) error { return unix.Stat(path, st) }
