package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/internal/formats/unionstore"
)

// SourcesDir is the directory of a home that contains the mirrors of other tools' folders.
const SourcesDir = "sources"

// Foreign is another tool's folder that replaces our own sessions.
type Foreign struct {
	Tool dialect.Tool
	Dir  string
	// InPlace allows appending to the tool's own files.
	InPlace bool
}

// openForeign opens another tool's folder as the store. We write nothing of our own to it:
// the index is in our home.
func (h *Instance) openForeign() error {
	f := h.o.Foreign
	st, err := sourcestore.Open(f.Dir, f.Tool, sourcestore.Options{Name: string(f.Tool.Name()), InPlace: f.InPlace, Expand: expand, MaxLine: int64(h.o.Settings.Store.MaxLine), Now: h.o.Clock, OnLoss: func(l dialect.Loss) {
		h.o.Report(lossNote(f.Tool.Name(), l))
	}, Report: func(err error) { h.o.Report(err.Error()) }})
	if err != nil {
		return err
	}
	h.store = h.counts.Store(h.indexed(st, st, h.foreignIndex(f.Dir), nil))
	h.transcript = func(ctx context.Context, id firn.ID) (convert.Source, error) { return lines(ctx, st, id) }
	return nil
}

// lossNote describes what a tool's file does not hold as it was.
func lossNote(tool dialect.Name, l dialect.Loss) string {
	what := fmt.Sprintf("entry %s of kind %s", l.Entry, l.Kind)
	if l.Kind == firn.KindHeader {
		what = "the header"
	}
	became := "changed"
	if l.Dropped {
		became = "omitted"
	}
	return fmt.Sprintf("%s cannot represent %s: %s was %s", tool, l.Limit, what, became)
}

// takeoverDir is the directory among the mirrors that marks sessions being taken over. No
// tool has this name.
const takeoverDir = "taking"

// mirrorManifest is the file that describes a mirror.
const mirrorManifest = "source.json"

// withSources adds the mirrors of other tools' folders to our own sessions.
func (h *Instance) withSources(own unionstore.Own, dir string) (*unionstore.Store, error) {
	m := &mirrors{dir: filepath.Join(dir, SourcesDir), o: h.o, fs: h.fs, open: make(map[string]*sourcestore.Store), reported: make(map[string]string)}
	h.own, h.mirrors = own, m
	union := unionstore.New(own, unionstore.Options{
		Sources: m.all, Stamp: m.stamp, Dir: filepath.Join(m.dir, takeoverDir), FS: h.fs, Erase: m.erase, Weigh: m.eraseSize,
		Take: func(ctx context.Context, id firn.ID, from unionstore.Source) error {
			src, err := lines(ctx, from.(*sourcestore.Store), id)
			if err == nil {
				_, err = convert.Import(ctx, own, id, src, &convert.Report{})
			}
			if err == nil && h.Gateway != nil {
				h.Gateway.Moved(id)
			}
			return err
		},
	})
	h.transcript = func(ctx context.Context, id firn.ID) (convert.Source, error) {
		if from, ok := union.SourceOf(ctx, id); ok {
			return lines(ctx, from.(*sourcestore.Store), id)
		}
		return convert.Stored(ctx, union, id, dialect.Native), nil
	}
	return union, nil
}

// mirrors are the mirrors of a home. New ones may appear at any time.
type mirrors struct {
	dir string
	o   Options
	fs  vfs.FS

	mu      sync.Mutex
	scanned time.Time
	open    map[string]*sourcestore.Store
	list    []unionstore.Source
	// reported holds the errors already reported, by directory.
	reported map[string]string
}

// rescanInterval is the minimum time between scans for new mirrors, unless a fresh list is
// requested.
const rescanInterval = 500 * time.Millisecond

// all returns the readable mirrors, sorted by name.
func (m *mirrors) all(fresh bool) []unionstore.Source {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.o.Clock()
	if since := now.Sub(m.scanned); !fresh && since >= 0 && since < rescanInterval {
		return m.list
	}
	m.scanned = now
	entries, err := m.fs.ReadDir(m.dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			m.reportOnce(m.dir, err)
		}
		return m.list
	}
	var list []unionstore.Source
	for _, e := range entries {
		if st := m.mirror(filepath.Join(m.dir, e.Name())); st != nil {
			list = append(list, st)
		}
	}
	m.list = list
	return list
}

// stamp returns a text that changes when any mirror is updated.
func (m *mirrors) stamp() (string, error) {
	entries, err := m.fs.ReadDir(m.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		info, err := m.fs.Stat(filepath.Join(m.dir, e.Name(), mirrorManifest))
		if err == nil {
			fmt.Fprintln(&b, e.Name(), info.Size, info.ModTime.UnixNano(), info.Inode)
		}
	}
	return b.String(), nil
}

// mirror returns the mirror in a directory, or nil if there is none.
func (m *mirrors) mirror(dir string) *sourcestore.Store {
	if st := m.open[dir]; st != nil {
		return st
	}
	if _, err := m.fs.Stat(filepath.Join(dir, mirrorManifest)); err != nil {
		return nil
	}
	st, err := openMirror(dir, m.o)
	if err != nil {
		m.reportOnce(dir, err)
		return nil
	}
	m.open[dir] = st
	return st
}

// reportOnce reports an error of a mirror unless it was the last one reported.
func (m *mirrors) reportOnce(dir string, err error) {
	if m.reported[dir] != err.Error() {
		m.reported[dir] = err.Error()
		m.o.Report(err.Error())
	}
}

// erase erases the copies of a session in a mirror. The tool's own files remain.
func (m *mirrors) erase(ctx context.Context, id firn.ID, from unionstore.Source) ([]string, int64, error) {
	return m.withCopies(ctx, id, from, func(mirror *adopt.Mirror, names []string) (int64, error) { return mirror.Erase(ctx, names) })
}

// eraseSize returns the files and bytes that erase would erase.
func (m *mirrors) eraseSize(ctx context.Context, id firn.ID, from unionstore.Source) ([]string, int64, error) {
	return m.withCopies(ctx, id, from, (*adopt.Mirror).Size)
}

// withCopies calls do with the files of a session in a mirror. It returns their paths
// relative to our own store, and the result of do.
func (m *mirrors) withCopies(ctx context.Context, id firn.ID, from unionstore.Source, do func(*adopt.Mirror, []string) (int64, error)) ([]string, int64, error) {
	st := from.(*sourcestore.Store)
	files, err := st.Files(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	names := make([]string, len(files))
	for i, file := range files {
		rel, err := filepath.Rel(st.Home(), file)
		if err != nil {
			return nil, 0, err
		}
		names[i] = filepath.ToSlash(rel)
	}
	bytes, err := do(&adopt.Mirror{Tool: st.Tool(), Dir: st.Home(), FS: m.fs, Now: m.o.Clock}, names)
	for i := range names {
		names[i] = path.Join(SourcesDir, filepath.Base(st.Home()), names[i])
	}
	return names, bytes, err
}

// openMirror opens a mirror for reading.
func openMirror(dir string, o Options) (*sourcestore.Store, error) {
	manifest, err := adopt.ReadManifest(dir)
	if err != nil {
		return nil, fmt.Errorf("open mirror %s: %w", dir, err)
	}
	tool, ok := dialects.Find(string(manifest.Tool))
	if !ok {
		return nil, fmt.Errorf("open mirror %s: unknown tool %q: %w", dir, manifest.Tool, firn.ErrUnsupported)
	}
	return sourcestore.Open(dir, dialects.In(tool, dir), sourcestore.Options{Name: filepath.Base(dir), Expand: expand, MaxLine: int64(o.Settings.Store.MaxLine), Now: o.Clock})
}

// lines returns a session of a source for conversion.
func lines(ctx context.Context, st *sourcestore.Store, id firn.ID) (convert.Source, error) {
	t, open, err := st.Lines(ctx, id)
	if err != nil {
		return convert.Source{}, err
	}
	return convert.Transcript(st.Tool(), dialect.Origin{Transcript: t}, open), nil
}

// expand decompresses a transcript.
func expand(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}
