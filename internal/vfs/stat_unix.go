//go:build !windows && !(linux && (amd64 || arm64))

package vfs

import "golang.org/x/sys/unix"

func statPath(path string, st *unix.Stat_t) error { return unix.Stat(path, st) }
