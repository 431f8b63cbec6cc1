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

// document is the table at one moment. Once it is handed on it is not changed.
type document struct {
	*object
	// raw is the file that it was read from, and stamp tells whether that is
	// still the one. saved is false if there is no file.
	raw   []byte
	stamp stamp
	saved bool
	// mended says that it stands for a damaged file: one that was set aside, or
	// if it is saved, the one that is still there.
	mended bool
}

// row returns the row of a key if it points at a session.
func (d *document) row(key string) (row, bool) {
	value := d.get(key)
	if value == nil {
		return row{}, false
	}
	r, ok := parseRow(value)
	return r, ok && r.id() != ""
}

func (d *document) encode() []byte { return d.append(nil, 0) }

// fork makes a copy to be changed.
func (d *document) fork() *document { return &document{object: d.object.clone()} }

// fill adds the rows of other keys.
func (d *document) fill(other *object) {
	for _, m := range other.members {
		if _, ok := d.at[m.name]; !ok {
			d.put(m)
		}
	}
}

// damage says that a file is no table.
type damage struct {
	path string
	// doc has what was whole before the damage.
	doc *document
	err error
}

func (d *damage) Error() string {
	return fmt.Sprintf("table %s is %v: %v", d.path, firn.ErrCorrupt, d.err)
}

// Unwrap makes damage an ErrCorrupt.
func (d *damage) Unwrap() error { return firn.ErrCorrupt }

// stamp tells a file from the same one changed. It is that of the time when
// the file was read.
type stamp struct {
	info vfs.Info
	// firm says that the file was old enough then: a later change has another
	// time for sure.
	firm bool
}

// Clocks of file systems tick every few milliseconds; some have whole or even
// seconds only.
const (
	fineTick   = 100 * time.Millisecond
	coarseTick = 3 * time.Second
)

func newStamp(info vfs.Info, read time.Time) stamp {
	tick := fineTick
	if info.ModTime.Nanosecond() == 0 {
		tick = coarseTick
	}
	return stamp{info: info, firm: read.Sub(info.ModTime) > tick}
}

// fits reports whether the file is still as it was.
func (s stamp) fits(now vfs.Info) bool { return s.firm && alike(s.info, now) }

func alike(a, b vfs.Info) bool {
	return a.Same(b) && a.Size == b.Size && a.ModTime.Equal(b.ModTime)
}

// load returns the table as the file has it now, and reads it only if it
// changed. If there is no file it is made anew. A *damage says that the file is
// no table. t.mu must be held.
func (t *table) load() (*document, error) {
	info, err := t.fs.Stat(t.path)
	if err == nil && t.doc != nil && t.doc.saved && t.doc.stamp.fits(info) {
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
		doc, err = t.missing(t.doc)
	}
	if err != nil {
		return nil, err
	}
	if doc.saved && (t.doc == nil || !bytes.Equal(doc.raw, t.doc.raw)) {
		t.reportTwice(doc)
	}
	t.doc = doc
	return doc, nil
}

func (t *table) reportTwice(doc *document) {
	for _, key := range doc.twice {
		t.report("table %s has key %s more than once; the last one counts", t.path, key)
	}
}

// settlePause is how often a file that somebody may be saving is looked at.
const settlePause = 10 * time.Millisecond

// read reads the file and waits if it seems to be half written: an editor that
// saves in place cuts the file to nothing first.
func (t *table) read(last *document) (*document, error) {
	for waited := time.Duration(0); ; waited += settlePause {
		doc, err := t.readOnce(last)
		var damaged *damage
		if !errors.As(err, &damaged) || waited >= 2*t.opts.Settle || time.Since(damaged.doc.stamp.info.ModTime) >= t.opts.Settle {
			return doc, err
		}
		time.Sleep(settlePause)
	}
}

// readOnce reads the file. What last has of it is not parsed again.
func (t *table) readOnce(last *document) (*document, error) {
	data, mark, err := t.readFile()
	if err != nil {
		return nil, err
	}
	if last != nil && last.saved && !last.mended && bytes.Equal(last.raw, data) {
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

// readTries bounds how often a file that changes while it is read is read.
const readTries = 5

// readFile reads the file as it was at one moment.
func (t *table) readFile() (data []byte, mark stamp, err error) {
	for range readTries {
		var still bool
		data, mark, still, err = t.readThrough()
		if err != nil || still {
			return data, mark, err
		}
	}
	mark.firm = false
	return data, mark, nil
}

// readThrough reads the file and tells whether it kept still meanwhile.
func (t *table) readThrough() (data []byte, mark stamp, still bool, err error) {
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
	return data, newStamp(after, begun), alike(before, after) && after.Size == int64(len(data)), err
}

// missing makes the table that a missing one should be. The last we know of
// may be one that was to be written in the place of a damaged one.
func (t *table) missing(last *document) (*document, error) {
	if last != nil && !last.saved && last.mended {
		return last, nil
	}
	doc, err := t.rebuild()
	if err == nil && len(doc.members) > 0 && (last == nil || last.saved) {
		t.report("table %s is missing; %s taken from the transcripts", t.path, keysWere(len(doc.members)))
	}
	return doc, err
}

// keysWere counts keys in a sentence.
func keysWere(n int) string {
	if n == 1 {
		return "1 key was"
	}
	return fmt.Sprintf("%d keys were", n)
}

// rebuild makes a table from what the transcripts tell.
func (t *table) rebuild() (*document, error) {
	found, err := t.opts.Rebuild()
	if err != nil {
		return nil, fmt.Errorf("make table %s anew from the transcripts: %w", t.path, err)
	}
	rows := &object{at: make(map[string]int)}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		r := newRow(found[key], time.Time{})
		rows.set(key, r.encode())
	}
	return &document{object: rows}, nil
}

// recover makes the table that a damaged one should be: the rows that are whole
// before the damage, then those of keys that we saw when it was last good, then
// those that the transcripts tell of.
func (t *table) recover(damaged *damage, last *document) (*document, error) {
	anew, err := t.rebuild()
	if err != nil {
		return nil, errors.Join(damaged, err)
	}
	doc := &document{object: &object{at: make(map[string]int)}, mended: true}
	for _, m := range damaged.doc.members {
		if _, ok := parseRow(m.value); ok { // a number at the end may be half of one
			doc.put(m)
		}
	}
	if last != nil {
		doc.fill(last.object)
	}
	doc.fill(anew.object)
	return doc, nil
}

// setAside renames a damaged file so that nobody takes it for the table, and
// returns its new name. It never replaces one that was set aside before.
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
