package conversation

import (
	"container/list"
	"sync"

	"firn.dev"
)

// memorySize is the number of conversations remembered.
const memorySize = 4096

// Position is where a conversation continues.
type Position struct {
	Session firn.ID
	// Entry is the parent of the next message; empty means the current head.
	Entry firn.EntryID
	// model is the model that answers there, and system the digest of its instructions, if
	// known.
	model, system string
}

// memory is an LRU cache of positions, keyed by the digest of a conversation or the ID of a
// response. Positions that were evicted are searched in the log.
type memory struct {
	mu    sync.Mutex
	size  int
	spots map[string]*list.Element
	order *list.List // of remembered, most recent first
}

type remembered struct {
	name string
	spot Position
}

func newMemory(size int) *memory {
	return &memory{size: size, spots: make(map[string]*list.Element), order: list.New()}
}

// get returns the position of a conversation.
func (m *memory) get(name string) (Position, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.spots[name]
	if !ok {
		return Position{}, false
	}
	m.order.MoveToFront(e)
	return e.Value.(remembered).spot, true
}

// put stores the position of a conversation.
func (m *memory) put(name string, s Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.spots[name]; ok {
		e.Value = remembered{name, s}
		m.order.MoveToFront(e)
		return
	}
	m.spots[name] = m.order.PushFront(remembered{name, s})
	for m.order.Len() > m.size {
		last := m.order.Back()
		m.order.Remove(last)
		delete(m.spots, last.Value.(remembered).name)
	}
}

// drop removes a conversation.
func (m *memory) drop(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.spots[name]; ok {
		m.order.Remove(e)
		delete(m.spots, name)
	}
}
