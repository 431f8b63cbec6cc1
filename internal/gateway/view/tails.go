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
type tails struct {
	mu    sync.Mutex
	limit int64
	used  int64
	kept  map[tailKey]*list.Element
	// order has the one used last in front.
	order *list.List
}

// tailKey names what is kept of a session: its live part or its shape.
type tailKey struct {
	id    firn.ID
	shape bool
}

// tail is the live part of one session, or its shape.
type tail struct {
	key   tailKey
	path  window.Path
	shape *Shape
	size  int64
}

// standardTails is how many bytes are kept if nobody says otherwise.
const standardTails = 64 << 20

func newTails(limit int64) *tails {
	if limit <= 0 {
		limit = standardTails
	}
	return &tails{limit: limit, kept: make(map[tailKey]*list.Element), order: list.New()}
}

// Load returns what is kept of a session.
func (t *tails) Load(id firn.ID) (window.Path, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.kept[tailKey{id: id}]
	if !ok {
		return window.Path{}, false
	}
	t.order.MoveToFront(e)
	return e.Value.(*tail).path, true
}

// Keep keeps the live part of a session, unless it is too large to be kept
// beside others.
func (t *tails) Keep(id firn.ID, p window.Path) {
	size := sizeOf(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tailKey{id: id}
	t.drop(key)
	if size <= t.limit/2 {
		t.push(&tail{key: key, path: p, size: size})
	}
}

// shape returns what is kept of the shape of a session, nil if nothing is. With
// make it is never nil: whoever comes first finds it empty.
func (t *tails) shape(id firn.ID, make bool) *Shape {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tailKey{id: id, shape: true}
	if e, ok := t.kept[key]; ok {
		t.order.MoveToFront(e)
		return e.Value.(*tail).shape
	}
	if !make {
		return nil
	}
	s := &Shape{id: id}
	t.push(&tail{key: key, shape: s})
	return s
}

// grown tells how large a shape is now. One that is too large to be kept at all
// is not, nor does it push others out.
func (t *tails) grown(s *Shape, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tailKey{id: s.id, shape: true}
	e, ok := t.kept[key]
	if !ok || e.Value.(*tail).shape != s {
		return // it was dropped meanwhile
	}
	t.drop(key)
	if size <= t.limit {
		t.push(&tail{key: key, shape: s, size: size})
	}
}

// Forget drops what is kept of a session, because something was erased or all of
// it is elsewhere now.
func (t *tails) Forget(id firn.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(tailKey{id: id})
	t.drop(tailKey{id: id, shape: true})
}

// push puts something in front, and lets go of what there is no room for.
func (t *tails) push(kept *tail) {
	t.kept[kept.key] = t.order.PushFront(kept)
	for t.used += kept.size; t.used > t.limit; {
		t.drop(t.order.Back().Value.(*tail).key)
	}
}

func (t *tails) drop(key tailKey) {
	if e, ok := t.kept[key]; ok {
		t.used -= t.order.Remove(e).(*tail).size
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
