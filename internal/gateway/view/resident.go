package view

import (
	"container/list"
	"sync"

	"firn.dev"
	"firn.dev/window"
)

// tails keeps in memory, up to a number of bytes, what is needed of sessions
// again and again: their live parts, which turns go on from, and their shapes,
// which are looked at. What was used longest ago goes first. A session whose turn
// is running holds its own copy, so it is never taken away under it.
type residentCache struct {
	mu    sync.Mutex
	limit int64
	used  int64
	kept  map[cacheKey]*list.Element
	// order has the one used last in front.
	order *list.List
}

// tailKey names what is kept of a session: its live part or its shape.
type cacheKey struct {
	id    firn.ID
	shape bool
}

// tail is the live part of one session, or its shape.
type cacheItem struct {
	key   cacheKey
	path  window.Path
	shape *Shape
	size  int64
}

// standardTails is how many bytes are kept if nobody says otherwise.
const defaultCacheBytes = 64 << 20

func newResidentCache(limit int64) *residentCache {
	if limit <= 0 {
		limit = defaultCacheBytes
	}
	return &residentCache{limit: limit, kept: make(map[cacheKey]*list.Element), order: list.New()}
}

// Load returns what is kept of a session.
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

// Keep keeps the live part of a session, unless it is too large to be kept
// beside others.
func (t *residentCache) Keep(id firn.ID, p window.Path) {
	size := sizeOf(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	key := cacheKey{id: id}
	t.drop(key)
	if size <= t.limit/2 {
		t.push(&cacheItem{key: key, path: p, size: size})
	}
}

// shape returns what is kept of the shape of a session, nil if nothing is. With
// make it is never nil: whoever comes first finds it empty.
func (t *residentCache) shape(id firn.ID, make bool) *Shape {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := cacheKey{id: id, shape: true}
	if e, ok := t.kept[key]; ok {
		t.order.MoveToFront(e)
		return e.Value.(*cacheItem).shape
	}
	if !make {
		return nil
	}
	s := &Shape{id: id}
	t.push(&cacheItem{key: key, shape: s})
	return s
}

// grown tells how large a shape is now. One that is too large to be kept at all
// is not, nor does it push others out.
func (t *residentCache) grown(s *Shape, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := cacheKey{id: s.id, shape: true}
	e, ok := t.kept[key]
	if !ok || e.Value.(*cacheItem).shape != s {
		return // it was dropped meanwhile
	}
	t.drop(key)
	if size <= t.limit {
		t.push(&cacheItem{key: key, shape: s, size: size})
	}
}

// Forget drops what is kept of a session, because something was erased or all of
// it is elsewhere now.
func (t *residentCache) Forget(id firn.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(cacheKey{id: id})
	t.drop(cacheKey{id: id, shape: true})
}

// push puts something in front, and lets go of what there is no room for.
func (t *residentCache) push(kept *cacheItem) {
	t.kept[kept.key] = t.order.PushFront(kept)
	for t.used += kept.size; t.used > t.limit; {
		t.drop(t.order.Back().Value.(*cacheItem).key)
	}
}

func (t *residentCache) drop(key cacheKey) {
	if e, ok := t.kept[key]; ok {
		t.used -= t.order.Remove(e).(*cacheItem).size
		delete(t.kept, key)
	}
}

// perEntry is about what an entry costs besides its text.
const perEntry = 420

// sizeOf is about how many bytes a path takes up.
func sizeOf(p window.Path) int64 {
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

// sizeOfFields counts what is carried along: of an imported entry that is the line
// of the other tool, which is as long as all the rest.
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
