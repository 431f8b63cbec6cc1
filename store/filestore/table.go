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

// The files of a table, beside the transcripts.
const (
	tableName     = "sessions.json"
	tableLockName = ".sessions.lock"
)

// table is the routing table of one agent: which session a key points at, and
// what else people and programs keep under that key.
//
// The file is the truth, also while we run: it is looked at before every
// answer, and a change made by hand or by another process counts at once. A key
// that is not in it points nowhere. Only if there is no file at all is the
// table made anew from what Rebuild finds, and that is written with the first
// change. A file that cannot be read is set aside, never taken for empty.
//
// What is not ours stays as it is, to the byte: unknown rows, unknown fields,
// their order, numbers and layout. What we write looks like
// JSON.stringify(table, null, 2).
//
// All methods may be called from many goroutines and the file may be used by
// many processes. Changes are made to what the file says at that moment, under
// a kernel lock, and the file is replaced as a whole. An editor knows nothing
// of that lock: who saves in the very milliseconds of a change loses to it.
//
// Keys are such that store.CheckKey accepts them.
type table struct {
	fs   vfs.FS
	dir  string
	path string
	opts tableOptions

	// write is held by the one who changes the file. It is taken before mu.
	write sync.Mutex
	swept bool // remains of killed writers were removed

	mu      sync.Mutex
	doc     *document // what was read last; nil before the first time
	waiting map[string]*debounced
	queue   []*change
	timer   *time.Timer // set while a flush of what is waiting is to come
	failing bool        // the last flush failed, and that was told
	closed  bool
	working sync.WaitGroup
}

// tableOptions says how a table is kept. The zero value is a good one. The
// functions are called while the table is locked and must not use it.
type tableOptions struct {
	// Now is the clock of updatedAt; nil means time.Now.
	Now func() time.Time
	// ReadOnly keeps the table from creating, renaming or writing anything.
	ReadOnly bool
	// Rebuild tells, from the transcripts, which session each key points at;
	// nil means there are none.
	Rebuild func() (map[string]firn.ID, error)
	// Debounce is how long a touch may wait to be written; a second if zero.
	Debounce time.Duration
	// Settle is how long a damaged file must have been left alone before it is
	// taken for damaged and not for half saved by an editor; 200 ms if zero,
	// not at all if negative.
	Settle time.Duration
	// Report is told, in a sentence, of everything that was out of order and
	// what was done about it; nil: nobody.
	Report func(message string)
}

const (
	defaultDebounce = time.Second
	defaultSettle   = 200 * time.Millisecond
)

// openTable returns the table of the directory. Nothing is read before it is
// needed, and the directory need not exist.
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
	if opts.Settle == 0 {
		opts.Settle = defaultSettle
	}
	if opts.Report == nil {
		opts.Report = func(string) {}
	}
	return &table{
		fs: fsys, dir: dir, path: filepath.Join(dir, tableName), opts: opts,
		waiting: make(map[string]*debounced),
	}
}

// lookup returns the session that a key points at. ok is false if it points
// nowhere, or if its row is such that it could not be followed.
func (t *table) lookup(key string) (id firn.ID, ok bool, err error) {
	r, ok, err := t.row(key)
	if !ok || err != nil {
		return "", false, err
	}
	return r.id(), true, nil
}

// guessed reports whether the latest answer was made out of the transcripts and
// is not written down yet.
func (t *table) guessed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.doc != nil && !t.doc.saved
}

// row returns all that is kept under a key, with what waits to be written.
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

// keyed is a key and what is kept under it.
type keyed struct {
	key string
	row row
}

// keys returns all keys that point at a session, in the order of the file.
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

// rowOf is the row of a key as the document and what is waiting have it.
// t.mu must be held.
func (t *table) rowOf(doc *document, key string) (row, bool) {
	r, ok := doc.row(key)
	if ok {
		t.waiting[key].apply(&r)
	}
	return r, ok
}

// view runs fn on the table as it is now, with t.mu held.
func (t *table) view(fn func(doc *document) error) error {
	if err := t.begin(); err != nil {
		return err
	}
	defer t.working.Done()
	t.mu.Lock()
	defer t.mu.Unlock()
	doc, err := t.load()
	var damaged *damage
	if errors.As(err, &damaged) {
		doc, err = t.mend(damaged)
	}
	if err != nil {
		return err
	}
	return fn(doc)
}

// mend has a damaged table replaced on the disk and returns what is in its
// place. If that cannot be done, or must not, the table is made good in memory
// only: not being able to write is no reason not to read.
func (t *table) mend(damaged *damage) (*document, error) {
	if t.doc != nil && t.doc.mended && t.doc.saved && bytes.Equal(t.doc.raw, damaged.doc.raw) { // it is as damaged as before
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
	doc, err := t.recover(damaged, t.doc)
	if err != nil {
		return nil, err
	}
	t.report("%v; going on with %d keys made out of what is left and the transcripts", damaged, len(doc.members))
	doc.raw, doc.stamp, doc.saved = damaged.doc.raw, damaged.doc.stamp, true
	t.doc = doc
	return doc, nil
}

// begin refuses to go on if the table is closed. What it admits must be ended
// with t.working.Done.
func (t *table) begin() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return fmt.Errorf("table %s: %w", t.path, firn.ErrClosed)
	}
	t.working.Add(1)
	return nil
}

// close waits for what is under way and writes what is waiting.
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
