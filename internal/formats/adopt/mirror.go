package adopt

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
)

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
	// Waiting is told once if another run has the mirror and must be waited for;
	// nil: nobody.
	Waiting func()
}

// Done is what a run did.
type Done struct {
	// Files were looked at; Copied are new, Grown were added to, Linked are
	// links, Kept were changed by the tool, so that what we had was put aside, and
	// Healed are those of which our copy was damaged.
	Files, Copied, Grown, Linked, Kept, Healed int
	// Bytes were copied.
	Bytes int64
	// Longer names the files of which the tool has more than at the last run.
	Longer []string
	// Failed are what could not be mirrored, in no order.
	Failed []Failure
}

// Failure is a file or folder of a tool that could not be mirrored.
type Failure struct {
	// Path is within the tool's folder, with slashes.
	Path string
	Err  error
}

// fail notes a failure, once for each path.
func (d *Done) fail(path string, err error) {
	for _, f := range d.Failed {
		if f.Path == path {
			return
		}
	}
	d.Failed = append(d.Failed, Failure{path, err})
}

// skipped is an error that concerns one file alone: the others can be mirrored.
type skipped struct{ error }

// Unwrap returns what went wrong.
func (s skipped) Unwrap() error { return s.error }

// saveEvery is how many bytes are copied before it is noted how far we are.
const saveEvery = 256 << 20

// Run brings the mirror up to date. What was mirrored once stays, also if the
// tool has deleted it. Only one run at a time writes to a mirror: the next one
// waits for it. It can be stopped or killed at any time, and the next run goes
// on where it was. A file that cannot be read is in what it returns and keeps no
// other from being mirrored; an error means that our own side failed.
func (m *Mirror) Run(ctx context.Context) (done Done, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	items, err := m.items(ctx, &done)
	if err == nil {
		items, err = m.allowed(items)
	}
	if err != nil {
		return done, err
	}
	manifest := m.manifest()
	before := maps.Clone(manifest.Files)
	err = m.files(ctx, items, manifest, &done)
	done.Longer = grown(before, manifest.Files)
	return done, errors.Join(err, m.write(manifest))
}

// files brings all files up to date.
func (m *Mirror) files(ctx context.Context, items []item, manifest Manifest, done *Done) error {
	var saved int64
	for i, it := range items {
		if err := ctx.Err(); err != nil {
			return err
		}
		var skip skipped
		switch err := m.file(it, manifest.Files, done); {
		case errors.As(err, &skip):
			done.fail(it.name, skip.error)
		case err != nil:
			return fmt.Errorf("mirror %s: %w", filepath.Join(m.Home, it.name), err)
		}
		done.Files++
		if m.Progress != nil {
			m.Progress(i+1, len(items), done.Bytes)
		}
		if done.Bytes-saved >= saveEvery {
			if err := m.write(manifest); err != nil {
				return err
			}
			saved = done.Bytes
		}
	}
	return nil
}

// DirName names the mirror of a tool's folder: after the tool and the place it
// is at, since a tool may have several.
func DirName(tool dialect.Name, home string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(home)))
	return fmt.Sprintf("%s-%x", tool, sum[:4])
}
