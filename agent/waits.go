package agent

import (
	"slices"
	"sync"

	"firn.dev"
)

// WaitGraph records which sessions wait for turns of which others, and rejects cycles. The zero
// value is ready to use. It is safe for concurrent use.
type WaitGraph struct {
	waiting sync.Mutex
	// awaits maps each session to those whose turns it waits for.
	awaits map[firn.ID][]firn.ID
}

// Await records that a session waits for a turn of another, until Awaited is called. It
// returns false if the other waits for the first, directly or indirectly, since neither
// could then continue.
func (w *WaitGraph) Await(id, other firn.ID) bool {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	if id == other || w.waitsFor(other, id) {
		return false
	}
	if w.awaits == nil {
		w.awaits = make(map[firn.ID][]firn.ID)
	}
	w.awaits[id] = append(w.awaits[id], other)
	return true
}

// Awaited removes the record made by Await.
func (w *WaitGraph) Awaited(id, other firn.ID) {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	left := w.awaits[id]
	if i := slices.Index(left, other); i >= 0 {
		left = slices.Delete(left, i, i+1)
	}
	if w.awaits[id] = left; len(left) == 0 {
		delete(w.awaits, id)
	}
}

// waitsFor reports whether a session waits for another, directly or indirectly. There are
// no cycles, because Await rejects them.
func (w *WaitGraph) waitsFor(from, to firn.ID) bool {
	return slices.ContainsFunc(w.awaits[from], func(next firn.ID) bool { return next == to || w.waitsFor(next, to) })
}
