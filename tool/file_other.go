//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package tool

import "os"

// nonBlocking is for systems that have pipes with names in directories.
const nonBlocking = 0

// syncDir is for systems that must be told to keep the names in a directory.
func syncDir(*os.File) error { return nil }
