package agent

import (
	"slices"
	"sync"

	"firn.dev"
)

// Waits records which session waits for a turn of which other one, and refuses
// circles. The zero value is ready. It may be used from many goroutines.
type Waits struct {
	waiting sync.Mutex
	// awaits names, for each session, those whose turns it waits for.
	awaits map[firn.ID][]firn.ID
}

// Await notes that a session waits for a turn of another, until Awaited is
// called. It refuses if the other waits for the first, over whatever corners:
// then neither would ever get on.
func (w *Waits) Await(id, other firn.ID) bool {
	w.waiting.Lock()
	defer w.waiting.Unlock()
	if id == other || w.leads(other, id) {
		return false
	}
	if w.awaits == nil {
		w.awaits = make(map[firn.ID][]firn.ID)
	}
	w.awaits[id] = append(w.awaits[id], other)
	return true
}

// Awaited ends what Await noted.
func (w *Waits) Awaited(id, other firn.ID) {
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

// leads reports whether a session waits for another. There are no circles,
// since Await lets none begin.
func (w *Waits) leads(from, to firn.ID) bool {
	return slices.ContainsFunc(w.awaits[from], func(next firn.ID) bool { return next == to || w.leads(next, to) })
}
