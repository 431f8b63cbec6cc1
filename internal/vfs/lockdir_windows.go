package vfs

import "io"

// LockDir takes the exclusive lock on a directory itself, where the system can.
// This one cannot: there a lock file is all there is.
func (OS) LockDir(string) (lock io.Closer, taken bool, err error) { return nil, true, nil }
