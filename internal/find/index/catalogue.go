// Package index keeps what is derived from the sessions of a store, so that
// questions about all of them need not open any: the [Catalogue] of their
// names, times and first words.
//
// Sessions are the truth. An index is a copy that can be thrown away at any
// time; from the same sessions it is built again byte for byte. So a damaged
// one is never repaired, and trouble with it never keeps a session from being
// listed, only from being listed fast.
//
// The package writes in its own directory only, never to a session.
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
	"firn.dev/store"
)

// Source is where the catalogue learns of sessions. Several goroutines call it
// at once.
type Source interface {
	// Census tells how all sessions stand, in no order, without opening them.
	Census(ctx context.Context) ([]store.Standing, error)
	// Stand tells how one session stands, or ErrNotFound.
	Stand(ctx context.Context, id firn.ID) (store.Standing, error)
	// Inspect tells of one session what a list tells, or ErrNotFound. What is
	// wrong with the session is told in the info, not as an error.
	Inspect(ctx context.Context, id firn.ID) (store.Info, error)
}

// Options says how a catalogue is kept. The zero value is a good one.
type Options struct {
	// ReadOnly writes nothing: what the catalogue lacks is looked up in the
	// sessions each time.
	ReadOnly bool
	// Report is told, in a sentence, of everything that was out of order and
	// what was done about it. It may be called from any goroutine. Nil: nobody.
	Report func(message string)
}

// Catalogue is a list of all sessions that is kept in a file.
//
// What it answers is exact as long as changes to sessions go through [Wrap],
// in whatever process, or somebody calls Refresh after them. Other changes, a
// file that a person copied into a session's directory for example, are seen
// at once by whatever looks at all sessions (a list without limit, Find,
// Refresh), and by Page if they concern a session that it would show.
//
// All methods may be called from many goroutines, and several processes may
// have the same catalogue open.
type Catalogue struct {
	fs   vfs.FS
	dir  string
	src  Source
	opts Options

	mark    mark
	tallied tallied

	mu      sync.Mutex
	closed  bool
	changed uint64 // counts changes
	notes   notes
	damage  string         // that was told of last
	working sync.WaitGroup // changes under way
}

// notes are the sessions that have changed since they were written down.
type notes map[firn.ID]note

// note tells which change was the last, and whether any erased something.
type note struct {
	number uint64
	erased bool
}

// fileName is what the catalogue is called in its directory.
const fileName = "catalogue.jsonl"

// Open opens the catalogue in a directory, and makes the directory if need be.
// It does not look at the file: a damaged one is found, reported and built
// anew when it is needed.
func Open(fsys vfs.FS, dir string, src Source, opts Options) (*Catalogue, error) {
	if opts.Report == nil {
		opts.Report = func(string) {}
	}
	if !opts.ReadOnly {
		if err := fsys.MkdirAll(dir); err != nil {
			return nil, fmt.Errorf("open catalogue: %w", err)
		}
	}
	return &Catalogue{fs: fsys, dir: dir, src: src, opts: opts, notes: make(notes)}, nil
}

func (c *Catalogue) path() string { return filepath.Join(c.dir, fileName) }

func (c *Catalogue) report(format string, args ...any) { c.opts.Report(fmt.Sprintf(format, args...)) }

// usable refuses to go on when the catalogue is closed or the context done.
func (c *Catalogue) usable(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return fmt.Errorf("catalogue %s: %w", c.dir, firn.ErrClosed)
	}
	return ctx.Err()
}

// open opens the file. There is none, nil, if it does not exist or is of no
// use, which is reported.
func (c *Catalogue) open() (*book, error) {
	b, err := openBook(c.fs, c.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, firn.ErrCorrupt) || errors.Is(err, firn.ErrUnsupported):
		c.reportDamage(err)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	return b, nil
}

// reportDamage tells of a catalogue that is of no use, once: until it is built anew
// everybody who looks finds the same.
func (c *Catalogue) reportDamage(err error) {
	c.mu.Lock()
	told := c.damage == err.Error()
	c.damage = err.Error()
	c.mu.Unlock()
	if told {
		return
	}
	instead := "it is built anew from the sessions"
	if c.opts.ReadOnly {
		instead = "the sessions are looked at instead"
	}
	c.report("%s: %v; %s", c.path(), err, instead)
}

// begin is called before a session is changed; done, with what was changed,
// after it. In between a crash leaves a mark that makes the next one to open
// the catalogue look at all sessions.
func (c *Catalogue) begin() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return fmt.Errorf("catalogue %s: %w", c.dir, firn.ErrClosed)
	}
	c.working.Add(1)
	c.mu.Unlock()
	if c.opts.ReadOnly {
		return nil
	}
	if err := c.mark.set(c.fs, c.dir); err != nil {
		c.report("%v; if the process dies, the catalogue may be behind until it is refreshed", err)
	}
	return nil
}

func (c *Catalogue) done(id firn.ID, erased bool) {
	c.mu.Lock()
	c.changed++
	c.notes[id] = note{number: c.changed, erased: erased || c.notes[id].erased}
	c.mu.Unlock()
	c.working.Done()
}

// noted returns what is noted. It stays so until it is written down, so that
// nobody who looks at the catalogue meanwhile takes it to be up to date.
func (c *Catalogue) noted() notes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.notes)
}

// written forgets notes, but not of sessions that have changed again. What
// could not be written, because nothing may be, stays noted.
func (c *Catalogue) written(taken notes) {
	if c.opts.ReadOnly {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, n := range taken {
		now := c.notes[id]
		if now.number == n.number {
			delete(c.notes, id)
		}
	}
}

// flush writes down the sessions that were noted. Without a file, or one that
// can be used, there is nothing to write to: whoever makes one looks at all
// sessions.
func (c *Catalogue) flush(ctx context.Context) error {
	taken := c.noted()
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
	each(ctx, len(changes), func(i int) bool {
		changes[i].now, errs[i] = c.look(ctx, changes[i].id)
		return errs[i] == nil
	})
	if err = errors.Join(ctx.Err(), firstError(errs)); err == nil {
		err = c.commit(ctx, base, changes)
	}
	if err == nil {
		c.written(taken)
	}
	return err
}

// Close writes down what has changed. If that fails, the next one to open the
// catalogue will know that it is behind; that is reported and not an error.
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
		c.report("the catalogue is behind and will be refreshed: %v", err)
		return c.mark.leave()
	}
	return c.mark.clear(c.fs)
}

// syncFile makes durable what was added to the file.
func (c *Catalogue) syncFile() error {
	if !c.mark.isSet() { // then every commit was synced
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
