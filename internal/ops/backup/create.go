package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Home is the source of an archive.
type Home struct {
	// Dir is the home directory.
	Dir string
	// Sessions is a directory that contains the sessions as files, if they are in another
	// store than the home's own files. The session files of the home are then an old copy
	// and are left out, as is Without, the directory of that store.
	Sessions, Exclude string
}

// Create writes an archive of a home whose sessions are in its own files. It changes
// nothing, and the home may be in use.
func Create(ctx context.Context, fsys vfs.FS, home string, to io.Writer, now time.Time, progress Progress) (Summary, error) {
	return CreateFrom(ctx, fsys, Home{Dir: home}, to, now, progress)
}

// CreateFrom is Create for a home whose sessions may be stored elsewhere. The archive
// contains them as files, so that a restored home stores its sessions in its own files.
func CreateFrom(ctx context.Context, fsys vfs.FS, home Home, to io.Writer, now time.Time, progress Progress) (Summary, error) {
	packed, err := zstd.NewWriter(to)
	if err != nil {
		return Summary{}, fmt.Errorf("back up %s: %w", home.Dir, err)
	}
	p := &packer{ctx: ctx, fs: fsys, roots: home.roots(fsys), tar: tar.NewWriter(packed), now: now.UTC().Truncate(time.Second), progress: progress}
	err = p.pack()
	if errors.Is(err, fs.ErrNotExist) {
		err = firn.ErrNotFound
	}
	if err == nil {
		err = errors.Join(p.tar.Close(), packed.Close())
	}
	if err != nil {
		return Summary{}, fmt.Errorf("back up %s: %w", home.Dir, err)
	}
	return p.seal(), nil
}

// root is a source directory and a filter for its files.
type root struct {
	dir string
	has func(name string) bool
}

// roots returns the source directories. Receipts are taken from both: those of single
// entries are only in the home.
func (h Home) roots(fsys vfs.FS) []root {
	if h.Sessions == "" {
		return []root{{h.Dir, func(string) bool { return true }}}
	}
	without, err := filepath.Rel(h.Dir, h.Exclude)
	if h.Exclude == "" || err != nil {
		without = ".."
	}
	without = filepath.ToSlash(without)
	return []root{
		{h.Dir, func(name string) bool {
			if name == "receipts" || strings.HasPrefix(name, "receipts/") {
				info, err := fsys.Stat(filepath.Join(h.Sessions, filepath.FromSlash(name)))
				return err != nil || info.Mode.IsDir()
			}
			return !ofSessions(name) && name != without
		}},
		{h.Sessions, ofSessions},
	}
}

// ofSessions reports whether a file of a home belongs to its sessions or records where they
// are stored.
func ofSessions(name string) bool {
	first, rest, _ := strings.Cut(name, "/")
	switch first {
	case "archive", "bin", "receipts", "commit", "store.json", "verify-accepted.jsonl":
		return true
	case "agents":
		_, rest, _ = strings.Cut(rest, "/")
		return rest == "sessions" || strings.HasPrefix(rest, "sessions/")
	}
	return false
}

// packer writes an archive.
type packer struct {
	ctx   context.Context
	fs    vfs.FS
	roots []root
	// root is the current source directory.
	root        root
	tar         *tar.Writer
	now         time.Time
	progress    Progress
	done, total int64
	sums
}

func (p *packer) pack() error {
	p.Made = p.now
	line, err := json.Marshal(note{format, p.now})
	if err != nil {
		return err
	}
	if err := p.put(noteName, append(line, '\n')); err != nil {
		return err
	}
	// Logs first: the contents of an older log are also in a newer transcript. Then all
	// files that refer to sessions, then the sessions, listed again.
	for _, pass := range []func(name string) bool{
		p.addSize,
		inCommitLog,
		func(name string) bool { return !inCommitLog(name) && !isTranscript(name) },
		isTranscript,
	} {
		for _, p.root = range p.roots {
			if err := p.walk("", pass); err != nil {
				return err
			}
		}
	}
	return p.put(sumsName, []byte(p.text()))
}

func inCommitLog(name string) bool { return len(name) > 7 && name[:7] == "commit/" }

func (p *packer) path(name string) string { return filepath.Join(p.root.dir, filepath.FromSlash(name)) }

// addSize adds the size of a file to the total. It always returns false.
func (p *packer) addSize(name string) bool {
	if info, err := p.fs.Stat(p.path(name)); err == nil {
		p.total += info.Size
	}
	return false
}

// walk packs the wanted files below a directory of the home.
func (p *packer) walk(dir string, wanted func(name string) bool) error {
	entries, err := p.fs.ReadDir(p.path(dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case p.ctx.Err() != nil:
			return p.ctx.Err()
		case leftOut(name):
			continue
		case e.IsDir() && (p.root.has(name) || name == "agents" || path.Dir(name) == "agents"):
			err = p.walk(name, wanted)
		case e.IsDir() || !p.root.has(name) || !wanted(name):
			continue
		case !e.Type().IsRegular():
			p.Skipped = append(p.Skipped, name)
		default:
			err = p.add(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // or it was removed in the meantime
			return err
		}
	}
	return nil
}

// add packs a file up to its current length.
func (p *packer) add(name string) error {
	file, err := p.fs.Open(p.path(name), vfs.Read)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // one unreadable file does not stop the others
		p.Unread = append(p.Unread, name+": "+err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		p.Unread = append(p.Unread, name+": "+err.Error())
		return nil
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size, Mode: int64(info.Mode.Perm()), ModTime: info.ModTime.Truncate(time.Second), Format: tar.FormatPAX}
	if err := p.tar.WriteHeader(header); err != nil {
		return err
	}
	sum := sha256.New()
	both := io.MultiWriter(p.tar, sum)
	n, err := io.CopyN(both, &progressReader{p, file}, info.Size)
	switch {
	case errors.Is(err, firn.ErrCorrupt): // the archive already has its size: zero bytes follow
		p.Unread = append(p.Unread, name+": "+err.Error())
		_, err = io.CopyN(both, zeros{}, info.Size-n)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s shrank while it was read: %w", name, firn.ErrConflict)
	}
	p.sums.add(name, info.Size, sum)
	return err
}

// zeros is an endless sequence of zero bytes.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// put packs data as a file.
func (p *packer) put(name string, data []byte) error {
	err := p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o600, ModTime: p.now, Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	_, err = p.tar.Write(data)
	return err
}

// progressReader reads a file, reports the progress, and fails when its context ends.
type progressReader struct {
	p    *packer
	from io.Reader
}

func (w *progressReader) Read(b []byte) (int, error) {
	if err := w.p.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.from.Read(b)
	w.p.done += int64(n)
	w.p.progress(min(w.p.done, w.p.total), w.p.total)
	return n, err
}
