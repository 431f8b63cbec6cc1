// Package fulltext maintains the full-text index of all sessions. [Index.Search] finds
// messages and ranks them as package search defines.
//
// The sessions are the source of truth. The index is a file that can be deleted at any time
// and is rebuilt from them; a damaged index is replaced, never repaired. It is updated in
// the background, so appends do not wait for it. Updates lost in a crash are found on the
// next use by comparing the indexed position of each session with its current state. Purged
// text is removed from the index file, down to the bytes.
//
// The index is opened on the first search, or when the gateway starts it.
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

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// Source provides the sessions to index. It must be safe for concurrent use.
type Source interface {
	Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error]
	ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error]
	// Census returns the state of all sessions. Stand returns the state of one session, or
	// ErrNotFound.
	Census(ctx context.Context) ([]store.Status, error)
	Status(ctx context.Context, id firn.ID) (store.Status, error)
}

// nativeSource is the filter name for firn's own sessions.
const nativeSource = "firn"

// Options configures an index. The zero value is usable.
type Options struct {
	// SourceOf returns the origin of a session that is not firn's own. Nil means that all
	// sessions are firn's own.
	SourceOf func(ctx context.Context, id firn.ID) Origin
	// Embedder, if not nil, returns vectors of messages and questions. [Index.Start] fills
	// them in the background, and questions find messages with similar vectors too.
	Embedder Embedder
	// Report receives a sentence about each problem and how it was handled. Nil discards
	// them.
	Report func(message string)
	// Listed excludes unreadable sessions from the reports. Answers list them in
	// [search.Answer.Unsearched] instead.
	Listed bool
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
	// Patience is how long a search waits for the index to be up to date before it answers
	// from the current state; zero means two seconds.
	Patience time.Duration
}

// Origin is where a session comes from.
type Origin struct {
	// Tool is the name of the tool that wrote the session; empty for firn's own.
	Tool string
	// Sub marks the session of a sub-agent of that tool.
	Sub bool
}

// Index is a full-text index in a directory. It is safe for concurrent use, and several
// processes may have the same index open.
type Index struct {
	fs   vfs.FS
	dir  string
	src  Source
	opts Options

	mu sync.Mutex
	// db is the open file; nil until it is needed.
	db        *database
	work      work
	embedding embedding
}

// fileName is the name of the index file in its directory.
const (
	fileName  = "words.db"
	freshName = "words-new.db"
	// marksName is the directory with the marks of sessions that are being erased.
	marksName = "erasing"
)

// New returns an index in a directory. It does not open any file.
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
	x.embedding.x = x
	return x
}

func (x *Index) path() string { return filepath.Join(x.dir, fileName) }

func (x *Index) report(format string, args ...any) { x.opts.Report(fmt.Sprintf(format, args...)) }

func (x *Index) sourceOf(ctx context.Context, id firn.ID) Origin {
	if x.opts.SourceOf != nil {
		if from := x.opts.SourceOf(ctx, id); from.Tool != "" {
			return from
		}
	}
	return Origin{Tool: nativeSource}
}

// open opens the file unless it is open already. A file that cannot be used is deleted. The
// caller must hold mu.
func (x *Index) open(ctx context.Context) (*database, error) {
	if x.work.isClosed() {
		return nil, fmt.Errorf("open the word index: %w", firn.ErrClosed)
	}
	if x.db != nil && (x.replaced() || x.db.why != nil) {
		x.drop()
	}
	if x.db != nil {
		return x.db, nil
	}
	db, err := openDatabase(ctx, x.fs, x.path(), safe)
	if errors.Is(err, firn.ErrCorrupt) {
		x.report("%v; rebuilding it from the sessions", err)
		if err := removeFiles(x.fs, x.path()); err != nil {
			return nil, fmt.Errorf("delete the word index: %w", err)
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

// replaced reports whether another process replaced or removed the open file.
func (x *Index) replaced() bool {
	now, err := x.fs.Stat(x.path())
	return err != nil || x.db.inode != 0 && now.Inode != x.db.inode
}

// isOther reports whether the directory now holds a different index than the open one.
func (x *Index) isOther() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.db != nil && x.replaced()
}

// drop closes the file once it has no users. The caller must hold mu.
func (x *Index) drop() {
	db := x.db
	x.db = nil
	db.users.Wait()
	if err := db.close(); err != nil {
		x.report("close the word index: %v", err)
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

// damaged deletes the index if err indicates damage, and reports whether it does. The
// caller must not use db afterwards.
func (x *Index) damaged(db *database, err error) bool {
	if !errors.Is(err, firn.ErrCorrupt) {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db == nil || x.db != db {
		return true // another caller has deleted it
	}
	if x.db.why != nil { // another process may have replaced it with a sound one
		x.drop()
		return true
	}
	x.report("%v; rebuilding it from the sessions", err)
	x.drop()
	if err := removeFiles(x.fs, x.path()); err != nil {
		x.report("delete the word index: %v", err)
	}
	return true
}

// Exists reports whether there is an index.
func (x *Index) Exists() bool {
	_, err := x.fs.Stat(x.path())
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// Close stops the background work and closes the file. Changes that were not written are
// found on the next use.
func (x *Index) Close() error {
	x.work.stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db != nil {
		x.drop()
	}
	return nil
}
