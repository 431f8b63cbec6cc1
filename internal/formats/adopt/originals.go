package adopt

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
)

// originals gives access to the tool's files: on disk, or in a view of its home.
type originals interface {
	stat(name string) (vfs.Info, error)
	// open opens a file and determines its size.
	open(name string) (*original, error)
}

// openOriginals prepares access to the tool's files.
func (m *Mirror) openOriginals() {
	m.view = nil
	home := os.DirFS(m.Home)
	if _, ok := m.Tool.(dialect.Viewer); ok {
		m.view = dialect.Tree(m.Tool, home)
		m.tree, m.originals = m.view, viewed{m.view}
		return
	}
	m.tree, m.originals = home, onDisk{m.FS, m.Home}
}

// onDisk are files below a folder.
type onDisk struct {
	fs   vfs.FS
	home string
}

func (d onDisk) path(name string) string { return filepath.Join(d.home, filepath.FromSlash(name)) }

func (d onDisk) stat(name string) (vfs.Info, error) { return d.fs.Stat(d.path(name)) }

func (d onDisk) open(name string) (*original, error) {
	f, err := d.fs.Open(d.path(name), vfs.Read)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, closed(f, err)
	}
	return &original{f, f, info, d.path(name)}, nil
}

// viewed are files of a view.
type viewed struct{ tree fs.FS }

func (v viewed) stat(name string) (vfs.Info, error) {
	info, err := fs.Stat(v.tree, name)
	if err != nil {
		return vfs.Info{}, err
	}
	return vfs.Info{Size: info.Size(), ModTime: info.ModTime(), Mode: info.Mode()}, nil
}

func (v viewed) open(name string) (*original, error) {
	f, err := v.tree.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, closed(f, err)
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return nil, closed(f, fmt.Errorf("read %s: %w", name, firn.ErrUnsupported))
	}
	return &original{at, f, vfs.Info{Size: info.Size(), ModTime: info.ModTime(), Mode: info.Mode()}, ""}, nil
}

// closed closes a file that was only read and returns err.
func closed(f io.Closer, err error) error {
	_ = f.Close()
	return err
}

// stamp returns the state of the tool's home as far as it is known without reading
// sessions; empty if it is not.
func (m *Mirror) stamp() string {
	s, ok := m.view.(dialect.Stamper)
	if !ok {
		return ""
	}
	now := m.Now()
	return s.Stamp(func(at time.Time) bool { return !trustedTime(at, now).IsZero() })
}

// upToDate reports whether the mirror has the state of this stamp and its copies are
// intact, so that nothing needs to be read.
func (m *Mirror) upToDate(manifest Manifest, stamp string) bool {
	if stamp == "" || manifest.Stamp != stamp {
		return false
	}
	for name, state := range manifest.Files {
		ours, err := m.FS.Stat(filepath.Join(m.Dir, filepath.FromSlash(name)))
		if err != nil || !state.holds(ours) {
			return false
		}
	}
	return true
}

// onlyUpdated reports whether the tool only updated records of a file or added some. The
// old version of a record, such as a message that was still being written, is not worth
// keeping. If a record was deleted, the old version of the file is.
func (m *Mirror) onlyUpdated(in *original, to string, _ int64) (bool, error) {
	keyed, ok := m.Tool.Layout().(dialect.Keyed)
	if !ok {
		return false, nil
	}
	f, err := m.FS.Open(to, vfs.Read)
	if err != nil {
		return false, err
	}
	defer f.Close() // read only
	now := make(map[string]bool)
	err = eachRecord(io.NewSectionReader(in.ReaderAt, 0, in.Size), keyed, func(key string) bool { now[key] = true; return true })
	if err != nil {
		return false, skipped{err}
	}
	same := true
	err = eachRecord(f, keyed, func(key string) bool { same = now[key]; return same })
	return same, err
}

// eachRecord calls do with the key of each line until it returns false. A line without a
// key is identified by its contents.
func eachRecord(r io.Reader, keyed dialect.Keyed, do func(key string) bool) error {
	in := bufio.NewReaderSize(r, chunk)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSuffix(line, []byte{'\n'}); len(line) > 0 {
			key := keyed.RecordKey(line)
			if key == "" {
				sum := sha256.Sum256(line)
				key = "sum " + hex.EncodeToString(sum[:])
			}
			if !do(key) {
				return nil
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
