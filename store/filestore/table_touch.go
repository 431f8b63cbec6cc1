package filestore

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"firn.dev"
)

// debounced is what waits to be written to the row of one key.
type debounced struct {
	// session is the one that the key pointed at. If it points elsewhere by the
	// time of writing, the changes are about nothing any more.
	session firn.ID
	fields  []fieldChange
}

// fieldChange is a new value of a field. A nil value is none.
type fieldChange struct {
	name string
	// base is the value that the file had. If it has another one by the time
	// of writing, somebody changed it, and theirs counts.
	base, value []byte
	// flying is the value that a write was begun with, if flown is set. Until
	// we know how that ended, the file may have this one too.
	flying []byte
	flown  bool
	// taken is set when a write took the value along.
	taken bool
}

// fits reports whether nobody but us has changed the field.
func (f *fieldChange) fits(now []byte) bool {
	return bytes.Equal(now, f.base) || f.flown && bytes.Equal(now, f.flying)
}

// patch changes what is kept under a key that the file has a row for, for what
// may be lost in a crash: counters and times. It is seen at once and written
// within a second or so. A row that would become too large is ErrTooLarge;
// pointing the key elsewhere is for bind.
func (t *table) patch(doc *document, key string, file *row, change func(r *row)) error {
	if t.opts.ReadOnly {
		return fmt.Errorf("table %s: %w: it was opened to be read only", t.path, firn.ErrUnsupported)
	}
	before, _ := t.rowOf(doc, key)
	after := before.clone()
	change(&after)
	if err := checkPatch(&before, &after); err != nil {
		return err
	}
	t.wait(key, file, &before, &after)
	return nil
}

// checkPatch refuses a patch that is not one.
func checkPatch(before, after *row) error {
	if after.err != nil {
		return after.err
	}
	if after.id() != before.id() {
		return fmt.Errorf("%w change of the session", firn.ErrInvalid)
	}
	return after.check(len(before.encode()))
}

// wait keeps what a patch changed to be written later. t.mu must be held.
func (t *table) wait(key string, file, before, after *row) {
	w := t.waiting[key]
	if w == nil || w.session != file.id() {
		w = &debounced{session: file.id()}
	}
	for _, name := range fieldNames(before.fields, after.fields) {
		if value := after.get(name); !bytes.Equal(before.get(name), value) {
			w.set(name, file.get(name), value)
		}
	}
	if len(w.fields) > 0 {
		t.waiting[key] = w
		t.arm()
	}
}

// arm has what is waiting written in a while. t.mu must be held.
func (t *table) arm() {
	if t.timer != nil || t.closed {
		return
	}
	t.working.Add(1)
	t.timer = time.AfterFunc(t.opts.Debounce, func() {
		defer t.working.Done()
		t.mu.Lock()
		t.timer = nil
		t.mu.Unlock()
		t.tell(t.flush())
	})
}

// flush writes what is waiting.
func (t *table) flush() error {
	t.write.Lock()
	defer t.write.Unlock()
	t.mu.Lock()
	none := len(t.waiting) == 0
	t.mu.Unlock()
	if none {
		return nil
	}
	if err := t.commit(nil); err != nil {
		return fmt.Errorf("write what waits to be written: %w", err)
	}
	return nil
}

// tell reports how a flush went, once for each row of failures, and has a
// failed one tried again.
func (t *table) tell(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && !t.failing {
		t.report("%v; it will be tried again", err)
	}
	t.failing = err != nil
	if t.failing {
		t.arm()
	}
}

// take returns a copy of what is waiting, to be written into the document.
func (t *table) take(doc *document) map[string]*debounced {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := make(map[string]*debounced, len(t.waiting))
	for key, w := range t.waiting {
		if r, ok := doc.row(key); ok && r.id() == w.session {
			w.depart(&r)
		}
		taken[key] = &debounced{session: w.session, fields: slices.Clone(w.fields)}
	}
	return taken
}

// depart notes that the changes are about to be written to the row.
func (w *debounced) depart(r *row) {
	for i := range w.fields {
		f := &w.fields[i]
		if now := r.fields.get(f.name); f.fits(now) {
			f.base = now
		}
		f.flying, f.flown, f.taken = f.value, true, false
	}
}

// merge writes what was waiting into a document, and reports whether anything
// changed by it.
func merge(doc *document, taken map[string]*debounced) bool {
	moved := false
	for key, w := range taken {
		if r, ok := doc.row(key); ok && w.apply(&r) {
			doc.set(key, r.encode())
			moved = true
		}
	}
	return moved
}

// written forgets what was waiting and is written or has come to nothing. What
// was touched again meanwhile waits on, now based on what was written.
func (t *table) written(taken map[string]*debounced) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, done := range taken {
		if w := t.waiting[key]; w != nil && w.session == done.session {
			w.arrive(done)
			if len(w.fields) == 0 {
				delete(t.waiting, key)
			}
		}
	}
}

// arrive notes that changes were written.
func (w *debounced) arrive(done *debounced) {
	w.fields = slices.DeleteFunc(w.fields, func(f fieldChange) bool {
		i := done.index(f.name)
		return i >= 0 && bytes.Equal(f.value, done.fields[i].value)
	})
	for i := range w.fields {
		f := &w.fields[i]
		if j := done.index(f.name); j >= 0 && done.fields[j].taken {
			f.base = done.fields[j].value
		}
		f.flying, f.flown = nil, false
	}
}

func (w *debounced) index(name string) int {
	return slices.IndexFunc(w.fields, func(f fieldChange) bool { return f.name == name })
}

// set gives a field of which the file has the value now a new one.
func (w *debounced) set(name string, now, value []byte) {
	i := w.index(name)
	switch {
	case i < 0:
		w.fields = append(w.fields, fieldChange{name: name, base: now, value: value})
	case w.fields[i].fits(now):
		w.fields[i].value = value
	default: // somebody changed it, and we go on from there
		w.fields[i] = fieldChange{name: name, base: now, value: value}
	}
}

// apply makes the changes to a row, but for the fields that somebody else has
// changed meanwhile. Of the times of use the latest counts. It reports whether
// anything changed.
func (w *debounced) apply(r *row) bool {
	if w == nil || r.id() != w.session {
		return false
	}
	moved := false
	for i := range w.fields {
		f := &w.fields[i]
		now := r.fields.get(f.name)
		f.taken = f.fits(now) || f.name == fieldUpdated && later(f.value, now)
		if !f.taken {
			continue
		}
		if f.value == nil {
			r.fields.remove(f.name)
		} else {
			r.fields.set(f.name, f.value)
		}
		moved = moved || !bytes.Equal(now, f.value)
	}
	return moved
}

// later reports whether a is a later time than b.
func later(a, b []byte) bool {
	x, ok := millis(a)
	y, known := millis(b)
	return ok && known && x > y
}
