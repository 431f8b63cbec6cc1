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

// SourcesDir is the directory of a home in which mirrors of other tools'
// folders are.
const SourcesDir = "sources"

// Foreign is another tool's folder that takes the place of our own sessions.
type Foreign struct {
	Tool dialect.Tool
	Dir  string
	// InPlace allows to add to the tool's own files.
	InPlace bool
}

// openForeign opens another tool's folder as the store. Nothing of ours is
// written there: the index of its words is in our own home.
func (h *House) openForeign() error {
	f := h.o.Foreign
	st, err := sourcestore.Open(f.Dir, f.Tool, sourcestore.Options{Name: string(f.Tool.Name()), InPlace: f.InPlace, Expand: expand, MaxLine: int64(h.o.Settings.Store.MaxLine), Now: h.o.Clock, Lose: func(l dialect.Loss) {
		h.o.Report(fmt.Sprintf("%s cannot say %s: entry %s of kind %s was changed or left out", f.Tool.Name(), l.Limit, l.Entry, l.Kind))
	}, Report: func(err error) { h.o.Report(err.Error()) }})
	if err != nil {
		return err
	}
	h.store = h.counts.Store(h.indexed(st, st, h.foreignIndex(f.Dir), nil))
	h.transcript = func(ctx context.Context, id firn.ID) (convert.Source, error) { return lines(ctx, st, id) }
	return nil
}

// takingDir is where sessions are marked that are being taken over, among the
// mirrors: no tool is called that.
const takingDir = "taking"

// mirrorManifest is the file that says what a mirror mirrors.
const mirrorManifest = "source.json"

// withSources adds the mirrors of other tools' folders to our own sessions.
func (h *House) withSources(own unionstore.Own, dir string) (*unionstore.Store, error) {
	m := &mirrors{dir: filepath.Join(dir, SourcesDir), o: h.o, fs: h.fs, open: make(map[string]*sourcestore.Store), told: make(map[string]string)}
	h.own, h.mirrors = own, m
	union := unionstore.New(own, unionstore.Options{
		Sources: m.all, Stamp: m.stamp, Dir: filepath.Join(m.dir, takingDir), FS: h.fs, Erase: m.erase, Weigh: m.weigh,
		Take: func(ctx context.Context, id firn.ID, from unionstore.Source) error {
			src, err := lines(ctx, from.(*sourcestore.Store), id)
			if err == nil {
				_, err = convert.Into(ctx, own, id, src, &convert.Report{})
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

// mirrors are the mirrors of a home. They may come at any time.
type mirrors struct {
	dir string
	o   Options
	fs  vfs.FS

	mu     sync.Mutex
	looked time.Time
	open   map[string]*sourcestore.Store
	list   []unionstore.Source
	// told is what was said of those that cannot be opened.
	told map[string]string
}

// lookPause is how long it is not looked for new mirrors, unless asked to.
const lookPause = 500 * time.Millisecond

// all returns the mirrors that can be read, in the order of their names.
func (m *mirrors) all(fresh bool) []unionstore.Source {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.o.Clock()
	if since := now.Sub(m.looked); !fresh && since >= 0 && since < lookPause {
		return m.list
	}
	m.looked = now
	entries, err := m.fs.ReadDir(m.dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			m.tell(m.dir, err)
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

// stamp tells when each mirror was last brought up to date.
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

// mirror returns the mirror in a directory, nil if there is none.
func (m *mirrors) mirror(dir string) *sourcestore.Store {
	if st := m.open[dir]; st != nil {
		return st
	}
	if _, err := m.fs.Stat(filepath.Join(dir, mirrorManifest)); err != nil {
		return nil
	}
	st, err := openMirror(dir, m.o)
	if err != nil {
		m.tell(dir, err)
		return nil
	}
	m.open[dir] = st
	return st
}

// tell says once what is wrong with a mirror.
func (m *mirrors) tell(dir string, err error) {
	if m.told[dir] != err.Error() {
		m.told[dir] = err.Error()
		m.o.Report(err.Error())
	}
}

// erase erases what a mirror has of a session. The tool's own files stay.
func (m *mirrors) erase(ctx context.Context, id firn.ID, from unionstore.Source) ([]string, int64, error) {
	return m.copies(ctx, id, from, func(mirror *adopt.Mirror, names []string) (int64, error) { return mirror.Erase(ctx, names) })
}

// weigh tells what erase would erase.
func (m *mirrors) weigh(ctx context.Context, id firn.ID, from unionstore.Source) ([]string, int64, error) {
	return m.copies(ctx, id, from, (*adopt.Mirror).Size)
}

// copies does something with the files that a mirror has of a session, which tells
// how many bytes they are, and names them as seen from where our own are.
func (m *mirrors) copies(ctx context.Context, id firn.ID, from unionstore.Source, do func(*adopt.Mirror, []string) (int64, error)) ([]string, int64, error) {
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

// openMirror opens a mirror to be read.
func openMirror(dir string, o Options) (*sourcestore.Store, error) {
	manifest, err := adopt.ReadManifest(dir)
	if err != nil {
		return nil, fmt.Errorf("open the mirror %s: %w", dir, err)
	}
	tool, ok := dialects.Find(string(manifest.Tool))
	if !ok {
		return nil, fmt.Errorf("open the mirror %s: the tool %q is not known: %w", dir, manifest.Tool, firn.ErrUnsupported)
	}
	return sourcestore.Open(dir, dialects.In(tool, dir), sourcestore.Options{Name: filepath.Base(dir), Expand: expand, MaxLine: int64(o.Settings.Store.MaxLine), Now: o.Clock})
}

// lines is a session of a source, to be converted.
func lines(ctx context.Context, st *sourcestore.Store, id firn.ID) (convert.Source, error) {
	t, open, err := st.Lines(ctx, id)
	if err != nil {
		return convert.Source{}, err
	}
	return convert.Transcript(st.Tool(), dialect.Origin{Transcript: t}, open), nil
}

// expand opens a compressed transcript.
func expand(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}
