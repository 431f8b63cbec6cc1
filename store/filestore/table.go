package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Files of a table, next to the transcripts.
const (
	tableName     = "sessions.json"
	tableLockName = ".sessions.lock"
)

// table is the key table of one agent: it maps keys to sessions and stores further fields
// for each key.
//
// The file is the source of truth: it is checked before every answer, and changes made by
// users or other processes take effect immediately. A key that is not in the file is
// unbound. If the file is missing, the table is rebuilt with Rebuild and saved with the
// first change. An unreadable file is renamed, never treated as empty.
//
// Foreign data is preserved byte for byte: unknown rows and fields, their order, numbers
// and formatting. New data is formatted like JSON.stringify(table, null, 2).
//
// All methods are safe for concurrent use, and many processes may use the file. A change is
// applied to the current file under a kernel lock, and the file is replaced atomically.
// Editors do not use that lock: an edit saved during a change, which takes milliseconds, is
// lost.
//
// Keys must be valid according to store.CheckKey.
type table struct {
	fs   vfs.FS
	dir  string
	path string
	opts tableOptions

	// write is held while the file is changed. It is acquired before mu.
	write            sync.Mutex
	tempFilesRemoved bool      // temporary files of killed writers were removed
	rotated          time.Time // the time of the latest known backup

	mu      sync.Mutex
	doc     *document // the version read last; nil before the first read
	order   tableOrder
	waiting map[string]*pendingRow
	queue   []*change
	timer   *time.Timer // set while a flush is scheduled
	failing bool        // the last flush failed, and that was reported
	closed  bool
	working sync.WaitGroup
}

// tableOptions configures a table. The zero value is a good default. The functions are
// called while the table is locked and must not use it.
type tableOptions struct {
	// Now is the clock of updatedAt; nil means time.Now.
	Now func() time.Time
	// ReadOnly prevents creating, renaming and writing files.
	ReadOnly bool
	// Rebuild returns the sessions of all keys according to the transcripts; nil means
	// there are none.
	Rebuild func() (map[string]firn.ID, error)
	// Debounce is the maximum delay before a touch is written; one second if zero.
	Debounce time.Duration
	// EditGrace is how long an unreadable file must be unmodified before it is treated as
	// damaged rather than as half saved by an editor; 200 ms if zero, no delay if negative.
	EditGrace time.Duration
	// Rotate is the size in bytes beyond which the table is backed up before a change; zero
	// means never.
	Rotate int64
	// Report is called with a message about every problem found and how it was handled. It
	// may be nil.
	Report func(message string)
}

const (
	defaultDebounce  = time.Second
	defaultEditGrace = 200 * time.Millisecond
)

// openTable returns the table of the directory. The file is read on first use, and the
// directory need not exist.
func openTable(fsys vfs.FS, dir string, opts tableOptions) *table {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Rebuild == nil {
		opts.Rebuild = func() (map[string]firn.ID, error) { return nil, nil }
	}
	if opts.Debounce <= 0 {
		opts.Debounce = defaultDebounce
	}
	if opts.EditGrace == 0 {
		opts.EditGrace = defaultEditGrace
	}
	if opts.Report == nil {
		opts.Report = func(string) {}
	}
	return &table{
		fs: fsys, dir: dir, path: filepath.Join(dir, tableName), opts: opts,
		waiting: make(map[string]*pendingRow),
	}
}

// lookup returns the session a key points to. ok is false if the key is unbound or its row
// is invalid.
func (t *table) lookup(key string) (id firn.ID, ok bool, err error) {
	r, ok, err := t.row(key)
	if !ok || err != nil {
		return "", false, err
	}
	return r.id(), true, nil
}

// unsaved reports whether the current table was rebuilt from the transcripts and not saved
// yet.
func (t *table) unsaved() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.doc != nil && !t.doc.saved
}

// row returns the row of a key, including pending changes.
func (t *table) row(key string) (r row, ok bool, err error) {
	err = t.view(func(doc *document) error {
		r, ok = t.rowOf(doc, key)
		return nil
	})
	if err != nil {
		return row{}, false, fmt.Errorf("look up key %s: %w", key, err)
	}
	return r, ok, nil
}

// keyed is a key and its row.
type keyed struct {
	key string
	row row
}

// keys returns all keys that point to a session, in file order.
func (t *table) keys() (all []keyed, err error) {
	err = t.view(func(doc *document) error {
		for _, m := range doc.members {
			if r, ok := t.rowOf(doc, m.name); ok {
				all = append(all, keyed{m.name, r})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return all, nil
}

// rowOf returns the row of a key in the document with pending changes applied. t.mu must be
// held.
func (t *table) rowOf(doc *document, key string) (row, bool) {
	r, ok := doc.row(key)
	if ok {
		t.waiting[key].apply(&r)
	}
	return r, ok
}

// view runs fn on the current table, with t.mu held.
func (t *table) view(fn func(doc *document) error) error {
	if err := t.startCall(); err != nil {
		return err
	}
	defer t.working.Done()
	t.mu.Lock()
	defer t.mu.Unlock()
	doc, err := t.load()
	var damaged *damage
	if errors.As(err, &damaged) {
		doc, err = t.repair(damaged)
	}
	if err != nil {
		return err
	}
	return fn(doc)
}

// repair replaces a damaged table on disk and returns the new one. If it cannot be written,
// the table is repaired in memory only, so that it can still be read.
func (t *table) repair(damaged *damage) (*document, error) {
	if t.doc != nil && t.doc.repaired && t.doc.saved && bytes.Equal(t.doc.raw, damaged.doc.raw) { // the same damage as before
		same := *t.doc
		same.stamp = damaged.doc.stamp
		t.doc = &same
		return t.doc, nil
	}
	if !t.opts.ReadOnly {
		t.mu.Unlock()
		err := t.change(nil)
		t.mu.Lock()
		if err != nil {
			t.report("%v", err)
		}
		doc, err := t.load()
		if !errors.As(err, &damaged) {
			return doc, err
		}
	}
	doc, err := t.recoverRows(damaged, t.doc)
	if err != nil {
		return nil, err
	}
	t.report("%v; continuing with %d keys restored from the table and the transcripts", damaged, len(doc.members))
	doc.raw, doc.stamp, doc.saved = damaged.doc.raw, damaged.doc.stamp, true
	t.doc = doc
	return doc, nil
}

// startCall returns an error if the table is closed. After success the caller must call
// t.working.Done.
func (t *table) startCall() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return fmt.Errorf("table %s: %w", t.path, firn.ErrClosed)
	}
	t.working.Add(1)
	return nil
}

// close waits for running calls and writes pending changes.
func (t *table) close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	if t.timer != nil && t.timer.Stop() {
		t.timer = nil
		t.working.Done()
	}
	t.mu.Unlock()
	t.working.Wait()
	return t.flush()
}

func (t *table) report(format string, args ...any) { t.opts.Report(fmt.Sprintf(format, args...)) }
