package encryption

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
)

// SessionDir returns the directory of a home in the runtime directory of the login session,
// XDG_RUNTIME_DIR. That directory is in memory and is removed when the session ends. The
// result is empty if there is none, or if other users may read it.
func SessionDir(env func(string) string, home string) string {
	runtime := env("XDG_RUNTIME_DIR")
	if runtime == "" || !filepath.IsAbs(runtime) {
		return ""
	}
	info, err := vfs.OS{}.Stat(runtime)
	if err != nil || !info.Mode.IsDir() || info.Mode.Perm()&0o077 != 0 {
		return ""
	}
	if abs, err := filepath.Abs(home); err == nil {
		home = abs
	}
	sum := sha256.Sum256([]byte(home))
	return filepath.Join(runtime, "firn", hex.EncodeToString(sum[:8]))
}

// errNoSession means that the key cannot be kept in memory.
var errNoSession = failure.WithHint(failure.Of(firn.ErrUnsupported, "there is no runtime directory to keep the key in memory (XDG_RUNTIME_DIR)"),
	"use an identity file, or enter the passphrase for each command")

func keyPath(dir string) string { return filepath.Join(dir, "key") }

// Keep saves the key of a home for the login session.
func Keep(env func(string) string, home string, key sealfs.Key) error {
	dir := SessionDir(env, home)
	if dir == "" {
		return errNoSession
	}
	if err := (vfs.OS{}).MkdirAll(dir); err != nil {
		return err
	}
	return vfs.WriteFile(vfs.OS{}, keyPath(dir), []byte(hex.EncodeToString(key[:])+"\n"))
}

// Kept returns the key that Keep saved; false if there is none for this home.
func (m *Marker) Kept(env func(string) string, home string) (key sealfs.Key, ok bool) {
	dir := SessionDir(env, home)
	if dir == "" {
		return key, false
	}
	f, err := vfs.OS{}.Open(keyPath(dir), vfs.Read)
	if err != nil {
		return key, false
	}
	defer f.Close() // read-only
	text, err := io.ReadAll(io.LimitReader(f, 2*sealfs.KeySize))
	if err != nil {
		return key, false
	}
	n, err := hex.Decode(key[:], text)
	return key, err == nil && n == len(key) && m.fits(key)
}

// Drop removes everything about a home from the runtime directory: the key and the search
// index. It reports whether there was a key.
func Drop(env func(string) string, home string) (bool, error) {
	dir := SessionDir(env, home)
	if dir == "" {
		return false, nil
	}
	_, err := vfs.OS{}.Stat(keyPath(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return err == nil, vfs.RemoveAll(vfs.OS{}, dir)
}
