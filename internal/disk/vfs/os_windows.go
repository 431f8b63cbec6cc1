package vfs

import (
	"io/fs"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

const errNotDir = syscall.ENOTDIR

const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

// Open implements [FS]. Unlike package os, it allows renaming and removing the file while
// it is open, as on other systems.
func (OS) Open(path string, mode Mode) (File, error) {
	access := uint32(windows.GENERIC_READ | windows.GENERIC_WRITE)
	var disposition uint32
	switch mode {
	case Read:
		access, disposition = windows.GENERIC_READ, windows.OPEN_EXISTING
	case Append, Update:
		disposition = windows.OPEN_ALWAYS
	case Create:
		disposition = windows.CREATE_NEW
	case Extend, Change:
		disposition = windows.OPEN_EXISTING
	default:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	h, err := createFile(path, access, disposition, windows.FILE_ATTRIBUTE_NORMAL)
	if err == windows.ERROR_ACCESS_DENIED && isDir(path) {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if kind, err := windows.GetFileType(h); err != nil || kind != windows.FILE_TYPE_DISK {
		windows.CloseHandle(h)
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	return newFile(h, path, mode == Append || mode == Create || mode == Extend)
}

func createFile(path string, access, disposition, flags uint32) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return windows.InvalidHandle, err
	}
	return windows.CreateFile(name, access, shareAll, nil, disposition, flags, 0)
}

func isDir(path string) bool {
	info, err := OS{}.Stat(path)
	return err == nil && info.Mode.IsDir()
}

// Stat implements [FS].
func (OS) Stat(path string) (Info, error) {
	h, err := createFile(path, 0, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS)
	if err != nil {
		return Info{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	defer windows.CloseHandle(h)
	info, err := infoOf(h)
	if err != nil {
		return Info{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return info, nil
}

// Rename implements [FS].
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// SyncDir implements [FS]. Windows has no such call: it journals names, and syncing a file
// also syncs its name.
func (o OS) SyncDir(path string) error {
	if err := o.existingDir(path); err != nil {
		return &fs.PathError{Op: "sync", Path: path, Err: err}
	}
	return nil
}

// ownerOnly does nothing: permissions are inherited from the parent directory, and a user's
// own folders are private.
func ownerOnly(string) error { return nil }

func infoOf(h windows.Handle) (Info, error) {
	var d windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &d); err != nil {
		return Info{}, err
	}
	info := Info{
		Size:    int64(d.FileSizeHigh)<<32 | int64(d.FileSizeLow),
		ModTime: time.Unix(0, d.LastWriteTime.Nanoseconds()),
		Mode:    filePerm,
		Device:  uint64(d.VolumeSerialNumber),
		Inode:   uint64(d.FileIndexHigh)<<32 | uint64(d.FileIndexLow),
		Links:   uint64(d.NumberOfLinks),
	}
	if d.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0 {
		info.Mode = dirPerm | fs.ModeDir
	}
	if deletePending(h) {
		info.Links = 0
	}
	return info, nil
}

// deletePending reports whether the file was removed and exists only until it is closed.
func deletePending(h windows.Handle) bool {
	var standard struct {
		allocation, size int64
		links            uint32
		pending, dir     bool
	}
	err := windows.GetFileInformationByHandleEx(h, windows.FileStandardInfo,
		(*byte)(unsafe.Pointer(&standard)), uint32(unsafe.Sizeof(standard)))
	return err == nil && standard.pending
}
