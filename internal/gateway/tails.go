package gateway

import (
	"container/list"
	"sync"

	"firn"
	"firn/window"
)

// tails keeps the live parts of sessions in memory, up to a number of bytes.
// What was used longest ago goes first. A session whose turn is running holds
// its own copy, so it is never taken away under it.
type tails struct {
	mu    sync.Mutex
	limit int64
	used  int64
	byID  map[firn.ID]*list.Element
	// order has the one used last in front.
	order *list.List
}

// tail is the live part of one session.
type tail struct {
	id   firn.ID
	path window.Path
	size int64
}

// standardTails is how many bytes are kept if nobody says otherwise.
const standardTails = 64 << 20

func newTails(limit int64) *tails {
	if limit <= 0 {
		limit = standardTails
	}
	return &tails{limit: limit, byID: make(map[firn.ID]*list.Element), order: list.New()}
}

// Load returns what is kept of a session.
func (t *tails) Load(id firn.ID) (window.Path, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.byID[id]
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
	t.drop(id)
	if size > t.limit/2 {
		return
	}
	t.byID[id] = t.order.PushFront(&tail{id, p, size})
	for t.used += size; t.used > t.limit; {
		t.drop(t.order.Back().Value.(*tail).id)
	}
}

// Forget drops what is kept of a session, because something was erased.
func (t *tails) Forget(id firn.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(id)
}

func (t *tails) drop(id firn.ID) {
	if e, ok := t.byID[id]; ok {
		t.used -= t.order.Remove(e).(*tail).size
		delete(t.byID, id)
	}
}

// perEntry is about what an entry costs besides its text.
const perEntry = 420

// sizeOf is about how many bytes a path takes up.
func sizeOf(p window.Path) int64 {
	size := int64(perEntry)
	for i := range p.Entries {
		size += perEntry
		switch b := p.Entries[i].Body.(type) {
		case *firn.Message:
			size += sizeOfParts(b.Parts)
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
