// Package vfs defines the file operations that a journal needs, so that tests can make each
// of them fail and can simulate a power cut between any two. [OS] is the implementation for
// real files.
//
// All files and directories are created through this package, with owner-only permissions
// (0600 and 0700) regardless of the umask.
package vfs

import (
	"io"
	"io/fs"
	"time"
)

// FS is a file system. Paths use the syntax of the operating system.
type FS interface {
	// Open opens a file. Errors are those of package os: they support errors.Is with
	// fs.ErrNotExist and the system's error numbers.
	Open(path string, mode Mode) (File, error)
	// Stat returns information about the file at path, following links.
	Stat(path string) (Info, error)
	// ReadDir returns the entries of a directory, sorted by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	// MkdirAll creates a directory and its parents with owner-only permissions and makes
	// their names durable.
	MkdirAll(path string) error
	// Rename moves a file, replacing an existing one. SyncDir makes it durable.
	Rename(from, to string) error
	// Remove removes a file or an empty directory.
	Remove(path string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(path string) error
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	// Write appends to a file opened with Append or Extend, using one system call.
	io.Writer
	io.WriterAt
	io.Closer
	// Stat returns information about the open file, even after it was unlinked.
	Stat() (Info, error)
	// Truncate sets the size of the file.
	Truncate(size int64) error
	// Sync makes the file's bytes and length durable. After a failure, the state of
	// everything written since the last successful sync is unknown.
	Sync() error
	// Lock waits for the exclusive kernel lock on the file. Unlock, Close and process exit
	// release it.
	Lock() error
	// TryLock is Lock without waiting; it reports whether the lock was taken.
	TryLock() (bool, error)
	Unlock() error
}

// Mode selects how a file is opened.
type Mode int

const (
	// Read opens an existing file for reading.
	Read Mode = iota
	// Append opens or creates a file for reading and appending.
	Append
	// Create creates a file for reading and appending; it must not exist.
	Create
	// Update opens or creates a file for reading and writing at any offset.
	Update
	// Extend is Append for a file that must exist.
	Extend
	// Change is Update for a file that must exist.
	Change
)

// Info describes a file.
type Info struct {
	Size    int64
	ModTime time.Time
	Mode    fs.FileMode
	// Device and Inode together identify the file independently of its path.
	Device, Inode uint64
	// Links is the number of hard links; 0 after the file is deleted.
	Links uint64
}

// Same reports whether both infos describe the same file.
func (i Info) Same(other Info) bool {
	return i.Inode == other.Inode && i.Device == other.Device
}
