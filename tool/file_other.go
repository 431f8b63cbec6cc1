//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package tool

import "os"

// nonBlocking is zero on systems without named pipes in directories.
const nonBlocking = 0

// syncDir does nothing on systems that need no directory sync.
func syncDir(*os.File) error { return nil }
