// Package index maintains data derived from the sessions of a store, so that queries over
// all sessions need not open them. Its main type is the [Catalogue] of titles, times and
// first prompts.
//
// The sessions are the source of truth. An index can be deleted at any time; it is rebuilt
// from the same sessions byte for byte. A damaged index is never repaired, and problems
// with it only make lists slower.
//
// The package writes only to its own directory, never to a session.
package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/rowcache"
	"firn.dev/store"
)

// Source provides the sessions of a catalog. It must be safe for concurrent use.
type Source interface {
	// Census returns the standing of all sessions, in no particular order, without opening
	// them.
	Census(ctx context.Context) ([]store.Status, error)
	// Status returns the standing of one session, or ErrNotFound.
	Status(ctx context.Context, id firn.ID) (store.Status, error)
	// Inspect returns the info of one session, or ErrNotFound. Problems with the session
	// are returned in the info, not as an error.
	Inspect(ctx context.Context, id firn.ID) (store.Info, error)
}

// Options configures a catalog. The zero value is a good default.
type Options struct {
	// ReadOnly prevents all writes. Rows missing in the catalog are then read from the
	// sessions each time.
	ReadOnly bool
	// Report is called with a message about every problem found and how it was handled. It
	// may be called from any goroutine and may be nil.
	Report func(message string)
}

// Catalogue is a list of all sessions stored in a file.
//
// Its results are exact if all processes change sessions through [Wrap], or call Refresh
// after other changes. A file store that is not wrapped marks the catalog as outdated when
// it creates a session. Other changes, such as a file copied into a session directory, are
// detected by all operations that examine all sessions (a list without limit, Find,
// Refresh), and by Page if they concern a session that it returns.
//
// All methods are safe for concurrent use, and several processes may open the same
// catalog.
type Catalogue struct {
	fs   vfs.FS
	dir  string
	src  Source
	opts Options

	mark  mark
	table rowTable

	mu      sync.Mutex
	closed  bool
	changed uint64 // counts changes
	pending pendingChanges
	damage  string         // last reported damage
	working sync.WaitGroup // changes in progress
}

// pendingChanges are the sessions changed since they were last written to the file.
type pendingChanges map[firn.ID]pendingChange

// pendingChange is the number of the latest change of a session, and whether any change
// erased data.
type pendingChange struct {
	number uint64
	erased bool
}

// fileName is the name of the catalog in its directory.
const fileName = rowcache.CatalogueName

// Open opens the catalog in a directory, creating the directory if necessary. It does not
// read the file: a damaged file is detected, reported and rebuilt on first use.
func Open(fsys vfs.FS, dir string, src Source, opts Options) (*Catalogue, error) {
	if opts.Report == nil {
		opts.Report = func(string) {}
	}
	if !opts.ReadOnly {
		if err := fsys.MkdirAll(dir); err != nil {
			return nil, fmt.Errorf("open catalog: %w", err)
		}
	}
	return &Catalogue{fs: fsys, dir: dir, src: src, opts: opts, pending: make(pendingChanges)}, nil
}

func (c *Catalogue) path() string { return filepath.Join(c.dir, fileName) }

func (c *Catalogue) report(format string, args ...any) { c.opts.Report(fmt.Sprintf(format, args...)) }

// checkOpen returns an error if the catalog is closed or the context is done.
func (c *Catalogue) checkOpen(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return fmt.Errorf("catalog %s: %w", c.dir, firn.ErrClosed)
	}
	return ctx.Err()
}

// open opens the file. It returns nil if the file does not exist or is damaged, which is
// reported.
func (c *Catalogue) open() (*catalogFile, error) {
	b, err := openCatalogueFile(c.fs, c.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, firn.ErrCorrupt) || errors.Is(err, firn.ErrUnsupported):
		c.reportDamage(err)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	return b, nil
}

// reportDamage reports a damaged catalog, once for each error.
func (c *Catalogue) reportDamage(err error) {
	c.mu.Lock()
	reported := c.damage == err.Error()
	c.damage = err.Error()
	c.mu.Unlock()
	if reported {
		return
	}
	instead := "it is rebuilt from the sessions"
	if c.opts.ReadOnly {
		instead = "the sessions are read instead"
	}
	c.report("%s: %v; %s", c.path(), err, instead)
}

// beginChange is called before a session is changed, endChange after it. If the process
// crashes in between, a mark remains that makes the next process check all sessions.
func (c *Catalogue) beginChange() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return fmt.Errorf("catalog %s: %w", c.dir, firn.ErrClosed)
	}
	c.working.Add(1)
	c.mu.Unlock()
	if c.opts.ReadOnly {
		return nil
	}
	if err := c.mark.set(c.fs, c.dir); err != nil {
		c.report("%v; if the process dies, the catalog may be out of date until it is refreshed", err)
	}
	return nil
}

func (c *Catalogue) endChange(id firn.ID, erased bool) {
	c.mu.Lock()
	c.changed++
	c.pending[id] = pendingChange{number: c.changed, erased: erased || c.pending[id].erased}
	c.mu.Unlock()
	c.working.Done()
}

// copyPending returns a copy of the pending changes. They stay pending until they are
// written, so that concurrent readers do not consider the catalog up to date.
func (c *Catalogue) copyPending() pendingChanges {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.pending)
}

// forgetPending removes pending changes that were written, except for sessions that changed
// again. A read-only catalog keeps them.
func (c *Catalogue) forgetPending(taken pendingChanges) {
	if c.opts.ReadOnly {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, n := range taken {
		now := c.pending[id]
		if now.number == n.number {
			delete(c.pending, id)
		}
	}
}

// flush writes the pending changes. It does nothing if there is no usable file: creating
// one examines all sessions.
func (c *Catalogue) flush(ctx context.Context) error {
	taken := c.copyPending()
	if len(taken) == 0 || c.opts.ReadOnly {
		return nil
	}
	base, err := c.open()
	if base == nil {
		return err
	}
	defer base.close()
	changes := make([]change, 0, len(taken))
	for id, n := range taken {
		changes = append(changes, change{id: id, blind: true, erased: n.erased})
	}
	errs := make([]error, len(changes))
	inParallel(ctx, len(changes), func(i int) bool {
		changes[i].now, errs[i] = c.currentRow(ctx, changes[i].id)
		return errs[i] == nil
	})
	if err = errors.Join(ctx.Err(), firstError(errs)); err == nil {
		err = c.commit(ctx, base, changes)
	}
	if err == nil {
		c.forgetPending(taken)
	}
	return err
}

// Close writes the pending changes. If that fails, it reports the error and leaves the
// mark, so that the next process refreshes the catalog.
func (c *Catalogue) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	c.working.Wait()
	if c.opts.ReadOnly {
		return nil
	}
	err := c.flush(context.Background())
	if err == nil {
		err = c.syncFile()
	}
	if err != nil {
		c.report("the catalog is out of date and will be refreshed: %v", err)
		return c.mark.release()
	}
	return c.mark.clear(c.fs)
}

// syncFile makes lines added to the file durable.
func (c *Catalogue) syncFile() error {
	if !c.mark.isSet() { // otherwise every commit was synced
		return nil
	}
	if _, err := c.fs.Stat(c.path()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	file, err := c.fs.Open(c.path(), vfs.Update)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
