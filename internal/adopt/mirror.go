package adopt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"firn"
	"firn/dialect"
	"firn/internal/vfs"
)

// manifestName is the file of a mirror that says what it mirrors.
const manifestName = "source.json"

// Manifest says what a mirror mirrors.
type Manifest struct {
	Tool dialect.Name `json:"tool"`
	Home string       `json:"home"`
	// At is when it was last brought up to date.
	At time.Time `json:"at"`
	// Files are those that were mirrored, as they stood.
	Files map[string]Stand `json:"files"`
}

// Stand is how a file stood: if it still stands so, it need not be read again.
type Stand struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

// ReadManifest reads what a mirror mirrors.
func ReadManifest(dir string) (Manifest, error) {
	var m Manifest
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("read %s of %s: %w: %w", manifestName, dir, firn.ErrCorrupt, err)
	}
	return m, nil
}

// Mirror is a copy of a tool's transcripts that is kept up to date.
type Mirror struct {
	Tool dialect.Tool
	// Home is the tool's folder, Dir where the copy is.
	Home, Dir string
	FS        vfs.FS
	// Link makes hard links where it can: they take no room, but a tool that
	// changes its files in place changes the mirror too.
	Link bool
	Now  func() time.Time
	// Progress is told how far it is; nil: nobody.
	Progress func(files, of int, bytes int64)
}

// Done is what a run did.
type Done struct {
	// Files were looked at; Copied are new, Grown were added to, Linked are
	// links, and Kept were changed by the tool, so that what we had was put aside.
	Files, Copied, Grown, Linked, Kept int
	// Bytes were read and written.
	Bytes int64
}

// Run brings the mirror up to date. What was mirrored once stays, also if the
// tool has deleted it. It can be stopped at any time and goes on where it was.
func (m *Mirror) Run(ctx context.Context) (Done, error) {
	var done Done
	names, err := m.names(ctx)
	if err != nil {
		return done, err
	}
	manifest, err := ReadManifest(m.Dir)
	if err != nil || manifest.Files == nil {
		manifest = Manifest{Files: make(map[string]Stand)} // it is only there to save time
	}
	manifest.Tool, manifest.Home = m.Tool.Name(), m.Home
	for i, name := range names {
		if err = ctx.Err(); err != nil {
			break
		}
		if err = m.file(name, manifest.Files, &done); err != nil {
			err = fmt.Errorf("mirror %s: %w", filepath.Join(m.Home, name), err)
			break
		}
		done.Files++
		if m.Progress != nil {
			m.Progress(i+1, len(names), done.Bytes)
		}
	}
	manifest.At = m.Now().UTC()
	return done, errors.Join(err, m.write(manifest))
}

// write notes what was mirrored.
func (m *Mirror) write(manifest Manifest) error {
	data, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	if err := m.FS.MkdirAll(m.Dir); err != nil {
		return err
	}
	return vfs.WriteFile(m.FS, filepath.Join(m.Dir, manifestName), append(data, '\n'))
}

// names lists the files to mirror: transcripts, and what the tool notes about
// them beside them. Nothing else of a tool's folder is touched: there may be
// secrets in it.
func (m *Mirror) names(ctx context.Context) ([]string, error) {
	tree := os.DirFS(m.Home)
	all := make(map[string]bool)
	dirs := make(map[string]bool)
	for t, err := range m.Tool.Layout().Transcripts(tree) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			continue // told by Look
		}
		for _, part := range t.Parts {
			all[part] = true
			dirs[path.Dir(part)] = true
			dirs[strings.TrimSuffix(part, ".jsonl")] = true
		}
	}
	for dir := range dirs {
		beside, err := fs.Glob(tree, path.Join(escape(dir), "*.json"))
		if err != nil {
			return nil, err
		}
		for _, name := range beside {
			all[name] = true
		}
	}
	for _, pattern := range m.Tool.Layout().Beside() {
		beside, err := fs.Glob(tree, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range beside {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// escape makes a name mean only itself in a pattern.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// file brings one file up to date.
func (m *Mirror) file(name string, known map[string]Stand, done *Done) error {
	from, to := filepath.Join(m.Home, filepath.FromSlash(name)), filepath.Join(m.Dir, filepath.FromSlash(name))
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil // it went away just now; what we have stays
	}
	if err != nil {
		return err
	}
	now := Stand{Size: info.Size(), Modified: info.ModTime().UTC()}
	mine, err := m.FS.Stat(to)
	there := err == nil
	if there && known[name] == now && mine.Size >= now.Size {
		return nil
	}
	switch {
	case !there:
		err = m.begin(from, to, done)
	case m.same(from, to, mine.Size, now.Size):
		err = m.grow(from, to, mine.Size, done)
	default:
		err = m.replace(from, to, done)
	}
	if err == nil {
		known[name] = now
	}
	return err
}

// linker is a file system that can give a file a second name.
type linker interface {
	Link(from, to string) error
}

// begin makes a file that is not there.
func (m *Mirror) begin(from, to string, done *Done) error {
	if err := m.FS.MkdirAll(filepath.Dir(to)); err != nil {
		return err
	}
	if l, ok := m.FS.(linker); ok && m.Link && strings.HasSuffix(from, ".jsonl") {
		if err := l.Link(from, to); err == nil {
			done.Linked++
			return m.FS.SyncDir(filepath.Dir(to))
		}
	}
	done.Copied++
	return m.copy(from, to, 0, vfs.Create, done)
}

// same reports whether our file is the beginning of theirs.
func (m *Mirror) same(from, to string, mine, theirs int64) bool {
	if theirs < mine {
		return false
	}
	for _, at := range []int64{0, max(0, mine-compared)} {
		a, errA := piece(from, at, min(compared, mine-at))
		b, errB := piece(to, at, min(compared, mine-at))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			return false
		}
	}
	return true
}

// compared is how much of a file's beginning and end is compared.
const compared = 64 << 10

func piece(name string, at, n int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	p := make([]byte, n)
	_, err = f.ReadAt(p, at)
	return p, err
}

// grow adds what is new.
func (m *Mirror) grow(from, to string, at int64, done *Done) error {
	before := done.Bytes
	if err := m.copy(from, to, at, vfs.Extend, done); err != nil {
		return err
	}
	if done.Bytes > before {
		done.Grown++
	}
	return nil
}

// replace puts our file aside, since theirs is another now, and copies theirs.
// Files that only tell about sessions are not worth keeping twice.
func (m *Mirror) replace(from, to string, done *Done) error {
	if strings.HasSuffix(to, ".json") {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		done.Grown++
		done.Bytes += int64(len(data))
		return vfs.WriteFile(m.FS, to, data)
	}
	aside := fmt.Sprintf("%s.was-%s", to, m.Now().UTC().Format("20060102T150405.000"))
	if err := m.FS.Rename(to, aside); err != nil {
		return err
	}
	done.Kept++
	return m.copy(from, to, 0, vfs.Create, done)
}

// copy copies from an offset to the end, and makes it durable. A copy that is
// cut short is the beginning of the file, which the next run goes on with.
func (m *Mirror) copy(from, to string, at int64, mode vfs.Mode, done *Done) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // only read
	if _, err := in.Seek(at, io.SeekStart); err != nil {
		return err
	}
	out, err := m.FS.Open(to, mode)
	if err != nil {
		return err
	}
	n, err := io.CopyBuffer(onlyWriter{out}, in, make([]byte, 1<<20))
	done.Bytes += n
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return m.FS.SyncDir(filepath.Dir(to))
}

// onlyWriter hides what else a file can do.
type onlyWriter struct{ io.Writer }

// DirName names the mirror of a tool's folder: after the tool and the place it
// is at, since a tool may have several.
func DirName(tool dialect.Name, home string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(home)))
	return fmt.Sprintf("%s-%x", tool, sum[:4])
}
