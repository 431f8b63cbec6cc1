//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package tool

import "os"

// nonBlocking is for systems that have pipes with names in directories.
const nonBlocking = 0

// syncDir is for systems that must be told to keep the names in a directory.
func syncDir(*os.File) error { return nil }

// tryLock has no lock to take here: two processes that note the same thing at
// the same moment may both write it, each on a line of its own.
func tryLock(*os.File) (bool, error) { return true, nil }
