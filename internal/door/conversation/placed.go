package conversation

import (
	"slices"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/wire"
)

// Placed is a conversation in its session, with a message to be answered.
type Placed struct {
	At       Position
	Question firn.EntryID
	// opening and whole are the digests under which the conversation is remembered. opening
	// is empty if the client names the session, so that nothing needs to be remembered.
	opening string
	whole   digest
	// release unlocks the session. If shared is true, other clients use the session too,
	// and it stays locked until the answer is complete rather than until the turn has
	// started.
	release func()
	shared  bool
	// once is the conversation if it is answered without being stored.
	once *wire.Once
}

// Release unlocks the session. It must be called when the answer is complete.
func (p *Placed) Release() { p.release() }

// turnStarted unlocks the session once its turn has started, unless it is shared.
func (p *Placed) turnStarted() {
	if !p.shared {
		p.release()
	}
}

// Place appends the new part of a conversation to its session: the one the client names,
// the one that holds the earlier messages, or a new one. user distinguishes the client's
// own users; the conversation of one is never continued by another.
func (v *Request) Place(session, user string, who Choice, t *Transcript) (*Placed, error) {
	history, fresh := t.split()
	if len(fresh) == 0 {
		return nil, BadRequest("messages", "the last message is from the assistant: there is nothing to answer")
	}
	if t.IsEmpty() {
		return nil, BadRequest("messages", "empty message")
	}
	p := &Placed{whole: digest{}.with(t.Messages...)}
	var err error
	known := false
	if session != "" {
		var empty bool
		p.At, empty, err = v.resolveSession(session, who)
		known = !empty
	} else {
		p.opening = v.opening(user, who, t)
		if len(history) > 0 {
			p.At, known, err = v.find(p.opening, history)
		}
		if err == nil && !known {
			p.At, err = v.CreateSession(who, p.opening)
		} else if err == nil {
			err = v.CheckModel(&p.At, who)
		}
	}
	if err != nil {
		return nil, err
	}
	if !known {
		fresh = t.Messages
	} else if session != "" && len(fresh) > 1 {
		if fresh, err = v.withoutStored(p.At.Session, fresh); err != nil {
			return nil, err
		}
	}
	return p, v.appendNew(p, who, t.Instructions(), fresh, !known)
}

// withoutStored returns the new messages of a client without those that are stored already,
// because the turn that should have answered them failed. The last message is always new.
func (v *Request) withoutStored(id firn.ID, fresh []firn.Message) ([]firn.Message, error) {
	page, err := v.Client.EntriesPage(v.HTTP.Context(), id, client.EntryQuery{View: wire.ViewBranch, Back: true, Limit: unansweredEntries})
	if err != nil {
		return nil, err
	}
	var unanswered []firn.Message // latest first
	for _, e := range page.Items {
		entry, err := native.New().Decode(e.Line)
		if err != nil {
			continue // a gap
		}
		m, ok := entry.Body.(*firn.Message)
		if ok && m.Role == firn.RoleAssistant && m.Error == "" {
			break
		}
		if ok && m.Role != firn.RoleAssistant {
			unanswered = append(unanswered, *m)
		}
	}
	slices.Reverse(unanswered)
	n := len(unanswered)
	if n == 0 || n >= len(fresh) || !slices.EqualFunc(unanswered, fresh[:n], sameMessage) {
		return fresh, nil
	}
	return fresh[n:], nil
}

// unansweredEntries is how many entries at the end of a session are searched for messages
// without an answer.
const unansweredEntries = 50

// PlaceNew stores a conversation in a new session, including its system messages.
// instructions are those of this request only.
func (v *Request) PlaceNew(user string, who Choice, t *Transcript, instructions string) (*Placed, error) {
	p := &Placed{whole: digest{}.with(t.Messages...), opening: v.opening(user, who, t)}
	var err error
	if p.At, err = v.CreateSession(who, p.opening); err != nil {
		return nil, err
	}
	return p, v.appendNew(p, who, instructions, t.withSystem(), true)
}

// PlaceAt appends messages at a position, including system messages. instructions are those
// of this request only.
func (v *Request) PlaceAt(at Position, who Choice, t *Transcript, instructions string) (*Placed, error) {
	p := &Placed{At: at, whole: digest{}.with(t.Messages...)}
	return p, v.appendNew(p, who, instructions, t.withSystem(), false)
}

// appendNew appends the new messages, preceded by the other entries to keep of the request.
func (v *Request) appendNew(p *Placed, who Choice, instructions string, fresh []firn.Message, begins bool) error {
	var entries []firn.Entry
	if change, ok := who.change(p.At); ok {
		entries = append(entries, change)
	}
	if note, system := v.Keeper.instructed(instructions, p.At.system); system != p.At.system {
		p.At.system = system
		entries = append(entries, note)
	}
	entries = append(entries, v.Keeper.entriesOf(fresh, p.whole)...)
	p.Question = entries[len(entries)-1].ID
	if title := titleOf(fresh); begins && title != "" {
		entries = append(entries, firn.NewEntry(&firn.Title{Name: title, Source: firn.SourceAuto}))
	}
	var err error
	p.shared = p.At.Entry == ""
	if p.release, err = v.Keeper.holds.take(v.HTTP.Context(), p.At.Session); err != nil {
		return err
	}
	if p.At.Session, err = v.Put(p.At, who, entries); err != nil {
		p.release()
	}
	if who.Model != "" {
		p.At.model = who.Model
	}
	return err
}

// instructed returns the entry that stores a client's system instructions, and their
// digest. They are sent to the model with the request, not from the log.
func (k *Keeper) instructed(text, before string) (firn.Entry, string) {
	if text == "" {
		return firn.Entry{}, before
	}
	sum := digest{}.with(firn.Message{Role: firn.RoleSystem, Parts: TextPart(text)}).String()
	data, err := wire.Marshal(map[string]string{"text": text})
	if err != nil { // cannot happen: a string always marshals
		data = nil
	}
	return firn.NewEntry(&firn.Custom{Type: k.protocol + ".instructions", Data: data}), sum
}

// Entries returns the entries of a conversation that is stored without a turn.
func (k *Keeper) Entries(t *Transcript) []firn.Entry {
	return k.entriesOf(t.withSystem(), digest{}.with(t.Messages...))
}

// Remember records where a conversation continues.
func (v *Request) Remember(p *Placed, t *Turn) {
	if !p.Stored() {
		return
	}
	at := p.At
	at.Entry = t.Answer.Entry
	if p.opening != "" && at.Entry != "" {
		v.Keeper.memory.put(p.opening+p.whole.with(t.clientMessage()).String(), at)
	}
}

// RememberAs records where a conversation continues, also under a name of the protocol.
func (v *Request) RememberAs(name string, p *Placed, t *Turn) {
	v.Remember(p, t)
	if t.Answer.Entry != "" && p.Stored() {
		at := p.At
		at.Entry = t.Answer.Entry
		v.Keeper.memory.put(name, at)
	}
}

// Recall returns the position that was recorded under a name.
func (v *Request) Recall(name string) (Position, bool) { return v.Keeper.memory.get(name) }

// Forget removes the position that was recorded under a name.
func (v *Request) Forget(name string) { v.Keeper.memory.drop(name) }
