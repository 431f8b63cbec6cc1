package chat

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// watcher shows what other clients add to the session of a chat: messages of other
// terminals, browsers and channels, the answers to them while they are streamed, and moves
// of the head. With a gateway the text of an answer arrives as it is streamed. Without one it
// arrives twice a second, when the other process stores it in the log.
type watcher struct {
	c *chat
	// run is the goroutine that follows the session id; stop ends it.
	run  sync.WaitGroup
	stop context.CancelFunc
	id   firn.ID
	// known is the time of the last entry of a session of another tool when follow was
	// called. The first turn copies that session, and the copies of its entries follow.
	known time.Time
	// from is the session that was shown when the chat opened it, with its end then, and past
	// are the entries that were shown.
	from wire.Session
	past map[firn.EntryID]bool

	mu sync.Mutex
	// own are the entries of this chat.
	own map[firn.EntryID]bool
	// others is true if the latest user message is not of this chat.
	others bool
	// held are entries that arrived during a turn of this chat, and are shown after it.
	busy bool
	held []prose.Line
	// stream is the part of another client's answer that was shown before it was complete.
	stream streamed
}

// streamed is the shown part of an answer.
type streamed struct {
	answer firn.EntryID
	text   string
}

// follow shows the entries that are added to a session after its end, until close or the next
// call. It does nothing if the session is followed already, or if the screen is not a
// terminal.
func (w *watcher) follow(ctx context.Context, s wire.Session) {
	if s.ID == w.id || s.ID == "" || !w.c.looping || !w.c.o.Terminal.In || w.c.o.Ephemeral {
		return
	}
	w.close()
	if w.from.ID != s.ID {
		w.past, w.others = nil, false
	}
	w.id, w.known = s.ID, time.Time{}
	if isForeign(s) {
		w.known = s.Updated
	}
	after := s.End
	if w.from.ID == s.ID {
		after = min(after, w.from.End)
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.run.Go(func() {
		for e, err := range w.c.client.Events(ctx, s.ID, after) {
			if err != nil {
				return // the chat reports a lost gateway itself
			}
			w.event(e)
		}
	})
}

// event shows an event if it is of another client.
func (w *watcher) event(e wire.Event) {
	switch e.Name {
	case wire.EntryAppended, wire.HeadMoved:
		w.entry(wire.DataOf[wire.Entry](e))
	case wire.DeltaText:
		d := wire.DataOf[wire.Delta](e)
		w.part(d.Entry, d.Text)
	case wire.TurnPartial: // a turn was running when the session was opened, or at a reconnect
		p := wire.DataOf[wire.Partial](e)
		w.partial(p.Entry, p.Text)
	case wire.TurnFailed, wire.TurnCompleted:
		w.mu.Lock()
		w.endStream()
		w.mu.Unlock()
	}
}

// part shows a part of another client's answer.
func (w *watcher) part(answer firn.EntryID, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.grow(answer, text)
}

// partial shows the text of another client's answer so far, without the part of it that is
// shown already.
func (w *watcher) partial(answer firn.EntryID, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stream.answer == answer {
		rest, ok := strings.CutPrefix(text, w.stream.text)
		if !ok {
			w.endStream()
		}
		text = rest
	}
	w.grow(answer, text)
}

// grow adds text to the answer that is being shown. The caller holds mu.
func (w *watcher) grow(answer firn.EntryID, text string) {
	s := &w.stream
	if !w.others || w.own[answer] || w.busy || text == "" {
		return
	}
	if s.answer != answer {
		w.endStream()
		*s = streamed{answer: answer}
	}
	s.text += text
	w.c.screen.answer(text)
}

// endStream ends the answer that is being shown. The caller holds mu.
func (w *watcher) endStream() {
	if w.stream.text != "" {
		w.c.screen.endAnswer()
	}
	w.stream = streamed{}
}

// shown records the entries of a session that the chat has shown, latest first. s was read
// before them: what others add after it is shown, unless it is among them. shown stops
// following the session before it.
func (w *watcher) shown(s wire.Session, latest []prose.Line) {
	w.close()
	w.from, w.past = s, make(map[firn.EntryID]bool, len(latest))
	w.others = false
	for _, l := range slices.Backward(latest) {
		w.past[l.ID] = true
		if l.Message != nil {
			w.others = l.Message.Role == string(firn.RoleUser) || l.Message.Role == string(firn.RoleToolResult) // an answer may follow
		}
	}
}

// close stops following.
func (w *watcher) close() {
	if w.stop != nil {
		w.stop()
		w.run.Wait()
	}
	w.stop, w.id = nil, ""
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endStream()
}

// retries marks the answers that follow as those of this chat, which asks for one without a
// message of its own. An answer of another client that is being shown is not cut off.
func (w *watcher) retries() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stream.text == "" {
		w.others = false
	}
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
	if !w.busy {
		w.endStream()
	}
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
	if !ok || w.past[l.ID] || !w.known.IsZero() && !l.Timestamp.After(w.known) {
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
		ok = w.others && !own && l.Message.Role == string(firn.RoleAssistant)
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
		screen.answer(w.rest(l))
		screen.endAnswer()
	}
}

// rest returns the part of an answer that was not shown while it was streamed. An answer
// that differs from what was shown is shown in full.
func (w *watcher) rest(l prose.Line) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, text := w.stream, l.Message.Text()
	if rest, ok := strings.CutPrefix(text, s.text); ok && s.answer == l.ID {
		w.stream = streamed{}
		return rest
	}
	w.endStream()
	return text
}
