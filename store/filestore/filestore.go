// Package filestore keeps sessions as plain JSONL files, one or more a
// session, in a home directory that people can read, copy and search:
//
//	agents/<agent>/sessions/<id>.jsonl         a transcript, and its further parts
//	agents/<agent>/sessions/sessions.json      which session a key points at
//	archive/<id>                               marks a session as archived
//	bin/<id>/                                  a removed session, with its manifest
//	receipts/                                  what was purged
//	commit/                                    appends that wait to be synced into their files
//	index/                                     caches, which may be deleted
//	.moving.lock                               held while a session is moved or purged
//
// The files are the truth. Several processes may have the same home open; the
// kernel's file locks keep their appends apart. What the package refuses to do
// is change bytes that are written, other than on a purge.
package filestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/limits"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/rowcache"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
)

// Policy says when appended entries are forced to disk.
type Policy = journal.Policy

// The policies. SyncTurn is the default.
const (
	// SyncTurn makes an append durable before it returns, unless it is deferred.
	SyncTurn = journal.SyncTurn
	// SyncAlways makes deferred appends durable as well.
	SyncAlways = journal.SyncAlways
	// SyncNever leaves it to the system. A power cut may lose what was said.
	SyncNever = journal.SyncNever
)

// Options says how sessions are kept. The zero value is a good one.
type Options struct {
	Sync Policy
	// PartSize is when a transcript goes on in a new part file; 50 MB if zero.
	PartSize int64
	// MaxBytes bounds a transcript if not zero: ErrTooLarge beyond it.
	MaxBytes int64
	// MaxLine is how long a line of a transcript may be, in bytes; 64 MB if zero.
	// A longer one is not appended: ErrTooLarge. One that is there is read as a
	// gap.
	MaxLine int64
	// ReadOnly opens the home to look at it: nothing is created, repaired or
	// replayed, and appends are ErrUnsupported.
	ReadOnly bool
	// OpenFiles is how many transcripts are kept open to append to. Zero means
	// as many as the limit of file descriptors has room for, at most 1024.
	OpenFiles int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Report is told, in a sentence, of everything that was out of order and
	// what was done about it. It may be called from any goroutine and may use the
	// store, but not close it. Nil: nobody.
	Report func(message string)
	// Descriptors is told of idle files, which it has closed when descriptors run
	// out. FS must then be one that asks it. Nil means one for this store alone.
	Descriptors *limits.Pool
	// FS is for tests; nil means the operating system's files.
	FS vfs.FS
}

// mostOpenFiles bounds how many transcripts are kept open by default.
const mostOpenFiles = 1024

// Store keeps sessions in a home directory.
type Store struct {
	home      string
	fs        vfs.FS
	opts      Options
	dialect   dialect.Dialect
	committer *journal.Committer
	hub       *journal.Hub
	room      room

	mu       sync.Mutex
	sessions map[firn.ID]*session
	// dangling are sessions whose transcript is a link to a file that is not there, as
	// far as known; looked says that all directories were looked through for them.
	dangling map[firn.ID]transcript
	looked   sync.Once
	long     journal.LongLines
	rows     *rowcache.Cache
	tables   map[string]*table
	clock    uint64 // counts uses, to find the session used longest ago
	closed   bool
	life     context.Context // ends on Close
	die      context.CancelFunc
	working  sync.WaitGroup
	reports  reports
	moving   sync.Mutex // see alone
	settled  sync.Map   // the agents whose directory is durable; see settle
	touches  touches
	unlist   func() // takes the store out of Options.Descriptors
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Deferred = (*Store)(nil)
	_ store.Keyed    = (*Store)(nil)
	_ store.Claimer  = (*Store)(nil)
	_ store.Unbinder = (*Store)(nil)
	_ store.Remover  = (*Store)(nil)
)

// Open opens a home, and makes it if need be. What a power cut took from
// transcripts and the commit log still has is put back first.
func Open(home string, opts Options) (*Store, error) {
	if opts.FS == nil {
		opts.FS = vfs.OS{}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Descriptors == nil {
		opts.Descriptors = new(limits.Pool)
		opts.FS = opts.Descriptors.FS(opts.FS)
	}
	if opts.OpenFiles <= 0 {
		opts.OpenFiles = min(mostOpenFiles, limits.Current().Transcripts)
	}
	if opts.MaxLine <= 0 {
		opts.MaxLine = journal.DefaultMaxLine
	}
	if opts.Report == nil {
		opts.Report = func(string) {}
	}
	home, err := filepath.Abs(home)
	if err != nil {
		return nil, fmt.Errorf("open home: %w", err)
	}
	st := &Store{
		home: home, fs: opts.FS, opts: opts, dialect: native.New(),
		sessions: make(map[firn.ID]*session), tables: make(map[string]*table),
		hub:  journal.NewHub(),
		rows: rowcache.New(opts.FS, filepath.Join(home, "index"), opts.ReadOnly),
	}
	st.life, st.die = context.WithCancel(context.Background())
	st.unlist = opts.Descriptors.OnShort(st.closeIdle)
	if opts.ReadOnly {
		return st, st.lookAtLogs()
	}
	if err := st.fs.MkdirAll(home); err != nil {
		st.unlist()
		return nil, fmt.Errorf("open home %s: %w", home, err)
	}
	committer, replayed, err := journal.NewCommitter(st.fs, home)
	for _, r := range replayed {
		st.report("%s", describeReplay(r))
	}
	if err != nil {
		st.unlist()
		return nil, fmt.Errorf("open home %s: %w", home, err)
	}
	st.committer = committer
	return st, nil
}

func describeReplay(r journal.Replayed) string {
	if r.SavedTo != "" {
		return fmt.Sprintf("%s: the commit log was not replayed: %s; what it had is saved as %s", r.Path, r.Skipped, filepath.Base(r.SavedTo))
	}
	if r.Skipped != "" {
		return fmt.Sprintf("%s: the commit log was not replayed: %s", r.Path, r.Skipped)
	}
	return fmt.Sprintf("%s: %d bytes were put back from the commit log", r.Path, r.Restored)
}

// lookAtLogs says if a home that is only looked at lacks what a log has.
func (st *Store) lookAtLogs() error {
	n, err := journal.PendingLogs(st.fs, st.home)
	if err != nil {
		return fmt.Errorf("open home %s: %w", st.home, err)
	}
	if n > 0 {
		st.report("%d commit logs wait to be replayed; open the home for writing once", n)
	}
	return nil
}

// Home is the directory the store keeps its files in.
func (st *Store) Home() string { return st.home }

func (st *Store) report(format string, args ...any) { st.opts.Report(fmt.Sprintf(format, args...)) }

// begin refuses to go on if the store is closed or the context done. What it
// admits must be ended with st.end.
func (st *Store) begin(ctx context.Context) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return fmt.Errorf("file store %s: %w", st.home, firn.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	st.working.Add(1)
	return nil
}

// beginChange is begin for what writes.
func (st *Store) beginChange(ctx context.Context) error {
	if st.opts.ReadOnly {
		return fmt.Errorf("file store %s: %w: it was opened to be read only", st.home, firn.ErrUnsupported)
	}
	return st.begin(ctx)
}

// Close waits for what is under way, ends followers and frees all files.
func (st *Store) Close() error {
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return nil
	}
	st.closed = true
	st.die()
	st.mu.Unlock()
	st.working.Wait()
	st.unlist()
	st.touches.close()
	st.tellTables()

	var errs []error
	for _, s := range st.sessions {
		st.closeSession(s)
	}
	for _, t := range st.tables {
		errs = append(errs, t.close())
	}
	if st.committer != nil {
		errs = append(errs, st.committer.Close())
	}
	errs = append(errs, st.hub.Close())
	st.reports.pass(st.opts.Report)
	return errors.Join(errs...)
}
