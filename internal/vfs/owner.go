package vfs

import "os"

// OwnerOnly takes from everybody but the owner what they may do with a file,
// such as a socket that the system has made.
func OwnerOnly(path string) error { return os.Chmod(path, filePerm) }
