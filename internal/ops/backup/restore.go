package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Verify reads an archive to its end and compares every file with its checksum.
func Verify(ctx context.Context, from io.Reader) (Summary, error) {
	s, err := unpack(ctx, from, func(*tar.Header) (io.WriteCloser, error) { return nil, nil })
	if err != nil {
		return s, fmt.Errorf("read backup: %w", err)
	}
	return s, nil
}

// Restore creates a home from an archive. The directory must be empty or not exist. It is
// created only after all files were verified.
func Restore(ctx context.Context, from io.Reader, fsys vfs.FS, dir string) (Summary, error) {
	names, err := fsys.ReadDir(dir)
	there := err == nil
	switch {
	case len(names) > 0:
		err = fmt.Errorf("%w: directory not empty", firn.ErrConflict)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	var s Summary
	if err == nil {
		s, err = restore(ctx, from, fsys, filepath.Clean(dir), there)
	}
	if err != nil {
		return s, fmt.Errorf("restore to %s: %w", dir, err)
	}
	return s, nil
}

// restore unpacks to a temporary directory next to dir, and renames it when it is complete.
func restore(ctx context.Context, from io.Reader, fsys vfs.FS, dir string, there bool) (Summary, error) {
	aside := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".tmp-"+string(firn.NewID()))
	if err := fsys.MkdirAll(aside); err != nil {
		return Summary{}, err
	}
	s, err := unpack(ctx, from, func(h *tar.Header) (io.WriteCloser, error) {
		return createFile(fsys, filepath.Join(aside, filepath.FromSlash(h.Name)))
	})
	if err == nil && there {
		err = fsys.Remove(dir)
	}
	if err == nil {
		err = fsys.Rename(aside, dir)
	}
	if err != nil {
		return s, errors.Join(err, vfs.RemoveAll(fsys, aside))
	}
	return s, fsys.SyncDir(filepath.Dir(dir))
}

// createFile creates a file and its parent directories.
func createFile(fsys vfs.FS, path string) (io.WriteCloser, error) {
	if err := fsys.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	file, err := fsys.Open(path, vfs.Create)
	return &synced{file, fsys, filepath.Dir(path)}, err
}

// synced is a file that is synced to disk on Close.
type synced struct {
	vfs.File
	fs  vfs.FS
	dir string
}

func (s *synced) Close() error {
	return errors.Join(s.Sync(), s.File.Close(), s.fs.SyncDir(s.dir))
}

// unpack reads an archive, writes each file to the writer that place returns, and verifies
// the checksums.
func unpack(ctx context.Context, from io.Reader, place func(*tar.Header) (io.WriteCloser, error)) (Summary, error) {
	plain, err := zstd.NewReader(&contextReader{ctx, from}, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return Summary{}, err
	}
	defer plain.Close()
	u := &unpacker{tar: tar.NewReader(plain), place: place}
	if err := u.readNote(); err != nil {
		return Summary{}, broken(ctx, err)
	}
	for !u.whole {
		if err := u.next(); err != nil {
			return u.Summary, broken(ctx, err)
		}
	}
	// An encrypted archive is authentic only if its end is.
	if _, err := io.Copy(io.Discard, &contextReader{ctx, from}); err != nil {
		return u.Summary, broken(ctx, err)
	}
	return u.seal(), nil
}

// broken returns an error that distinguishes a damaged archive from a read error.
func broken(ctx context.Context, err error) error {
	var system *fs.PathError
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.As(err, &system) || errors.Is(err, firn.ErrUnsupported) || errors.Is(err, firn.ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: %w", firn.ErrCorrupt, err)
}

type unpacker struct {
	tar   *tar.Reader
	place func(*tar.Header) (io.WriteCloser, error)
	// whole is set once the checksums were found and matched.
	whole bool
	sums
}

// readNote reads the description of the archive.
func (u *unpacker) readNote() error {
	h, err := u.tar.Next()
	if err != nil {
		return fmt.Errorf("damaged, or not a firn backup: %w", err)
	}
	var n note
	data, err := io.ReadAll(io.LimitReader(u.tar, 1<<16))
	if err != nil || h.Name != noteName || json.Unmarshal(data, &n) != nil {
		return errors.New("not a firn backup")
	}
	if n.Format != format {
		return fmt.Errorf("format %d, but only %d is supported: %w", n.Format, format, firn.ErrUnsupported)
	}
	u.Made = n.Made
	return nil
}

// next reads one file.
func (u *unpacker) next() error {
	h, err := u.tar.Next()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("truncated: the end is missing")
	case err != nil:
		return err
	case h.Name == sumsName:
		return u.compare()
	case h.Typeflag != tar.TypeReg || !fs.ValidPath(h.Name) || strings.ContainsAny(h.Name, "\\\x00\n"):
		return fmt.Errorf("unexpected file %q", h.Name)
	}
	sum := sha256.New()
	to, err := u.place(h)
	if err != nil {
		return err
	}
	var out io.Writer = sum
	if to != nil {
		out = io.MultiWriter(sum, to)
	}
	n, err := io.Copy(out, u.tar)
	if to != nil {
		err = errors.Join(err, to.Close())
	}
	u.sums.add(h.Name, n, sum)
	return err
}

// compare compares the files with the list at the end.
func (u *unpacker) compare() error {
	want, err := io.ReadAll(u.tar)
	if err != nil {
		return err
	}
	if got := u.text(); !bytes.Equal(want, []byte(got)) {
		return fmt.Errorf("%s does not match its checksum", differs(string(want), got))
	}
	u.whole = true
	return nil
}

// differs returns the name of a file that differs between two lists.
func differs(want, got string) string {
	has := make(map[string]bool)
	for line := range strings.Lines(want) {
		has[line] = true
	}
	for line := range strings.Lines(got) {
		if !has[line] {
			_, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
			return name
		}
	}
	return "missing file"
}

// contextReader is a reader that fails when its context ends.
type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (c *contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.from.Read(b)
}
