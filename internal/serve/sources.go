package serve

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"firn"
	"firn/dialect"
	"firn/internal/adopt"
	"firn/internal/convert"
	"firn/internal/dialects"
	"firn/store/sourcestore"
	"firn/store/unionstore"
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
	st, err := sourcestore.Open(f.Dir, f.Tool, sourcestore.Options{InPlace: f.InPlace, Expand: expand, Now: h.o.Clock, Lose: func(l dialect.Loss) {
		h.o.Report(fmt.Sprintf("%s cannot say %s: entry %s of kind %s was changed or left out", f.Tool.Name(), l.Limit, l.Entry, l.Kind))
	}})
	if err != nil {
		return err
	}
	h.store = h.counts.Store(h.indexed(st, st, h.foreignIndex(f.Dir), nil))
	h.transcript = func(ctx context.Context, id firn.ID) (convert.Source, error) { return lines(ctx, st, id) }
	return nil
}

// withSources adds the mirrors of other tools' folders to our own sessions, if
// there are any.
func (h *House) withSources(own unionstore.Own, dir string) (unionstore.Own, error) {
	mirrors, err := filepath.Glob(filepath.Join(dir, SourcesDir, "*", "source.json"))
	if err != nil || len(mirrors) == 0 {
		return own, err
	}
	var sources []unionstore.Source
	for _, name := range mirrors {
		st, err := openMirror(filepath.Dir(name), h.o)
		if err != nil {
			h.o.Report(err.Error())
			continue
		}
		sources = append(sources, st)
	}
	union := unionstore.New(own, sources, func(ctx context.Context, id firn.ID, from unionstore.Source) error {
		src, err := lines(ctx, from.(*sourcestore.Store), id)
		if err != nil {
			return err
		}
		_, err = convert.Into(ctx, own, id, src, &convert.Report{})
		return err
	})
	h.transcript = func(ctx context.Context, id firn.ID) (convert.Source, error) {
		if from, ok := union.SourceOf(ctx, id); ok {
			return lines(ctx, from.(*sourcestore.Store), id)
		}
		return convert.Stored(ctx, union, id, dialect.Native), nil
	}
	return union, nil
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
	return sourcestore.Open(dir, dialects.In(tool, dir), sourcestore.Options{Expand: expand, Now: o.Clock})
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
