package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// document is a version of the table. It is immutable once shared.
type document struct {
	*object
	// raw is the content of the file it was read from, stamp identifies the version of that
	// file. saved is false if there is no file.
	raw   []byte
	stamp stamp
	saved bool
	// repaired is set if the document replaces a damaged file. If saved is set as well, the
	// damaged file is still in place.
	repaired bool
}

// row returns the row of a key if it points to a session.
func (d *document) row(key string) (row, bool) {
	value := d.get(key)
	if value == nil {
		return row{}, false
	}
	r, ok := parseRow(value)
	return r, ok && r.id() != ""
}

func (d *document) encode() []byte { return d.append(nil, 0) }

// fork returns a mutable copy.
func (d *document) fork() *document { return &document{object: d.object.clone()} }

// fill adds the rows of other for keys that d does not have.
func (d *document) fill(other *object) {
	for _, m := range other.members {
		if _, ok := d.at[m.name]; !ok {
			d.put(m)
		}
	}
}

// damage is the error for a file that is not a valid table.
type damage struct {
	path string
	// doc contains the rows before the damage.
	doc *document
	err error
}

func (d *damage) Error() string {
	return fmt.Sprintf("table %s is %v: %v", d.path, firn.ErrCorrupt, d.err)
}

// Unwrap returns firn.ErrCorrupt.
func (d *damage) Unwrap() error { return firn.ErrCorrupt }

// stamp identifies a version of a file, at the time it was read.
type stamp struct {
	info vfs.Info
	// reliable is set if the file was old enough when it was read that any later change has
	// a different modification time.
	reliable bool
}

// The clock resolution of file systems is a few milliseconds, or up to two seconds on some.
const (
	fineTick   = 100 * time.Millisecond
	coarseTick = 3 * time.Second
)

func newStamp(info vfs.Info, read time.Time) stamp {
	tick := fineTick
	if info.ModTime.Nanosecond() == 0 {
		tick = coarseTick
	}
	return stamp{info: info, reliable: read.Sub(info.ModTime) > tick}
}

// matches reports whether the file is unchanged.
func (s stamp) matches(now vfs.Info) bool { return s.reliable && sameVersion(s.info, now) }

func sameVersion(a, b vfs.Info) bool {
	return a.Same(b) && a.Size == b.Size && a.ModTime.Equal(b.ModTime)
}

// load returns the current table and reads the file only if it changed. A missing file is
// rebuilt. A *damage error means that the file is not a valid table. t.mu must be held.
func (t *table) load() (*document, error) {
	info, err := t.fs.Stat(t.path)
	if err == nil && t.doc != nil && t.doc.saved && t.doc.stamp.matches(info) {
		return t.doc, nil
	}
	var doc *document
	if err == nil {
		doc, err = t.read(t.doc)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if t.doc != nil && !t.doc.saved {
			return t.doc, nil
		}
		doc, err = t.rebuildMissing(t.doc)
	}
	if err != nil {
		return nil, err
	}
	if doc.saved && (t.doc == nil || !bytes.Equal(doc.raw, t.doc.raw)) {
		t.reportDuplicates(doc)
	}
	t.doc = doc
	return doc, nil
}

func (t *table) reportDuplicates(doc *document) {
	for _, key := range doc.duplicates {
		t.report("table %s has key %s more than once; the last one counts", t.path, key)
	}
}

// rereadPause is the interval for polling a file that may be being saved.
const rereadPause = 10 * time.Millisecond

// read reads the file. If it looks half written, read waits: an editor that saves in place
// truncates the file first.
func (t *table) read(last *document) (*document, error) {
	for waited := time.Duration(0); ; waited += rereadPause {
		doc, err := t.readOnce(last)
		var damaged *damage
		if !errors.As(err, &damaged) || waited >= 2*t.opts.EditGrace || time.Since(damaged.doc.stamp.info.ModTime) >= t.opts.EditGrace {
			return doc, err
		}
		time.Sleep(rereadPause)
	}
}

// readOnce reads the file. It is not parsed again if its content is that of last.
func (t *table) readOnce(last *document) (*document, error) {
	data, mark, err := t.readFile()
	if err != nil {
		return nil, err
	}
	if last != nil && last.saved && !last.repaired && bytes.Equal(last.raw, data) {
		same := *last
		same.stamp = mark
		return &same, nil
	}
	rows, err := parseObject(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	doc := &document{object: rows, raw: data, stamp: mark, saved: true}
	if err != nil {
		return nil, &damage{path: t.path, doc: doc, err: err}
	}
	return doc, nil
}

// readTries limits how often a file that changes during reading is read again.
const readTries = 5

// readFile reads a consistent version of the file.
func (t *table) readFile() (data []byte, mark stamp, err error) {
	for range readTries {
		var still bool
		data, mark, still, err = t.readStable()
		if err != nil || still {
			return data, mark, err
		}
	}
	mark.reliable = false
	return data, mark, nil
}

// readStable reads the file and reports whether it did not change meanwhile.
func (t *table) readStable() (data []byte, mark stamp, still bool, err error) {
	f, err := t.fs.Open(t.path, vfs.Read)
	if err != nil {
		return nil, stamp{}, false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	begun := time.Now()
	before, err := f.Stat()
	if err != nil {
		return nil, stamp{}, false, err
	}
	if data, err = io.ReadAll(f); err != nil {
		return nil, stamp{}, false, err
	}
	after, err := f.Stat()
	return data, newStamp(after, begun), sameVersion(before, after) && after.Size == int64(len(data)), err
}

// rebuildMissing returns the replacement of a missing table: a repaired document that is
// not saved yet, or a rebuilt one.
func (t *table) rebuildMissing(last *document) (*document, error) {
	if last != nil && !last.saved && last.repaired {
		return last, nil
	}
	doc, err := t.rebuild()
	if err == nil && len(doc.members) > 0 && (last == nil || last.saved) {
		t.report("table %s is missing; %s taken from the transcripts", t.path, describeKeys(len(doc.members)))
	}
	return doc, err
}

// describeKeys returns the number of keys with a verb, for messages.
func describeKeys(n int) string {
	if n == 1 {
		return "1 key was"
	}
	return fmt.Sprintf("%d keys were", n)
}

// rebuild returns a table rebuilt from the transcripts.
func (t *table) rebuild() (*document, error) {
	found, err := t.opts.Rebuild()
	if err != nil {
		return nil, fmt.Errorf("rebuild table %s from the transcripts: %w", t.path, err)
	}
	rows := &object{at: make(map[string]int)}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		r := newRow(found[key], time.Time{})
		rows.set(key, r.encode())
	}
	return &document{object: rows}, nil
}

// recoverRows returns the replacement of a damaged table: the rows before the damage, then
// the rows of the last good version, then those from the transcripts.
func (t *table) recoverRows(damaged *damage, last *document) (*document, error) {
	anew, err := t.rebuild()
	if err != nil {
		return nil, errors.Join(damaged, err)
	}
	doc := &document{object: &object{at: make(map[string]int)}, repaired: true}
	for _, m := range damaged.doc.members {
		if _, ok := parseRow(m.value); ok { // a number at the end may be truncated
			doc.put(m)
		}
	}
	if last != nil {
		doc.fill(last.object)
	}
	doc.fill(anew.object)
	return doc, nil
}

// setAside renames a damaged file and returns its new name. It never replaces an existing
// file.
func (t *table) setAside() (string, error) {
	base := t.path + ".corrupt-" + t.opts.Now().UTC().Format("20060102T150405Z")
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		_, err := t.fs.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, t.fs.Rename(t.path, name)
		}
		if err != nil {
			return "", err
		}
	}
}
