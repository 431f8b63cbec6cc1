package openaiapi

import (
	"container/list"
	"sync"

	"firn"
)

// memorySize is how many conversations are remembered.
const memorySize = 4096

// spot is where a conversation goes on.
type spot struct {
	session firn.ID
	// entry is the one that the next message follows; empty is the head,
	// whatever that is.
	entry firn.EntryID
	// model is who answers there, and system the digest of what it was told, if
	// that is known.
	model, system string
}

// memory remembers where conversations go on, by what was said in them or by the
// id of a response. It forgets those that were not asked for the longest. What
// is forgotten is looked for in the log.
type memory struct {
	mu    sync.Mutex
	size  int
	spots map[string]*list.Element
	order *list.List // of remembered, the latest first
}

type remembered struct {
	name string
	spot spot
}

func newMemory(size int) *memory {
	return &memory{size: size, spots: make(map[string]*list.Element), order: list.New()}
}

// get tells where a conversation goes on.
func (m *memory) get(name string) (spot, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.spots[name]
	if !ok {
		return spot{}, false
	}
	m.order.MoveToFront(e)
	return e.Value.(remembered).spot, true
}

// put remembers where a conversation goes on.
func (m *memory) put(name string, s spot) {
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

// drop forgets a conversation.
func (m *memory) drop(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.spots[name]; ok {
		m.order.Remove(e)
		delete(m.spots, name)
	}
}
