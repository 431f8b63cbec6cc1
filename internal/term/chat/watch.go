package chat

import (
	"context"
	"strings"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// watcher shows what other clients add to the session of a chat: messages of other
// terminals, browsers and channels, the answers to them, and moves of the head. It works
// with a gateway and without one, because it follows the log.
type watcher struct {
	c *chat
	// run is the goroutine that follows the session id; stop ends it.
	run  sync.WaitGroup
	stop context.CancelFunc
	id   firn.ID
	// known is the time of the last entry of a session of another tool when follow was
	// called. The first turn copies that session, and the copies of its entries follow.
	known time.Time

	mu sync.Mutex
	// own are the entries of this chat.
	own map[firn.EntryID]bool
	// others is true if the latest user message is not of this chat.
	others bool
	// held are entries that arrived during a turn of this chat, and are shown after it.
	busy bool
	held []prose.Line
}

// follow shows the entries that are added to a session after its end, until close or the next
// call. It does nothing if the session is followed already, or if the screen is not a
// terminal.
func (w *watcher) follow(ctx context.Context, s wire.Session) {
	if s.ID == w.id || s.ID == "" || !w.c.looping || !w.c.o.Terminal.In || w.c.o.Ephemeral {
		return
	}
	w.close()
	w.id, w.known = s.ID, time.Time{}
	if isForeign(s) {
		w.known = s.Updated
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.run.Go(func() {
		for e, err := range w.c.client.Events(ctx, s.ID, s.End) {
			if err != nil {
				return // the chat reports a lost gateway itself
			}
			if e.Name == wire.EntryAppended || e.Name == wire.HeadMoved {
				w.entry(wire.DataOf[wire.Entry](e))
			}
		}
	})
}

// close stops following.
func (w *watcher) close() {
	if w.stop != nil {
		w.stop()
		w.run.Wait()
	}
	w.stop, w.id = nil, ""
}

// mine marks an entry as one of this chat.
func (w *watcher) mine(id firn.EntryID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.own == nil {
		w.own = make(map[firn.EntryID]bool)
	}
	w.own[id] = true
}

// hold keeps entries back while a turn of this chat prints, and release shows them.
func (w *watcher) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = true
}

func (w *watcher) release() {
	w.mu.Lock()
	held := w.held
	w.busy, w.held = false, nil
	w.mu.Unlock()
	for _, l := range held {
		if w.isOthers(l.ID) {
			w.show(l)
		}
	}
}

// isOthers reports whether an entry is not of this chat.
func (w *watcher) isOthers(id firn.EntryID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.own[id]
}

// entry shows an entry if another client added it.
func (w *watcher) entry(e wire.Entry) {
	l, ok := prose.ReadLine(e.Line)
	if !ok || !w.known.IsZero() && !l.Timestamp.After(w.known) {
		return
	}
	w.mu.Lock()
	own := w.own[l.ID]
	switch {
	case l.Message == nil:
		ok = firn.Kind(l.Type) == firn.KindHead && !own
	case l.Message.Role == string(firn.RoleUser):
		w.others = !own
		ok = !own
	default:
		ok = w.others && l.Message.Role == string(firn.RoleAssistant)
	}
	if ok && w.busy {
		w.held, ok = append(w.held, l), false
	}
	w.mu.Unlock()
	if ok {
		w.show(l)
	}
}

// show prints an entry of another client.
func (w *watcher) show(l prose.Line) {
	screen := w.c.screen
	switch {
	case l.Message == nil:
		screen.note("· another client rewound this session; /history shows where it is")
	case l.Message.Role == string(firn.RoleUser):
		screen.note("· another client: %s", prose.OneLine(l.Message.Text(), 2000))
	case strings.TrimSpace(l.Message.Text()) != "":
		screen.answer(l.Message.Text())
		screen.endAnswer()
	}
}
