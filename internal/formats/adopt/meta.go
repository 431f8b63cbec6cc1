package adopt

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
)

// maxFirst limits how many bytes are read for the first line of a file.
const maxFirst = 64 << 10

// onlyMetaChanged reports whether the tool changed only the metadata in the first line and
// appended to the file. If a tool does that on every turn, putting each old version aside
// would fill the disk.
func (m *Mirror) onlyMetaChanged(in *original, to string, ours int64) (bool, error) {
	meta, ok := m.Tool.Layout().(dialect.Meta)
	if !ok {
		return false, nil
	}
	f, err := m.FS.Open(to, vfs.Read)
	if err != nil {
		return false, err
	}
	defer f.Close() // read only
	a, err := metaEnd(meta, in, in.Size)
	if err != nil {
		return false, skipped{err}
	}
	b, err := metaEnd(meta, f, ours)
	if err != nil || a == 0 || b == 0 || in.Size-a < ours-b {
		return false, err
	}
	mine, theirs := make([]byte, chunk), make([]byte, chunk)
	for n := int64(0); b < ours; a, b = a+n, b+n {
		n = min(chunk, ours-b)
		if err := readAt(in, theirs[:n], a); err != nil {
			return false, skipped{err}
		}
		if err := readAt(f, mine[:n], b); err != nil {
			return false, err
		}
		if !bytes.Equal(mine[:n], theirs[:n]) {
			return false, nil
		}
	}
	return true, nil
}

// metaEnd returns the end of the first line if it is a metadata line, otherwise 0.
func metaEnd(meta dialect.Meta, f io.ReaderAt, size int64) (int64, error) {
	start := make([]byte, min(size, maxFirst))
	if err := readAt(f, start, 0); err != nil {
		return 0, err
	}
	line, _, ended := bytes.Cut(start, []byte{'\n'})
	if !ended && size > maxFirst {
		return 0, nil
	}
	if _, ok := meta.Meta(line, dialect.Target{Uptime: time.Second}); !ok {
		return 0, nil
	}
	if ended {
		return int64(len(line)) + 1, nil
	}
	return size, nil
}

// replace atomically replaces the copy by a new one.
func (m *Mirror) replace(in *original, to string, done *Result) (FileState, error) {
	next := to + ".next"
	if err := m.FS.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a killed run
		return FileState{}, err
	}
	state, err := m.copy(in, next, vfs.Create, newProgress(), done)
	if err != nil {
		return state, err
	}
	if err := m.FS.Rename(next, to); err != nil {
		return state, err
	}
	done.Grown++
	return state, m.FS.SyncDir(filepath.Dir(to))
}
