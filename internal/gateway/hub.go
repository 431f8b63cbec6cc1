package gateway

import (
	"sync"

	"firn.dev"
	"firn.dev/wire"
)

// hub publishes events to listeners. It never blocks: a listener that is too slow is
// notified of a gap and receives nothing more.
type hub struct {
	mu sync.Mutex
	// listeners are the listeners by session; those for all sessions are under the empty
	// ID.
	listeners map[firn.ID]map[*listener]struct{}
	closed    bool
	// count is the number of published events.
	count uint64
	// partials are the running turns with the content that is not yet in the log.
	partials map[firn.ID]*partial
	// out, if not nil, forwards events to other gateways.
	out func(wire.Event)
}

// listener receives the events of one session, or of all.
type listener struct {
	// session is empty for all sessions.
	session firn.ID
	events  chan wire.Event
	// slow is closed when an event was dropped, gone when the hub is closed.
	slow, gone chan struct{}
	lagging    bool
	// since is the number of events published before the listener was added.
	since uint64
	// marks requests logReached events.
	marks bool
}

// backlog is the size of a listener's buffer, in events.
const backlog = 512

// listen adds a listener. The caller must call leave.
func (h *hub) listen(session firn.ID) *listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.add(&listener{session: session})
}

// add registers a listener. The caller holds mu.
func (h *hub) add(l *listener) *listener {
	l.events, l.slow, l.gone = make(chan wire.Event, backlog), make(chan struct{}), make(chan struct{})
	l.since = h.count
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

// publish sends an event to the listeners of its session and returns its sequence number.
func (h *hub) publish(e wire.Event) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteTurn(e)
	h.forward(e)
	return h.broadcast(e)
}

// forward sends an event to other gateways. The caller holds mu, which preserves the order.
func (h *hub) forward(e wire.Event) {
	if h.out != nil {
		h.out(e)
	}
}

// broadcast sends an event to the local listeners. The caller holds mu.
func (h *hub) broadcast(e wire.Event) uint64 {
	if e.Name != logReached {
		h.count++
	}
	h.send(h.listeners[""], e)
	if e.Session != "" {
		h.send(h.listeners[e.Session], e)
	}
	return h.count
}

// send sends an event to some listeners.
func (h *hub) send(listeners map[*listener]struct{}, e wire.Event) {
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

// close closes the hub and notifies all listeners.
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

// event returns an event. HTML and transcript lines are not escaped.
func event(name string, id firn.ID, data any) wire.Event {
	e := wire.Event{Name: name, Session: id}
	if data != nil {
		if encoded, err := wire.Marshal(data); err == nil { // our own data always encodes; a tool's arguments may not
			e.Data = encoded
		}
	}
	return e
}
