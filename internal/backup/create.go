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

	"firn"
	"firn/internal/vfs"
)

// Home is what an archive is made of.
type Home struct {
	// Dir is the home.
	Dir string
	// Sessions is a directory that has the sessions as files, if another store than
	// the home's own files holds them. Those files of the home are then an old copy
	// and are left out, and so is Without, the directory of that store.
	Sessions, Without string
}

// Create writes an archive of a home whose sessions are in its own files. It may be
// used while others write there, and changes nothing.
func Create(ctx context.Context, fsys vfs.FS, home string, to io.Writer, now time.Time, progress Progress) (Summary, error) {
	return CreateFrom(ctx, fsys, Home{Dir: home}, to, now, progress)
}

// CreateFrom is Create of a home whose sessions may be elsewhere. The archive has them
// as files: what is made of it is a home that keeps its sessions in its own files.
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

// root is a directory that files come from, and which of them.
type root struct {
	dir string
	has func(name string) bool
}

// roots are the directories that the files come from. Receipts of both are kept: those of
// single entries are in the home only.
func (h Home) roots(fsys vfs.FS) []root {
	if h.Sessions == "" {
		return []root{{h.Dir, func(string) bool { return true }}}
	}
	without, err := filepath.Rel(h.Dir, h.Without)
	if h.Without == "" || err != nil {
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

// ofSessions reports whether a file of a home is one of its sessions, or says where they
// are.
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

// packer makes an archive.
type packer struct {
	ctx   context.Context
	fs    vfs.FS
	roots []root
	// root is the one that is walked.
	root        root
	tar         *tar.Writer
	now         time.Time
	progress    Progress
	done, total int64
	sums
}

func (p *packer) pack() error {
	p.Made = p.now
	said, err := json.Marshal(note{format, p.now})
	if err != nil {
		return err
	}
	if err := p.put(noteName, append(said, '\n')); err != nil {
		return err
	}
	// Logs first: what an older log has, a newer transcript has too. Then all that
	// points at sessions, then the sessions, listed anew.
	for _, pass := range []func(name string) bool{
		p.weigh,
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

// weigh counts the bytes of a file, and wants none.
func (p *packer) weigh(name string) bool {
	if info, err := p.fs.Stat(p.path(name)); err == nil {
		p.total += info.Size
	}
	return false
}

// walk packs the files that are wanted, below a directory of the home.
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
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // or it is gone meanwhile
			return err
		}
	}
	return nil
}

// add packs a file as long as it is now.
func (p *packer) add(name string) error {
	file, err := p.fs.Open(p.path(name), vfs.Read)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it keeps no other from being packed
		p.Unread = append(p.Unread, name+": "+err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size, Mode: int64(info.Mode.Perm()), ModTime: info.ModTime.Truncate(time.Second), Format: tar.FormatPAX}
	if err := p.tar.WriteHeader(header); err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.CopyN(io.MultiWriter(p.tar, sum), &watched{p, file}, info.Size)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s became shorter while it was read: %w", name, firn.ErrConflict)
	}
	p.sums.add(name, info.Size, sum)
	return err
}

// put packs bytes as a file.
func (p *packer) put(name string, data []byte) error {
	err := p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o600, ModTime: p.now, Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	_, err = p.tar.Write(data)
	return err
}

// watched reads a file, tells how far it is, and stops when it is told to.
type watched struct {
	p    *packer
	from io.Reader
}

func (w *watched) Read(b []byte) (int, error) {
	if err := w.p.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.from.Read(b)
	w.p.done += int64(n)
	w.p.progress(min(w.p.done, w.p.total), w.p.total)
	return n, err
}
