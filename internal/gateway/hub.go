package gateway

import (
	"sync"

	"firn.dev"
	"firn.dev/wire"
)

// hub tells what happens to all who listen. It never waits for a listener: who
// is too slow is told that there is a gap, and then nothing more.
type hub struct {
	mu sync.Mutex
	// listeners are those who listen to a session, by session; those who listen
	// to all are under the empty one.
	listeners map[firn.ID]map[*listener]struct{}
	closed    bool
	// told counts the events.
	told uint64
	// partials are the turns that run, and what was said in them that is not in
	// the log.
	partials map[firn.ID]*partial
	// out, if not nil, tells others than those who listen here.
	out func(wire.Event)
}

// listener is somebody who listens to one session, or to all.
type listener struct {
	// session is empty for all.
	session firn.ID
	events  chan wire.Event
	// slow is closed when an event had to be left out, gone when the hub is.
	slow, gone chan struct{}
	lagging    bool
	// since is how many events were told before it listened.
	since uint64
	// marks: it is told where the log is, too.
	marks bool
}

// backlog is how many events may wait for a listener.
const backlog = 512

// listen begins to listen. The caller must leave.
func (h *hub) listen(session firn.ID) *listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.admit(&listener{session: session})
}

// admit lets a listener in. The caller holds the lock.
func (h *hub) admit(l *listener) *listener {
	l.events, l.slow, l.gone = make(chan wire.Event, backlog), make(chan struct{}), make(chan struct{})
	l.since = h.told
	if h.closed {
		close(l.gone)
		return l
	}
	if h.listeners == nil {
		h.listeners = make(map[firn.ID]map[*listener]struct{})
	}
	if h.listeners[l.session] == nil {
		h.listeners[l.session] = make(map[*listener]struct{})
	}
	h.listeners[l.session][l] = struct{}{}
	return l
}

func (h *hub) leave(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners[l.session], l)
	if len(h.listeners[l.session]) == 0 {
		delete(h.listeners, l.session)
	}
}

// tell tells an event to those who listen to its session, and returns its
// number.
func (h *hub) tell(e wire.Event) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(e)
	h.pass(e)
	return h.spread(e)
}

// pass tells others. The caller holds the lock, so that they hear it in order.
func (h *hub) pass(e wire.Event) {
	if h.out != nil {
		h.out(e)
	}
}

// spread is tell for who holds the lock.
func (h *hub) spread(e wire.Event) uint64 {
	if e.Name != logReached {
		h.told++
	}
	h.pour(h.listeners[""], e)
	if e.Session != "" {
		h.pour(h.listeners[e.Session], e)
	}
	return h.told
}

// pour tells an event to some listeners.
func (h *hub) pour(listeners map[*listener]struct{}, e wire.Event) {
	for l := range listeners {
		if l.lagging || e.Name == logReached && !l.marks {
			continue
		}
		select {
		case l.events <- e:
		default:
			l.lagging = true
			close(l.slow)
		}
	}
}

// close tells all that there will be nothing more.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	for _, some := range h.listeners {
		for l := range some {
			close(l.gone)
		}
	}
	h.listeners = nil
}

// event makes an event. HTML and lines of transcripts travel as they are.
func event(name string, id firn.ID, data any) wire.Event {
	e := wire.Event{Name: name, Session: id}
	if data != nil {
		if spelt, err := wire.Spell(data); err == nil { // ours can always be spelt; a tool's arguments may not
			e.Data = spelt
		}
	}
	return e
}
