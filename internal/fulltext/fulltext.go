// Package fulltext keeps the index of words: which message of which session
// says what. It finds messages ([Index.Search]) as package search decides.
//
// Sessions are the truth. The index is a file beside them that can be thrown
// away at any time, and is built again from them; a damaged one is never
// repaired, and nobody is asked. It is kept up to date in the background, so
// that who appends does not wait; what a crash left out is found by comparing
// how far each session was read with how it stands, when the index is next
// used. What was purged is taken out of it, down to the bytes.
//
// Nothing is opened before somebody searches or the gateway starts it.
package fulltext

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"sync"
	"time"

	"firn"
	"firn/internal/vfs"
	"firn/store"
)

// Source is where the index learns of sessions. Several goroutines call it at
// once.
type Source interface {
	Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error]
	ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error]
	// Census tells how all sessions stand, Stand how one does, or ErrNotFound.
	Census(ctx context.Context) ([]store.Standing, error)
	Stand(ctx context.Context, id firn.ID) (store.Standing, error)
}

// ownSource is the source of our own sessions, as filters name it.
const ownSource = "firn"

// Options says how an index is kept. The zero value is a good one.
type Options struct {
	// SourceOf names the tool that a session comes from; empty, as nil always,
	// says that it is our own.
	SourceOf func(ctx context.Context, id firn.ID) string
	// Report is told, in a sentence, of what was out of order and what was done
	// about it. Nil: nobody.
	Report func(message string)
	// Listed leaves sessions that cannot be read out of the reports: the answers list them,
	// see [search.Answer.Unsearched], and whoever asks shows that.
	Listed bool
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
	// Patience is how long a search waits for the index to be up to date before
	// it answers with what there is; zero means two seconds.
	Patience time.Duration
}

// Index is an index of words in a directory. All methods may be called from
// many goroutines, and several processes may have the same index open.
type Index struct {
	fs   vfs.FS
	dir  string
	src  Source
	opts Options

	mu sync.Mutex
	// db is the open file; nil until it is needed.
	db   *database
	work work
}

// fileName is what the index is called in its directory.
const (
	fileName  = "words.db"
	freshName = "words-new.db"
	// marksName is the directory of marks of sessions that are being erased.
	marksName = "erasing"
)

// New makes an index in a directory. It opens nothing.
func New(fsys vfs.FS, dir string, src Source, opts Options) *Index {
	if opts.Report == nil {
		opts.Report = func(string) {}
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Patience == 0 {
		opts.Patience = 2 * time.Second
	}
	x := &Index{fs: fsys, dir: dir, src: src, opts: opts}
	x.work.init()
	return x
}

func (x *Index) path() string { return filepath.Join(x.dir, fileName) }

func (x *Index) report(format string, args ...any) { x.opts.Report(fmt.Sprintf(format, args...)) }

func (x *Index) sourceOf(ctx context.Context, id firn.ID) string {
	if x.opts.SourceOf != nil {
		if name := x.opts.SourceOf(ctx, id); name != "" {
			return name
		}
	}
	return ownSource
}

// open opens the file, if it is not open. One that cannot be used is thrown
// away. It is called with mu.
func (x *Index) open(ctx context.Context) (*database, error) {
	if x.work.isClosed() {
		return nil, fmt.Errorf("open the index of words: %w", firn.ErrClosed)
	}
	if x.db != nil && (x.replaced() || x.db.why != nil) {
		x.drop()
	}
	if x.db != nil {
		return x.db, nil
	}
	db, err := openDatabase(ctx, x.fs, x.path(), safe)
	if errors.Is(err, firn.ErrCorrupt) {
		x.report("%v; it is built anew from the sessions", err)
		if err := removeFiles(x.fs, x.path()); err != nil {
			return nil, fmt.Errorf("throw the index of words away: %w", err)
		}
		db, err = openDatabase(ctx, x.fs, x.path(), safe)
	}
	if err != nil {
		if db = x.openToRead(ctx, err); db == nil {
			return nil, err
		}
	}
	x.db = db
	return db, nil
}

// replaced reports whether another process has put another file in the place of
// the one that is open, or taken it away.
func (x *Index) replaced() bool {
	now, err := x.fs.Stat(x.path())
	return err != nil || x.db.inode != 0 && now.Inode != x.db.inode
}

// isOther reports whether another index than the one that is open is there now.
func (x *Index) isOther() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.db != nil && x.replaced()
}

// drop closes the file when nobody uses it any more. It is called with mu.
func (x *Index) drop() {
	db := x.db
	x.db = nil
	db.users.Wait()
	if err := db.close(); err != nil {
		x.report("close the index of words: %v", err)
	}
}

// use opens the file and keeps it open until done is called.
func (x *Index) use(ctx context.Context) (db *database, done func(), err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if db, err = x.open(ctx); err != nil {
		return nil, nil, err
	}
	db.users.Add(1)
	return db, sync.OnceFunc(db.users.Done), nil
}

// damaged throws the index away if an error says that it is damaged, and reports
// whether it does. Who calls it does not use the file any more.
func (x *Index) damaged(db *database, err error) bool {
	if !errors.Is(err, firn.ErrCorrupt) {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db == nil || x.db != db {
		return true // somebody else has done it
	}
	if x.db.why != nil { // others may have changed it: what is there now may be sound
		x.drop()
		return true
	}
	x.report("%v; it is built anew from the sessions", err)
	x.drop()
	if err := removeFiles(x.fs, x.path()); err != nil {
		x.report("throw the index of words away: %v", err)
	}
	return true
}

// Exists reports whether there is an index.
func (x *Index) Exists() bool {
	_, err := x.fs.Stat(x.path())
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// Close ends what is under way and closes the file. What was not written down
// is found the next time.
func (x *Index) Close() error {
	x.work.stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db != nil {
		x.drop()
	}
	return nil
}
