package vfs

import (
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/windows"
)

// file is an open file. Reads use package os; operations that package os implements
// differently are done here.
type file struct {
	*os.File
	conn   syscall.RawConn
	append bool

	mu     sync.Mutex
	locked bool
}

func newFile(h windows.Handle, path string, add bool) (File, error) {
	f := os.NewFile(uintptr(h), path)
	conn, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &file{File: f, conn: conn, append: add}, nil
}

// call runs one system call on the open file.
func (f *file) call(op string, do func(h windows.Handle) error) error {
	var err error
	if cerr := f.conn.Control(func(fd uintptr) { err = do(windows.Handle(fd)) }); cerr != nil {
		err = os.ErrClosed
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: f.Name(), Err: err}
	}
	return nil
}

// Write makes one system call. An offset of all ones means the current end of the file.
// (FILE_APPEND_DATA would do the same but forbids Truncate.)
func (f *file) Write(p []byte) (int, error) {
	var n uint32
	err := f.call("write", func(h windows.Handle) error {
		var at *windows.Overlapped
		if f.append {
			at = &windows.Overlapped{Offset: ^uint32(0), OffsetHigh: ^uint32(0)}
		}
		if err := windows.WriteFile(h, p, &n, at); err != nil {
			return err
		}
		if int(n) < len(p) {
			return io.ErrShortWrite
		}
		return nil
	})
	return int(n), err
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	if f.append {
		return 0, &fs.PathError{Op: "write", Path: f.Name(), Err: fs.ErrInvalid}
	}
	return f.File.WriteAt(p, off)
}

func (f *file) Stat() (Info, error) {
	var info Info
	err := f.call("stat", func(h windows.Handle) (err error) {
		info, err = infoOf(h)
		return err
	})
	return info, err
}
