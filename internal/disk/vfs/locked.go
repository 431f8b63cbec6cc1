package vfs

import (
	"crypto/rand"
	"errors"
	"path/filepath"
)

// CreateLocked creates an empty file with a random name that begins with prefix, and locks
// it. The file gets this name after it was locked, so that no process finds it unlocked;
// until then its name begins with a dot. The name is durable when CreateLocked returns.
func CreateLocked(fsys FS, dir, prefix string) (file File, path string, err error) {
	name := prefix + rand.Text()[:10]
	unnamed, path := filepath.Join(dir, "."+name), filepath.Join(dir, name)
	if file, err = fsys.Open(unnamed, Create); err != nil {
		return nil, "", err
	}
	if err = file.Lock(); err == nil {
		err = fsys.Rename(unnamed, path)
	}
	if err != nil {
		return nil, "", errors.Join(err, file.Close(), fsys.Remove(unnamed))
	}
	return file, path, fsys.SyncDir(dir)
}
