package gateway

import (
	"cmp"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/wire"
)

// logReached is told to who listens to a session, and not beyond: what comes
// next follows from what is in the log up to its position.
const logReached = "log.reached"

// partial is a turn that runs, and what was said in it that is not in the log.
type partial struct {
	started wire.Event
	// entry is the name of the answer that is being given.
	entry          firn.EntryID
	text, thinking strings.Builder
	tools          []wire.Tool
	// from is the gateway that runs it; empty if that is this one. holed: of what
	// it told something was missed.
	from  string
	holed bool
}

// moment is a partial as it was at a moment.
type moment struct {
	running bool
	started wire.Event
	wire.Partial
}

// listenTo begins to listen to a session, and returns what was said in its turn
// up to this moment: nothing is missing between the two, and nothing is in both.
func (h *hub) listenTo(session firn.ID) (*listener, moment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.add(&listener{session: session, marks: true}), h.partials[session].now()
}

// listenToAll begins to listen to all sessions, and returns what was said in the
// turns that run.
func (h *hub) listenToAll() (*listener, []moment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var running []moment
	for _, p := range h.partials {
		running = append(running, p.now())
	}
	slices.SortFunc(running, func(a, b moment) int { return cmp.Compare(a.started.Session, b.started.Session) })
	return h.add(&listener{}), running
}

// now is a partial as it is; of none, a moment at which nothing runs.
func (p *partial) now() moment {
	if p == nil {
		return moment{}
	}
	return moment{running: true, started: p.started, Partial: wire.Partial{Entry: p.entry, Text: p.text.String(), Thinking: p.thinking.String(), Tools: slices.Clone(p.tools)}}
}

// said reports whether something was said, or is being done.
func (m *moment) hasContent() bool { return m.Text != "" || m.Thinking != "" || len(m.Tools) > 0 }

// happens tells an event of a turn, and notes what is not in the log.
func (h *hub) publishTurn(id firn.ID, e agent.Event) {
	told, ok := translate(id, e)
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.partials[id]; p != nil {
		p.note(e)
	}
	if kept, isKept := e.(agent.Appended); isKept {
		reached := event(logReached, id, kept.Entry.ID)
		reached.Pos = kept.End
		h.forward(reached)
		h.broadcast(reached)
	}
	if ok {
		h.forward(told)
		h.broadcast(told)
	}
}

// note notes that a turn begins or ends. The caller holds the lock.
func (h *hub) noteTurn(e wire.Event) {
	switch e.Name {
	case wire.TurnStarted:
		if h.partials == nil {
			h.partials = make(map[firn.ID]*partial)
		}
		h.partials[e.Session] = &partial{started: e}
	case wire.TurnCompleted, wire.TurnFailed:
		delete(h.partials, e.Session)
	}
}

// over forgets the turn of a session, however it ended.
func (h *hub) endTurn(id firn.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.partials[id]; p != nil && p.from == "" {
		delete(h.partials, id)
	}
}

// note takes in what happens. An answer is forgotten when it is in the log, or
// when another begins.
func (p *partial) note(e agent.Event) {
	switch e := e.(type) {
	case agent.Delta:
		if e.Entry != p.entry {
			p.forget()
			p.entry = e.Entry
		}
		if e.Thinking {
			p.thinking.WriteString(e.Text)
		} else {
			p.text.WriteString(e.Text)
		}
	case agent.Appended:
		if e.Entry.ID == p.entry {
			p.forget()
		}
	case agent.ToolStarted:
		p.tools = append(p.tools, wire.Tool{Call: e.Call, Name: e.Name, Arguments: e.Arguments})
	case agent.ToolDone:
		p.tools = slices.DeleteFunc(p.tools, func(t wire.Tool) bool { return t.Call == e.Call })
	}
}

func (p *partial) forget() {
	p.entry = ""
	p.text.Reset()
	p.thinking.Reset()
}
