package view

import (
	"container/list"
	"sync"

	"firn.dev"
	"firn.dev/window"
)

// residentCache keeps live parts and shapes of sessions in memory, up to a number of bytes.
// Turns continue from live parts; views use shapes. The least recently used items are
// evicted first. A running turn holds its own copy, so eviction does not affect it.
type residentCache struct {
	mu    sync.Mutex
	limit int64
	used  int64
	kept  map[cacheKey]*list.Element
	// order has the most recently used item in front.
	order *list.List
}

// cacheKey identifies an item: the live part or the shape of a session.
type cacheKey struct {
	id    firn.ID
	shape bool
}

// cacheItem is the live part or the shape of a session.
type cacheItem struct {
	key   cacheKey
	path  window.Path
	shape *Shape
	size  int64
}

// defaultCacheBytes is the default limit of a cache.
const defaultCacheBytes = 64 << 20

func newResidentCache(limit int64) *residentCache {
	if limit <= 0 {
		limit = defaultCacheBytes
	}
	return &residentCache{limit: limit, kept: make(map[cacheKey]*list.Element), order: list.New()}
}

// Load returns the cached live part of a session.
func (t *residentCache) Load(id firn.ID) (window.Path, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.kept[cacheKey{id: id}]
	if !ok {
		return window.Path{}, false
	}
	t.order.MoveToFront(e)
	return e.Value.(*cacheItem).path, true
}

// Keep caches the live part of a session, unless it is larger than half the cache.
func (t *residentCache) Keep(id firn.ID, p window.Path) {
	size := SizeOf(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	key := cacheKey{id: id}
	t.drop(key)
	if size <= t.limit/2 {
		t.push(&cacheItem{key: key, path: p, size: size})
	}
}

// shape returns the cached shape of a session. If there is none, it adds and returns an
// empty one if create is set, and returns nil otherwise.
func (t *residentCache) shape(id firn.ID, create bool) *Shape {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := cacheKey{id: id, shape: true}
	if e, ok := t.kept[key]; ok {
		t.order.MoveToFront(e)
		return e.Value.(*cacheItem).shape
	}
	if !create {
		return nil
	}
	s := &Shape{id: id}
	t.push(&cacheItem{key: key, shape: s})
	return s
}

// grown updates the size of a shape. A shape larger than the limit is removed without
// evicting others.
func (t *residentCache) grown(s *Shape, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := cacheKey{id: s.id, shape: true}
	e, ok := t.kept[key]
	if !ok || e.Value.(*cacheItem).shape != s {
		return // it was evicted in the meantime
	}
	t.drop(key)
	if size <= t.limit {
		t.push(&cacheItem{key: key, shape: s, size: size})
	}
}

// Forget drops the items of a session, because something was erased or the session was
// moved.
func (t *residentCache) Forget(id firn.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(cacheKey{id: id})
	t.drop(cacheKey{id: id, shape: true})
}

// push adds an item as the most recently used one and evicts others if necessary.
func (t *residentCache) push(item *cacheItem) {
	t.kept[item.key] = t.order.PushFront(item)
	for t.used += item.size; t.used > t.limit; {
		t.drop(t.order.Back().Value.(*cacheItem).key)
	}
}

func (t *residentCache) drop(key cacheKey) {
	if e, ok := t.kept[key]; ok {
		t.used -= t.order.Remove(e).(*cacheItem).size
		delete(t.kept, key)
	}
}

// perEntry is the approximate overhead of an entry, in bytes.
const perEntry = 420

// SizeOf returns the approximate size of a path in memory, in bytes.
func SizeOf(p window.Path) int64 {
	size := int64(perEntry)
	for i := range p.Entries {
		size += perEntry + sizeOfFields(p.Entries[i].Extra)
		switch b := p.Entries[i].Body.(type) {
		case *firn.Message:
			size += sizeOfParts(b.Parts) + sizeOfFields(b.Extra)
		case *firn.CustomMessage:
			size += sizeOfParts(b.Parts) + int64(len(b.Details))
		case *firn.Compaction:
			size += int64(len(b.Summary) + len(b.Details))
		case *firn.BranchSummary:
			size += int64(len(b.Summary) + len(b.Details))
		case *firn.Custom:
			size += int64(len(b.Data))
		case *firn.Opaque:
			size += int64(len(b.Raw))
		}
	}
	return size
}

// sizeOfFields returns the size of extra fields. In an imported entry they contain the
// original line, which is as large as the rest.
func sizeOfFields(fields firn.Fields) int64 {
	size := int64(0)
	for _, f := range fields {
		size += int64(len(f.Name) + len(f.Value))
	}
	return size
}

func sizeOfParts(parts []firn.Part) int64 {
	const perPart = 64
	size := int64(0)
	for _, part := range parts {
		size += perPart
		switch p := part.(type) {
		case firn.Text:
			size += int64(len(p.Text) + len(p.Signature))
		case firn.Thinking:
			size += int64(len(p.Text) + len(p.Signature))
		case firn.Image:
			size += int64(len(p.Data))
		case firn.ToolCall:
			size += int64(len(p.Arguments))
		case firn.ToolResult:
			size += sizeOfParts(p.Content) + int64(len(p.Details))
		case firn.Shell:
			size += int64(len(p.Command) + len(p.Output))
		case firn.OpaquePart:
			size += int64(len(p.Raw))
		}
	}
	return size
}
