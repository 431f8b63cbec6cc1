package openaiapi

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"firn"
	"firn/wire"
)

// listener is told what happens in a turn.
type listener interface {
	// begin is called before anything else, and again and again while nothing
	// happens.
	begin()
	// text and think are pieces of what the model says, and says to itself. round
	// says that another answer begins.
	text(piece string, round bool)
	think(piece string)
}

// How long the answer waits for the first piece, so that an error has its
// status, and how often a quiet stream shows that it is alive.
const (
	held      = 2 * time.Second
	heartbeat = 15 * time.Second
)

// ahead is how many events may wait for a client that reads slowly.
const ahead = 256

// turn is one turn, as it is told to a client.
type turn struct {
	to listener
	// said is what the client was told of each round; the last is still going on.
	said []string
	// next says that the next piece begins a round, missed that pieces of this
	// one were lost on the way.
	next, missed bool
	answer       wire.Answer
}

// told is all that the client was told.
func (t *turn) told() firn.Message {
	m := firn.Message{Role: firn.RoleAssistant}
	if text := joinRounds(t.said); text != "" {
		m.Parts = append(m.Parts, firn.Text{Text: text})
	}
	for _, call := range t.answer.Pending {
		m.Parts = append(m.Parts, firn.ToolCall{ID: call.Call, Name: call.Name, Arguments: call.Arguments})
	}
	return m
}

// run answers what was not answered in a session, and tells to what happens. If
// the client goes away, the turn is stopped.
func (v *visit) run(p *placed, terms wire.Terms, to listener) (*turn, error) {
	id := p.at.session
	ctx, cancel := context.WithCancel(v.r.Context())
	events := v.follow(ctx, id, terms)
	defer func() {
		cancel()
		for range events { // it ends, and nobody is left behind
		}
	}()
	t := &turn{to: to, next: true}
	quiet := time.NewTimer(held)
	defer quiet.Stop()
	for {
		select {
		case h, ok := <-events:
			if !ok {
				return t, v.left(id)
			}
			if h.err != nil {
				return t, v.broke(p, t, h.err)
			}
			p.begun()
			if t.hear(h.event) {
				return t, nil
			}
		case <-quiet.C:
			to.begin()
			quiet.Reset(heartbeat)
		case <-v.r.Context().Done():
			return t, v.left(id)
		}
	}
}

// broke says why a turn could not be had to its end. That nothing is left to
// answer says that a turn of somebody else, in a session that is shared, has
// answered it: then that is the answer.
func (v *visit) broke(p *placed, t *turn, err error) error {
	if v.r.Context().Err() != nil {
		return v.left(p.at.session)
	}
	if !p.shared || wire.KindOf(err) != wire.Invalid {
		return err
	}
	found, look := v.answerTo(p.at.session, p.question)
	if look != nil || found.answer == "" {
		return err
	}
	t.answer = found.told(p.at.session)
	t.rest()
	return nil
}

// happened is an event of a turn, or why there are no more.
type happened struct {
	event wire.Event
	err   error
}

// follow runs a turn and tells what happens, until ctx ends.
func (v *visit) follow(ctx context.Context, id firn.ID, terms wire.Terms) <-chan happened {
	events := make(chan happened, ahead)
	go func() {
		defer close(events)
		for e, err := range v.c.StreamTurn(ctx, id, wire.Turn{Terms: &terms}) {
			select {
			case events <- happened{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

// stopping is how long it may take to stop a turn that nobody waits for.
const stopping = 5 * time.Second

// left stops the turn of a client that went away: nobody will read the answer.
func (v *visit) left(id firn.ID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.r.Context()), stopping)
	defer cancel()
	_, _ = v.c.Stop(ctx, id) // there is nobody to tell
	if cause := context.Cause(v.r.Context()); cause != nil {
		return cause
	}
	return &wire.Problem{Kind: wire.Internal, Message: "the turn broke off, and the gateway did not say why"}
}

// hear takes in what happened, and reports whether the turn is over.
func (t *turn) hear(e wire.Event) bool {
	switch e.Name {
	case wire.DeltaText:
		t.piece(dataOf[wire.Delta](e).Text)
	case wire.DeltaThinking:
		t.to.think(dataOf[wire.Delta](e).Text)
	case wire.ToolStarted, wire.ToolCompleted, wire.Retry:
		t.next = true
	case wire.Gap:
		t.missed = true
	case wire.TurnCompleted:
		t.answer = dataOf[wire.Answer](e)
		t.rest()
		return true
	}
	return false
}

// piece tells a piece of an answer.
func (t *turn) piece(text string) {
	if text == "" || t.missed {
		return
	}
	if t.next {
		t.said = append(t.said, "")
	}
	t.to.text(text, t.next && len(t.said) > 1)
	t.next = false
	t.said[len(t.said)-1] += text
}

// rest tells what of the answer was not told while it came.
func (t *turn) rest() {
	last := ""
	if n := len(t.said); n > 0 && !t.next {
		last = t.said[n-1]
	}
	missed := t.missed
	t.missed = false
	text := t.answer.Text
	switch {
	case t.answer.Silent || strings.TrimSpace(text) == "":
	case last == "":
		t.next = true
		t.piece(text)
	case missed && strings.HasPrefix(text, last):
		t.piece(text[len(last):])
	case missed:
		t.next = true
		t.piece(text)
	}
}

// dataOf reads what an event tells. What cannot be read is empty.
func dataOf[T any](e wire.Event) T {
	var data T
	_ = json.Unmarshal(e.Data, &data)
	return data
}

// plain is the listener of a client who waits for the whole answer.
type plain struct{}

func (plain) begin()            {}
func (plain) text(string, bool) {}
func (plain) think(string)      {}
