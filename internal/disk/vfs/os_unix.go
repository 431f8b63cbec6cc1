//go:build !windows

package vfs

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const errNotDir = unix.ENOTDIR

// openTries bounds the retries between opening and creating a file when another process
// keeps creating and removing it, or when it is a dangling link.
const openTries = 8

// Open implements [FS].
func (OS) Open(path string, mode Mode) (File, error) {
	var f *file
	var err error
	switch mode {
	case Read:
		f, err = openFile(path, unix.O_RDONLY)
	case Append:
		f, err = openOrCreate(path, unix.O_RDWR|unix.O_APPEND)
	case Create:
		f, err = createFile(path, unix.O_RDWR|unix.O_APPEND)
	case Update:
		f, err = openOrCreate(path, unix.O_RDWR)
	case Extend:
		f, err = openFile(path, unix.O_RDWR|unix.O_APPEND)
	case Change:
		f, err = openFile(path, unix.O_RDWR)
	default:
		err = unix.EINVAL
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// openOrCreate opens a file or creates it. These are separate calls so that permissions are
// set only on files created here.
func openOrCreate(path string, flags int) (*file, error) {
	var err error
	for range openTries {
		var f *file
		f, err = openFile(path, flags)
		if err != unix.ENOENT {
			return f, err
		}
		f, err = createFile(path, flags)
		if err != unix.EEXIST {
			return f, err
		}
	}
	return nil, err
}

// createFile creates a file that must not exist, with owner-only permissions even if the
// umask removes the owner's bits.
func createFile(path string, flags int) (*file, error) {
	fd, err := openFD(path, flags|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && st.Mode&0o777 != filePerm {
		err = unix.Fchmod(fd, filePerm)
	}
	if err != nil {
		unix.Close(fd)
		unix.Unlink(path)
		return nil, err
	}
	return newFile(fd, path, flags), nil
}

// openFile opens an existing regular file. O_NONBLOCK keeps it from waiting for the other
// end of a pipe and has no effect on regular files.
func openFile(path string, flags int) (*file, error) {
	fd, err := openFD(path, flags|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil {
		err = regular(uint32(st.Mode))
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return newFile(fd, path, flags), nil
}

func regular(mode uint32) error {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		return unix.EISDIR
	}
	return unix.EINVAL
}

func openFD(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, filePerm)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// Stat implements [FS]. It runs on every append to check for a next part, so for a missing
// file it returns the bare error number, which does not allocate. Callers that pass the
// error on add the path.
func (OS) Stat(path string) (Info, error) {
	var st unix.Stat_t
	for {
		switch err := statPath(path, &st); err {
		case nil:
			return infoOf(&st), nil
		case unix.EINTR:
		case unix.ENOENT:
			return Info{}, unix.ENOENT
		default:
			return Info{}, &fs.PathError{Op: "stat", Path: path, Err: err}
		}
	}
}

// Rename implements [FS].
func (OS) Rename(from, to string) error {
	for {
		switch err := unix.Rename(from, to); err {
		case nil:
			return nil
		case unix.EINTR:
		default:
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
	}
}

// SyncDir implements [FS]. File systems that do not support syncing a directory are not
// treated as failing.
func (OS) SyncDir(path string) error {
	fd, err := openFD(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return &fs.PathError{Op: "sync", Path: path, Err: err}
	}
	defer unix.Close(fd)
	err = syncFull(fd)
	if err != nil && err != unix.EINVAL && err != unix.ENOTSUP {
		return &fs.PathError{Op: "sync", Path: path, Err: err}
	}
	return nil
}

// ownerOnly sets the permissions of a directory created here.
func ownerOnly(path string) error {
	info, err := OS{}.Stat(path)
	if err != nil || info.Mode.Perm() == dirPerm {
		return err
	}
	return os.Chmod(path, dirPerm)
}

func infoOf(st *unix.Stat_t) Info {
	return Info{
		Size:    st.Size,
		ModTime: time.Unix(st.Mtim.Unix()),
		Mode:    modeOf(uint32(st.Mode)),
		Device:  uint64(st.Dev),
		Inode:   uint64(st.Ino),
		Links:   uint64(st.Nlink),
	}
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	default:
		mode |= fs.ModeIrregular
	}
	return mode
}
