// Package vfs is the few file operations that keeping a journal needs, so that
// tests can make every one of them fail and can take the power away between
// any two. The real thing is [OS].
//
// It is also the one place that creates files and directories: they are for
// their owner alone (0600 and 0700), whatever the umask says.
package vfs

import (
	"io"
	"io/fs"
	"time"
)

// FS is a file system. Paths are as the operating system spells them.
type FS interface {
	// Open opens a file. Errors are those of package os: errors.Is(err,
	// fs.ErrNotExist) and the system's error numbers can be told.
	Open(path string, mode Mode) (File, error)
	// Stat tells of the file at path, following links.
	Stat(path string) (Info, error)
	// ReadDir names what is in a directory, sorted.
	ReadDir(path string) ([]fs.DirEntry, error)
	// MkdirAll makes a directory and those above it, for the owner alone, and
	// makes their names durable.
	MkdirAll(path string) error
	// Rename moves a file, replacing what is there. SyncDir makes it durable.
	Rename(from, to string) error
	// Remove takes away a file or an empty directory.
	Remove(path string) error
	// SyncDir makes durable which files are in a directory.
	SyncDir(path string) error
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	// Write adds to the end of a file opened to append, with one system call.
	io.Writer
	io.WriterAt
	io.Closer
	// Stat tells of the open file, which may have no name any more.
	Stat() (Info, error)
	// Truncate cuts the file to size bytes.
	Truncate(size int64) error
	// Sync makes the file's bytes and its length durable. Once it has failed,
	// nothing is known of what was written since the last success.
	Sync() error
	// Lock takes the exclusive kernel lock on the file, waiting for it. It is
	// freed by Unlock, by Close and by the death of the process.
	Lock() error
	// TryLock is Lock without waiting; it reports whether the lock was taken.
	TryLock() (bool, error)
	Unlock() error
}

// Mode says what a file is opened for.
type Mode int

const (
	// Read opens an existing file to be read.
	Read Mode = iota
	// Append opens or creates a file to be read and added to at its end.
	Append
	// Create makes a new file to be read and added to; it must not exist.
	Create
	// Update opens or creates a file to be read and written anywhere in it.
	Update
	// Extend is Append for a file that must exist.
	Extend
	// Change is Update for a file that must exist.
	Change
)

// Info tells of a file.
type Info struct {
	Size    int64
	ModTime time.Time
	Mode    fs.FileMode
	// Device and Inode together name the file itself, whatever its path.
	Device, Inode uint64
	// Links is the number of names the file has; 0 once it is deleted.
	Links uint64
}

// Same reports whether two infos are of one file.
func (i Info) Same(other Info) bool {
	return i.Inode == other.Inode && i.Device == other.Device
}
