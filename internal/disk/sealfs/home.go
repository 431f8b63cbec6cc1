package sealfs

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"

	"firn.dev/internal/disk/vfs"
)

// MarkerName is the file that marks a home as encrypted.
const MarkerName = "sealed.json"

// DamagedDir is the directory of a home with files that could not be decrypted. They are encrypted
// with earlier keys and stay as they are.
const DamagedDir = "damaged"

// SyncTargetDir is the directory of a home with the files of syncs that its gateway keeps for other
// machines, which encrypted them.
const SyncTargetDir = "sync-target"

// Unlocker returns the key of an encrypted home and what to do with plain files. It is called
// once per home and process.
type Unlocker func(home string) (Key, Mode, error)

// homes has the encrypted homes that this process uses.
var homes struct {
	mu       sync.Mutex
	unlocker Unlocker
	known    map[string]*opened
}

// opened is the result of unlocking a home.
type opened struct {
	once sync.Once
	key  Key
	mode Mode
	err  error
}

// SetUnlocker sets the function that unlocks homes, and forgets all keys.
func SetUnlocker(u Unlocker) {
	homes.mu.Lock()
	defer homes.mu.Unlock()
	homes.unlocker, homes.known = u, nil
}

// Forget forgets the key of a home. It is read again when it is needed.
func Forget(home string) {
	homes.mu.Lock()
	defer homes.mu.Unlock()
	delete(homes.known, filepath.Clean(home))
}

// Home returns the file system for the files of a home: that of the operating system, unless
// the home is encrypted. If the home is locked, every call returns the reason.
func Home(home string) LinkFS {
	linked, ok := Over(vfs.OS{}, home).(LinkFS)
	if !ok { // every result of Over for such a file system has links
		return lockedFS{errors.ErrUnsupported}
	}
	return linked
}

// LinkFS is a file system with hard links.
type LinkFS interface {
	vfs.FS
	Link(from, to string) error
}

// Encrypted reports whether a home is marked as encrypted. If the disk cannot be read, it
// counts as encrypted, so that nothing plain is written.
func Encrypted(home string) bool {
	_, err := (vfs.OS{}).Stat(filepath.Join(home, MarkerName))
	return err == nil || errors.Is(err, syscall.EIO)
}

// Over is Home for another file system below the encryption.
func Over(inner vfs.FS, home string) vfs.FS {
	abs, err := filepath.Abs(home)
	if err != nil {
		return lockedFS{err}
	}
	if !Encrypted(abs) {
		return inner
	}
	key, mode, err := unlock(abs)
	if err != nil {
		return lockedFS{err}
	}
	return New(inner, abs, key, mode)
}

// unlock returns the key of a home.
func unlock(home string) (Key, Mode, error) {
	homes.mu.Lock()
	u := homes.unlocker
	if homes.known == nil {
		homes.known = make(map[string]*opened)
	}
	o := homes.known[home]
	if o == nil {
		o = new(opened)
		homes.known[home] = o
	}
	homes.mu.Unlock()
	o.once.Do(func() {
		if u == nil {
			o.err = errors.New("the home is encrypted")
			return
		}
		o.key, o.mode, o.err = u(home)
	})
	return o.key, o.mode, o.err
}

// lockedFS is the file system of a locked home: every call fails.
type lockedFS struct{ err error }

func (l lockedFS) Open(string, vfs.Mode) (vfs.File, error) { return nil, l.err }
func (l lockedFS) Stat(string) (vfs.Info, error)           { return vfs.Info{}, l.err }
func (l lockedFS) ReadDir(string) ([]fs.DirEntry, error)   { return nil, l.err }
func (l lockedFS) MkdirAll(string) error                   { return l.err }
func (l lockedFS) Rename(string, string) error             { return l.err }
func (l lockedFS) Remove(string) error                     { return l.err }
func (l lockedFS) Link(string, string) error               { return l.err }
func (l lockedFS) SyncDir(string) error                    { return l.err }

// IsSealed reports whether a file is encrypted. The file system is the one below the
// encryption.
func IsSealed(inner vfs.FS, path string) (bool, error) {
	f, err := inner.Open(path, vfs.Read)
	if err != nil {
		return false, err
	}
	defer f.Close() // read-only
	head := make([]byte, len(magic))
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	return n > 0 && string(head[:n]) == magic[:n], nil
}

// HasRecords reports whether a file contains parts that are encrypted with a key, even if it does
// not begin as an encrypted file does. The file system is the one below the encryption.
func HasRecords(inner vfs.FS, path string, key Key) (bool, error) {
	f, err := inner.Open(path, vfs.Read)
	if err != nil {
		return false, err
	}
	defer f.Close() // read-only
	head := make([]byte, headSize)
	for at := int64(0); ; at += slotSize {
		n, err := f.ReadAt(head, at)
		if err != nil && err != io.EOF {
			return false, err
		}
		if n < headSize {
			return false, nil
		}
		c, err := newCodec(key, fileID(head[len(magic):len(magic)+idSize]))
		if err != nil {
			return false, err
		}
		if c.hasCheck(head) {
			return true, nil
		}
	}
}

// RemoveRedo removes the redo files of a home that is decrypted.
func RemoveRedo(inner vfs.FS, home string) error {
	return vfs.RemoveAll(inner, filepath.Join(home, redoDir))
}
