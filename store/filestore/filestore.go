// Package filestore stores sessions as plain JSONL files in a home directory that can be
// read, copied and searched with ordinary tools:
//
//	agents/<agent>/sessions/<id>.jsonl         a transcript, and its further parts
//	agents/<agent>/sessions/sessions.json      the sessions of keys
//	archive/<id>                               marks a session as archived
//	bin/<id>/                                  a removed session, with its manifest
//	receipts/                                  receipts of purges
//	commit/                                    appends that are not yet synced into their files
//	index/                                     caches, which may be deleted
//	.moving.lock                               held while a session is moved or purged
//
// The files are the only source of truth. Several processes may open the same home; file
// locks coordinate their appends. The package never changes bytes once written, except for
// a purge.
package filestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/limits"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// Policy determines when appended entries are synced to disk.
type Policy = journal.Policy

// Sync policies. SyncTurn is the default.
const (
	// SyncTurn makes an append durable before it returns, unless it is deferred.
	SyncTurn = journal.SyncTurn
	// SyncAlways makes deferred appends durable as well.
	SyncAlways = journal.SyncAlways
	// SyncNever leaves syncing to the operating system. A power failure may lose entries.
	SyncNever = journal.SyncNever
)

// Options configures a store. The zero value is a good default.
type Options struct {
	Sync Policy
	// PartSize is the maximum size of a part file in bytes; 50 MB if zero.
	PartSize int64
	// MaxBytes is the maximum size of a transcript; zero means no limit. Appends beyond it
	// fail with ErrTooLarge.
	MaxBytes int64
	// MaxLine is the maximum length of a line in bytes; 64 MB if zero. Appending a longer
	// one fails with ErrTooLarge. An existing longer line is read as a gap.
	MaxLine int64
	// RotateKeys is the size in bytes beyond which a key table, sessions.json, is backed up
	// before it changes, at most once a day; the three latest backups are kept. Zero means
	// never.
	RotateKeys int64
	// ReadOnly opens the home without creating, repairing or replaying anything. Appends
	// fail with ErrUnsupported.
	ReadOnly bool
	// OpenFiles is the number of transcripts kept open for appending. Zero means as many as
	// the file descriptor limit allows, at most 1024.
	OpenFiles int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Report is called with a message about every problem found and how it was handled. It
	// may be called from any goroutine and may use the store, but must not close it. It may
	// be nil.
	Report func(message string)
	// Descriptors closes idle files when descriptors run out. If it is set, FS must use it.
	// Nil means a pool for this store only.
	Descriptors *limits.Pool
	// NoCommitLog syncs each file instead of writing a commit log, which is not encrypted.
	// It is set for an encrypted home.
	NoCommitLog bool
	// FS is for tests and encrypted homes; nil means the operating system's files.
	FS vfs.FS
}

// maxOpenFiles limits the default of Options.OpenFiles.
const maxOpenFiles = 1024

// Store stores sessions in a home directory. Its methods are in the files of the parts that
// do their work; see parts.go.
type Store struct {
	*homeDir
	*openSessions
	*keyTables
	*inspection
	*mover
	*eraser
	*loader
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Deferred = (*Store)(nil)
	_ store.Keyed    = (*Store)(nil)
	_ store.Claimer  = (*Store)(nil)
	_ store.Unbinder = (*Store)(nil)
	_ store.Remover  = (*Store)(nil)
)

// Open opens a home, creating it if necessary. It first replays the commit log: it restores
// data that a power failure removed from transcripts.
func Open(home string, opts Options) (*Store, error) {
	if opts.FS == nil {
		opts.FS = sealfs.Home(home)
		opts.NoCommitLog = sealfs.Encrypted(home)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Descriptors == nil {
		opts.Descriptors = new(limits.Pool)
		opts.FS = opts.Descriptors.FS(opts.FS)
	}
	if opts.OpenFiles <= 0 {
		opts.OpenFiles = min(maxOpenFiles, limits.Current().Transcripts)
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
	st := newStore(home, opts)
	st.lifetime, st.cancel = context.WithCancel(context.Background())
	st.unregister = opts.Descriptors.OnShort(st.closeIdle)
	if opts.ReadOnly {
		return st, st.reportPendingLogs()
	}
	if err := st.fs.MkdirAll(home); err != nil {
		st.unregister()
		return nil, fmt.Errorf("open home %s: %w", home, err)
	}
	if opts.NoCommitLog {
		st.committer = new(journal.Committer)
		return st, nil
	}
	committer, replayed, err := journal.NewCommitter(st.fs, home)
	for _, r := range replayed {
		st.report("%s", describeReplay(r))
	}
	if err != nil {
		st.unregister()
		return nil, fmt.Errorf("open home %s: %w", home, err)
	}
	st.committer = committer
	return st, nil
}

func describeReplay(r journal.Replayed) string {
	if r.SavedTo != "" {
		return fmt.Sprintf("%s: the commit log was not replayed: %s; its content is saved as %s", r.Path, r.Skipped, filepath.Base(r.SavedTo))
	}
	if r.Skipped != "" {
		return fmt.Sprintf("%s: the commit log was not replayed: %s", r.Path, r.Skipped)
	}
	return fmt.Sprintf("%s: %d bytes were restored from the commit log", r.Path, r.Restored)
}

// reportPendingLogs reports commit logs that a read-only store cannot replay.
func (st *homeDir) reportPendingLogs() error {
	n, err := journal.PendingLogs(st.fs, st.home)
	if err != nil {
		return fmt.Errorf("open home %s: %w", st.home, err)
	}
	if n > 0 {
		st.report("%d commit logs wait to be replayed; open the home for writing once", n)
	}
	return nil
}

// Home returns the directory of the store.
func (st *Store) Home() string { return st.home }

func (st *homeDir) report(format string, args ...any) { st.opts.Report(fmt.Sprintf(format, args...)) }

// startCall returns an error if the store is closed or the context is done. After success
// the caller must call finishCall.
func (st *homeDir) startCall(ctx context.Context) error {
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

// startWrite is startCall for calls that write.
func (st *homeDir) startWrite(ctx context.Context) error {
	if st.opts.ReadOnly {
		return fmt.Errorf("file store %s: %w: it was opened to be read only", st.home, firn.ErrUnsupported)
	}
	return st.startCall(ctx)
}

// Close waits for running calls, ends followers and closes all files.
func (st *Store) Close() error {
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return nil
	}
	st.closed = true
	st.cancel()
	st.mu.Unlock()
	st.working.Wait()
	st.unregister()
	st.touches.close()
	st.updateTables()

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
	st.reports.flush(st.opts.Report)
	return errors.Join(errs...)
}
