package openaiapi

import (
	"firn.dev"
	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// A request with store: false is answered without a session, and nothing of it is written to
// disk. Its response cannot be retrieved or continued.

// unstored reports whether the client asks that nothing is stored.
func unstored(store *bool) bool { return store != nil && !*store }

// errStored rejects a request that names a session and must not be stored in it.
func errStored() error {
	return conversation.BadRequest("store", "store cannot be false in a conversation or a named session")
}

// choose sets the model of a turn without a session, which cannot remember it.
func choose(terms *wire.TurnOptions, who conversation.Choice) { terms.Model = who.Model }

// placeChat stores a chat in its session, or prepares it to be answered without one.
func (v *exchange) placeChat(q *chatRequest, who conversation.Choice, t *conversation.Transcript, terms *wire.TurnOptions) (*conversation.Placed, error) {
	name := v.SessionName(q.Metadata)
	switch {
	case !unstored(q.Store):
		return v.Place(name, q.User, who, t)
	case name != "":
		return nil, errStored()
	}
	choose(terms, who)
	t.System = nil // they are the instructions
	return v.PlaceOnce(conversation.Position{}, who, t)
}

// placeUnstored prepares a response that is not stored. It may continue one that is.
func (v *exchange) placeUnstored(q *responseRequest, who conversation.Choice, t *conversation.Transcript, terms *wire.TurnOptions) (*conversation.Placed, error) {
	if q.conversation() != "" || v.SessionName(q.Metadata) != "" {
		return nil, errStored()
	}
	if t.IsEmpty() {
		return nil, conversation.BadRequest("input", "empty input")
	}
	choose(terms, who)
	if q.Previous == "" {
		return v.PlaceOnce(conversation.Position{}, who, t)
	}
	at, err := v.endOfResponse(q.Previous, who)
	if err != nil {
		return nil, err
	}
	return v.PlaceOnce(at, who, t)
}

// nameSession sends the session of a conversation that is stored.
func (v *exchange) nameSession(p *conversation.Placed) {
	if p.Stored() {
		v.Header().Set("X-Firn-Session", string(p.At.Session))
	}
}

// locationOf returns where an answer is stored, nil if it is not.
func locationOf(p *conversation.Placed, entry firn.EntryID) *location {
	if !p.Stored() {
		return nil
	}
	return &location{Session: p.At.Session, Entry: entry}
}
