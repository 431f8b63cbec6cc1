package sealfs

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"firn.dev/internal/disk/vfs"
)

// redoDir is the directory of redo files in a home.
const redoDir = ".redo"

// redoInfo distinguishes redo files from records.
const redoInfo = "firn redo"

// redo is the replacement of a slot.
type redo struct {
	at   int64 // of the slot in the file
	size int64 // of the file afterwards; -1 if it does not change
	slot []byte
}

func (s *FS) redoPath(id fileID) string {
	return filepath.Join(s.root, redoDir, hex.EncodeToString(id[:]))
}

// writeRedo saves a replacement durably, before it is applied.
func (s *FS) writeRedo(c *codec, r *redo) error {
	plain := binary.BigEndian.AppendUint64(nil, uint64(r.at))
	plain = binary.BigEndian.AppendUint64(plain, uint64(r.size))
	plain = append(plain, r.slot...)
	nonce := make([]byte, nonceSize, nonceSize+len(plain)+tagSize)
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	if err := s.inner.MkdirAll(filepath.Join(s.root, redoDir)); err != nil {
		return err
	}
	return vfs.WriteFile(s.inner, s.redoPath(c.id), c.aead.Seal(nonce, nonce, plain, []byte(redoInfo)))
}

// readRedo returns the replacement that was not completed; nil if there is none. A damaged
// one counts as none: it was not durable, so the slot was not changed.
func (s *FS) readRedo(c *codec) (*redo, error) {
	path := s.redoPath(c.id)
	if _, err := s.inner.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	f, err := s.inner.Open(path, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // read-only
	data, err := io.ReadAll(io.LimitReader(f, 2*slotSize))
	if err != nil {
		return nil, err
	}
	return decodeRedo(c, data), nil
}

// decodeRedo decodes the content of a redo file; nil if it is not valid.
func decodeRedo(c *codec, data []byte) *redo {
	if len(data) < nonceSize {
		return nil
	}
	plain, err := c.aead.Open(nil, data[:nonceSize], data[nonceSize:], []byte(redoInfo))
	if err != nil || len(plain) < 16 {
		return nil
	}
	r := &redo{at: int64(binary.BigEndian.Uint64(plain)), size: int64(binary.BigEndian.Uint64(plain[8:])), slot: plain[16:]}
	if r.at < 0 || r.at%slotSize != 0 || len(r.slot) > slotSize {
		return nil
	}
	return r
}

// apply replaces a slot durably and removes the redo file. It can be repeated.
func (f *file) apply(r *redo) (err error) {
	to, release, err := f.changer()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err := to.WriteAt(r.slot, r.at); err != nil {
		return err
	}
	if r.size >= 0 {
		if err := to.Truncate(r.size); err != nil {
			return err
		}
	}
	if f.fs.derived(f.path) {
		return nil
	}
	if err := to.Sync(); err != nil {
		return err
	}
	if err := f.fs.inner.Remove(f.fs.redoPath(f.codec.id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A redo file that came back after a power failure would undo later changes.
	return f.fs.inner.SyncDir(filepath.Join(f.fs.root, redoDir))
}
