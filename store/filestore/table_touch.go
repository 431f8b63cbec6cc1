package filestore

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"firn.dev"
)

// pendingRow holds pending changes to the row of one key.
type pendingRow struct {
	// session is the session the key pointed to. If the key is bound to another one, the
	// changes are dropped.
	session firn.ID
	fields  []fieldChange
}

// fieldChange is a new value of a field; nil removes the field.
type fieldChange struct {
	name string
	// base is the value in the file. If the file has another value when the change is
	// written, that one wins.
	base, value []byte
	// inFlight is the value of a write whose outcome is unknown, if started is set. The
	// file may have this value too.
	inFlight []byte
	started  bool
	// taken is set when a write included the value.
	taken bool
}

// matches reports whether the field was changed only by us.
func (f *fieldChange) matches(now []byte) bool {
	return bytes.Equal(now, f.base) || f.started && bytes.Equal(now, f.inFlight)
}

// patch changes fields of an existing row that may be lost in a crash, such as counters and
// times. The change is visible immediately and written after about a second. A row that
// becomes too large is ErrTooLarge. The session cannot be changed; that is for bind.
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
	t.enqueue(key, file, &before, &after)
	return nil
}

// checkPatch rejects an invalid patch.
func checkPatch(before, after *row) error {
	if after.err != nil {
		return after.err
	}
	if after.id() != before.id() {
		return fmt.Errorf("%w change of the session", firn.ErrInvalid)
	}
	return after.check(len(before.encode()))
}

// enqueue adds the changes of a patch to the pending ones. t.mu must be held.
func (t *table) enqueue(key string, file, before, after *row) {
	w := t.waiting[key]
	if w == nil || w.session != file.id() {
		w = &pendingRow{session: file.id()}
	}
	for _, name := range fieldNames(before.fields, after.fields) {
		if value := after.get(name); !bytes.Equal(before.get(name), value) {
			w.set(name, file.get(name), value)
		}
	}
	if len(w.fields) > 0 {
		t.waiting[key] = w
		t.scheduleFlush()
	}
}

// scheduleFlush schedules a write of the pending changes. t.mu must be held.
func (t *table) scheduleFlush() {
	if t.timer != nil || t.closed {
		return
	}
	t.working.Add(1)
	t.timer = time.AfterFunc(t.opts.Debounce, func() {
		defer t.working.Done()
		t.mu.Lock()
		t.timer = nil
		t.mu.Unlock()
		t.reportFlush(t.flush())
	})
}

// flush writes the pending changes.
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
		return fmt.Errorf("write pending changes: %w", err)
	}
	return nil
}

// reportFlush reports the first failure in a row of failed flushes and schedules a retry.
func (t *table) reportFlush(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && !t.failing {
		t.report("%v; it will be tried again", err)
	}
	t.failing = err != nil
	if t.failing {
		t.scheduleFlush()
	}
}

// take returns a copy of the pending changes, to be written into the document.
func (t *table) take(doc *document) map[string]*pendingRow {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := make(map[string]*pendingRow, len(t.waiting))
	for key, w := range t.waiting {
		if r, ok := doc.row(key); ok && r.id() == w.session {
			w.markInFlight(&r)
		}
		taken[key] = &pendingRow{session: w.session, fields: slices.Clone(w.fields)}
	}
	return taken
}

// markInFlight records that the changes are about to be written to the row.
func (w *pendingRow) markInFlight(r *row) {
	for i := range w.fields {
		f := &w.fields[i]
		if now := r.fields.get(f.name); f.matches(now) {
			f.base = now
		}
		f.inFlight, f.started, f.taken = f.value, true, false
	}
}

// merge applies pending changes to a document and reports whether it changed.
func merge(doc *document, taken map[string]*pendingRow) bool {
	moved := false
	for key, w := range taken {
		if r, ok := doc.row(key); ok && w.apply(&r) {
			doc.set(key, r.encode())
			moved = true
		}
	}
	return moved
}

// forgetWritten drops pending changes that were written or are obsolete. Fields changed
// again in the meantime stay pending, based on the written values.
func (t *table) forgetWritten(taken map[string]*pendingRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, done := range taken {
		if w := t.waiting[key]; w != nil && w.session == done.session {
			w.markWritten(done)
			if len(w.fields) == 0 {
				delete(t.waiting, key)
			}
		}
	}
}

// markWritten removes the changes that were written.
func (w *pendingRow) markWritten(done *pendingRow) {
	w.fields = slices.DeleteFunc(w.fields, func(f fieldChange) bool {
		i := done.index(f.name)
		return i >= 0 && bytes.Equal(f.value, done.fields[i].value)
	})
	for i := range w.fields {
		f := &w.fields[i]
		if j := done.index(f.name); j >= 0 && done.fields[j].taken {
			f.base = done.fields[j].value
		}
		f.inFlight, f.started = nil, false
	}
}

func (w *pendingRow) index(name string) int {
	return slices.IndexFunc(w.fields, func(f fieldChange) bool { return f.name == name })
}

// set sets the new value of a field whose value in the file is now.
func (w *pendingRow) set(name string, now, value []byte) {
	i := w.index(name)
	switch {
	case i < 0:
		w.fields = append(w.fields, fieldChange{name: name, base: now, value: value})
	case w.fields[i].matches(now):
		w.fields[i].value = value
	default: // changed by others: continue from their value
		w.fields[i] = fieldChange{name: name, base: now, value: value}
	}
}

// apply applies the changes to a row, except for fields changed by others in the meantime.
// Of several times of use the latest wins. It reports whether the row changed.
func (w *pendingRow) apply(r *row) bool {
	if w == nil || r.id() != w.session {
		return false
	}
	moved := false
	for i := range w.fields {
		f := &w.fields[i]
		now := r.fields.get(f.name)
		f.taken = f.matches(now) || f.name == fieldUpdated && later(f.value, now)
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
