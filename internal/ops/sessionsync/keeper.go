package sessionsync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
)

// Keeper keeps the files of syncs of other machines in a folder of a gateway's home, which is
// created with the first file. Callers are not trusted: it keeps only files whose content matches
// their name. It is safe for concurrent use.
type Keeper struct{ folder Folder }

// NewKeeper returns the keeper of a home. The files are not encrypted again in an encrypted home.
func NewKeeper(home string) *Keeper {
	return &Keeper{Folder{FS: vfs.OS{}, Dir: filepath.Join(home, sealfs.SyncTargetDir)}}
}

// All returns the names of all files.
func (k *Keeper) All(ctx context.Context) ([]string, error) {
	names, err := allOf(ctx, k.folder)
	if err != nil {
		return nil, err
	}
	if _, err := k.folder.FS.Stat(k.folder.path(markFile)); err == nil {
		names = append(names, markFile)
	}
	return names, nil
}

// OpenFile opens a file, or returns ErrNotFound.
func (k *Keeper) OpenFile(_ context.Context, name string) (io.ReadCloser, int64, error) {
	if !isTargetName(name) {
		return nil, 0, failure.Of(firn.ErrInvalid, "%.100q is not the name of a file of a sync", name)
	}
	file, err := k.folder.FS.Open(k.folder.path(name), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, failure.Of(firn.ErrNotFound, "%s is not on the target", name)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", name, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", name, errors.Join(err, file.Close()))
	}
	return file, info.Size, nil
}

// PutFile creates a file that is complete and durable when PutFile returns, and returns its size. If the
// file exists, the body is only read and compared with the name.
func (k *Keeper) PutFile(_ context.Context, name string, body io.Reader) (int64, error) {
	want, err := hashIn(name)
	if err != nil {
		return 0, err
	}
	sum, dir := sha256.New(), k.folder.path(path.Dir(name))
	if _, err := k.folder.FS.Stat(k.folder.path(name)); err == nil {
		n, err := io.Copy(sum, body)
		if err == nil {
			err = checkSum(name, want, sum)
		}
		if err == nil { // its name may not be durable, if the first request was interrupted
			err = saved(k.folder.FS.SyncDir(dir))
		}
		return n, err
	}
	if err := k.folder.FS.MkdirAll(dir); err != nil {
		return 0, fmt.Errorf("write %s: %w: %w", name, firn.ErrNotSaved, err)
	}
	temporary := filepath.Join(dir, ".tmp-"+string(firn.NewID()))
	n, err := k.write(temporary, io.TeeReader(body, sum))
	if err == nil {
		err = checkSum(name, want, sum)
	}
	if err == nil {
		err = saved(k.folder.FS.Rename(temporary, k.folder.path(name)))
	}
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", name, errors.Join(err, k.folder.FS.Remove(temporary)))
	}
	return n, saved(k.folder.FS.SyncDir(dir))
}

// write copies a body to a new file, durably. Errors of the disk are ErrNotSaved.
func (k *Keeper) write(name string, body io.Reader) (int64, error) {
	file, err := k.folder.FS.Open(name, vfs.Create)
	if err != nil {
		return 0, saved(err)
	}
	n, err := io.Copy(diskWriter{file}, body)
	if err == nil {
		err = saved(file.Sync())
	}
	return n, errors.Join(err, saved(file.Close()))
}

// diskWriter marks errors of a file as ErrNotSaved, so that they differ from those of the reader.
type diskWriter struct{ vfs.File }

// Write implements io.Writer.
func (d diskWriter) Write(b []byte) (int, error) {
	n, err := d.File.Write(b)
	return n, saved(err)
}

// saved marks an error as ErrNotSaved.
func saved(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", firn.ErrNotSaved, err)
}

// hashIn returns the hash that the name of a file contains.
func hashIn(name string) (string, error) {
	if name == markFile {
		return nameOf([]byte(mark)), nil
	}
	base := path.Base(name)
	if strings.HasPrefix(name, manifestDir+"/") { // after its number
		_, base, _ = strings.Cut(base, "-")
	}
	if sum, err := hex.DecodeString(base); err != nil || len(sum) != sha256.Size || !isTargetName(name) || strings.ToLower(base) != base {
		return "", failure.Of(firn.ErrInvalid, "%.100q is not the name of a file of a sync", name)
	}
	return base, nil
}

// checkSum compares the hash of a body with that in its name.
func checkSum(name, want string, sum hash.Hash) error {
	if hex.EncodeToString(sum.Sum(nil)) != want {
		return failure.Of(firn.ErrInvalid, "the content of %.100q does not match its name", name)
	}
	return nil
}
