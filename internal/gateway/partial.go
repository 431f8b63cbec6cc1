package gateway

import (
	"cmp"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/wire"
)

// logReached is an internal event: the events after it follow from the log up to its
// position.
const logReached = "log.reached"

// partial is a running turn with the content that is not yet in the log.
type partial struct {
	started wire.Event
	// entry is the ID of the answer being generated.
	entry          firn.EntryID
	text, thinking strings.Builder
	tools          []wire.Tool
	// from is the gateway that runs the turn; empty if it is this one. holed is set if some
	// of its events were lost.
	from  string
	holed bool
}

// moment is a snapshot of a partial.
type moment struct {
	running bool
	started wire.Event
	wire.Partial
}

// listenTo adds a listener for a session and returns a snapshot of its running turn.
// Together they have no gap and no overlap.
func (h *hub) listenTo(session firn.ID) (*listener, moment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.add(&listener{session: session, marks: true}), h.partials[session].now()
}

// listenToAll adds a listener for all sessions and returns snapshots of the running turns.
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

// isRunning reports whether a turn of a session runs in this process or in a gateway that
// forwards its events.
func (h *hub) isRunning(id firn.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.partials[id] != nil
}

// now returns a snapshot. For a nil partial, running is false.
func (p *partial) now() moment {
	if p == nil {
		return moment{}
	}
	return moment{running: true, started: p.started, Partial: wire.Partial{Entry: p.entry, Text: p.text.String(), Thinking: p.thinking.String(), Tools: slices.Clone(p.tools)}}
}

// hasContent reports whether there is text or a running tool.
func (m *moment) hasContent() bool { return m.Text != "" || m.Thinking != "" || len(m.Tools) > 0 }

// publishTurn publishes a turn event and records content that is not in the log.
func (h *hub) publishTurn(id firn.ID, e agent.Event) {
	reported, ok := translate(id, e)
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
		h.forward(reported)
		h.broadcast(reported)
	}
}

// noteTurn records the start or the end of a turn. The caller holds mu.
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

// endTurn forgets the turn of a session, however it ended.
func (h *hub) endTurn(id firn.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.partials[id]; p != nil && p.from == "" {
		delete(h.partials, id)
	}
}

// note records a turn event. An answer is dropped when it is in the log or another one
// begins.
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
