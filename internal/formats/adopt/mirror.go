package adopt

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
)

// Mirror is a copy of a tool's transcripts that is kept up to date.
type Mirror struct {
	Tool dialect.Tool
	// Home is the tool's folder, Dir the folder of the copy.
	Home, Dir string
	FS        vfs.FS
	// Link creates hard links where possible: they take no space, but in-place changes by
	// the tool change the mirror too.
	Link bool
	Now  func() time.Time
	// Progress is called to report progress. It may be nil.
	Progress func(files, of int, bytes int64)
	// Waiting is called once if the mirror is locked by another run. It may be nil.
	Waiting func()

	// originals are the tool's files during a run, tree lists them. view is the tool's home
	// as transcripts if the tool keeps its sessions in another form; nil otherwise.
	originals originals
	tree      fs.FS
	view      fs.FS
}

// Result is the result of a run.
type Result struct {
	// Files counts the files examined: Copied are new, Grown were appended to, Linked are
	// links, Kept were changed by the tool, so that the old version was put aside, and
	// Healed had a damaged copy.
	Files, Copied, Grown, Linked, Kept, Repaired int
	// Bytes is the number of bytes copied.
	Bytes int64
	// Longer lists the files that have grown since the last run, and those of earlier runs
	// that are not done; see [Mirror.Done].
	Longer []string
	// Failed lists the files that could not be mirrored, in no particular order.
	Failed []Failure
}

// Failure is a file or folder of a tool that could not be mirrored.
type Failure struct {
	// Path is relative to the tool's folder, with slashes.
	Path string
	Err  error
}

// fail records a failure, once for each path.
func (d *Result) fail(path string, err error) {
	for _, f := range d.Failed {
		if f.Path == path {
			return
		}
	}
	d.Failed = append(d.Failed, Failure{path, err})
}

// skipped is an error that concerns one file only: the others can be mirrored.
type skipped struct{ error }

// Unwrap returns the cause.
func (s skipped) Unwrap() error { return s.error }

// saveEvery is the number of bytes copied between writes of the manifest.
const saveEvery = 256 << 20

// Run updates the mirror. Mirrored files stay even if the tool deletes them. Only one run
// at a time writes to a mirror; others wait. A run can be interrupted or killed at any
// time, and the next run continues it. A file that cannot be read is listed in the result
// and does not affect the others; an error means that writing the mirror failed.
func (m *Mirror) Run(ctx context.Context) (done Result, err error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	m.openOriginals()
	manifest, stamp := m.manifest(), m.stamp()
	if m.upToDate(manifest, stamp) {
		done.Files, done.Longer = len(manifest.Files), manifest.Pending
		return done, nil
	}
	items, err := m.items(ctx, &done)
	if err == nil {
		items, err = m.allowed(items)
	}
	if err != nil {
		return done, err
	}
	before := maps.Clone(manifest.Files)
	err = m.files(ctx, items, manifest, &done)
	manifest.Pending = merged(manifest.Pending, grown(before, manifest.Files))
	done.Longer = manifest.Pending
	if manifest.Stamp = stamp; err != nil || len(done.Failed) > 0 {
		manifest.Stamp = ""
	}
	return done, errors.Join(err, m.write(manifest))
}

// files updates all files.
func (m *Mirror) files(ctx context.Context, items []item, manifest Manifest, done *Result) error {
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

// DirName returns the folder name of a mirror. It includes the tool and the path of its
// folder, since a tool may have several.
func DirName(tool dialect.Name, home string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(home)))
	return fmt.Sprintf("%s-%x", tool, sum[:4])
}
