package conversation

import (
	"bytes"
	"encoding/json"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/wire"
)

// Limits of the search for a conversation in the log: the number of sessions with the same
// opening, and how far back each is read.
const (
	mostSessions = 20
	mostEntries  = 5000
)

// opening returns the digest of the beginning of a client's conversation. It is part of the
// session key, so that sessions with the same beginning can be found.
func (v *Request) opening(user string, who Choice, t *Transcript) string {
	first := digest{}
	for i, m := range t.Messages {
		if m.Role == firn.RoleAssistant {
			first = first.with(t.Messages[:i]...)
			break
		}
		if i == len(t.Messages)-1 {
			first = first.with(t.Messages...)
		}
	}
	salt := firn.Message{Role: "client", Parts: []firn.Part{firn.Text{Text: strings.Join([]string{v.Who, user, who.Agent, who.Model}, "\x00")}}}
	return first.with(salt).String()[:16]
}

// find returns where a conversation that ends with an answer continues, from memory or from
// the log. It returns false if the conversation is unknown or too old.
func (v *Request) find(opening string, history []firn.Message) (Position, bool, error) {
	whole := digest{}.with(history...)
	if at, ok := v.Keeper.memory.get(opening + whole.String()); ok {
		return at, true, nil
	}
	asked := digest{}.with(history[:len(history)-1]...)
	answer := history[len(history)-1]
	for s, err := range v.Client.Sessions(v.HTTP.Context(), client.Query{Text: v.Keeper.protocol + ":" + opening, Limit: mostSessions}) {
		if err != nil {
			return Position{}, false, err
		}
		entry, err := v.findIn(s.ID, asked.String(), answer)
		if err != nil {
			return Position{}, false, err
		}
		if entry != "" {
			return Position{Session: s.ID, Entry: entry}, true, nil
		}
	}
	return Position{}, false, nil
}

// findIn searches a session for an answer to the question marked with digest asked. It
// reads from the end, where the question most likely is.
func (v *Request) findIn(id firn.ID, asked string, answer firn.Message) (firn.EntryID, error) {
	b := newBranch(v.Keeper)
	needle := []byte(`"` + asked + `"`)
	for e, err := range v.Client.Entries(v.HTTP.Context(), id, client.EntryQuery{View: wire.ViewDisk, Back: true, Limit: mostEntries}) {
		if err != nil {
			return "", err
		}
		entry, err := native.New().Decode(e.Line)
		if err != nil {
			continue // a gap
		}
		if bytes.Contains(e.Line, needle) && v.Keeper.markOf(entry) == asked {
			if found := b.answer(entry.ID, func(m firn.Message) bool { return sameMessage(m, answer) }); found != "" {
				return found, nil
			}
		}
		b.add(entry)
	}
	return "", nil
}

// markOf returns the digest that an entry is marked with.
func (k *Keeper) markOf(e firn.Entry) string {
	var m mark
	if json.Unmarshal(e.Extra.Get(k.protocol), &m) != nil {
		return ""
	}
	return m.History
}

// sameMessage reports whether two messages have the same content.
func sameMessage(a, b firn.Message) bool { return digest{}.with(a) == digest{}.with(b) }

// branch holds the entries of a session after some position.
type branch struct {
	keeper  *Keeper
	entries map[firn.EntryID]firn.Entry
	// answers are the complete, visible answers of the assistant, latest first.
	answers []firn.EntryID
	hidden  map[firn.EntryID]bool
}

func newBranch(k *Keeper) branch {
	return branch{keeper: k, entries: make(map[firn.EntryID]firn.Entry), hidden: make(map[firn.EntryID]bool)}
}

// add adds an entry in front of the others. Entries are added in reverse order, so
// tombstones are seen before their targets.
func (b *branch) add(e firn.Entry) {
	if e.ID == "" {
		return
	}
	b.entries[e.ID] = e
	if b.hidden[e.ID] {
		return
	}
	switch body := e.Body.(type) {
	case *firn.Tombstone:
		b.hidden[body.Target] = true
	case *firn.Message:
		if body.Role == firn.RoleAssistant && body.Error == "" {
			b.answers = append(b.answers, e.ID)
		}
	}
}

// answer returns the latest matching answer to a question, or "" if there is none.
func (b *branch) answer(question firn.EntryID, fits func(firn.Message) bool) firn.EntryID {
	for _, id := range b.answers {
		if m, ok := b.clientMessage(question, id); ok && fits(m) {
			return id
		}
	}
	return ""
}

// clientMessage returns the message that a client received for a turn from question to
// answer: the text of all its rounds, and the tool calls of the last.
func (b *branch) clientMessage(question, answer firn.EntryID) (firn.Message, bool) {
	var texts []string
	out := firn.Message{Role: firn.RoleAssistant}
	for id := answer; id != question; {
		e, ok := b.entries[id]
		if !ok {
			return out, false
		}
		if m, ok := e.Body.(*firn.Message); ok {
			switch {
			case m.Role == firn.RoleUser || b.keeper.markOf(e) != "":
				return out, false // of another turn
			case m.Role == firn.RoleAssistant && m.Error == "":
				texts = append([]string{m.Text()}, texts...)
			}
		}
		id = e.Parent
	}
	if text := joinRounds(texts); text != "" {
		out.Parts = append(out.Parts, firn.Text{Text: text})
	}
	if m, ok := b.entries[answer].Body.(*firn.Message); ok {
		for _, p := range m.Parts {
			if call, ok := p.(firn.ToolCall); ok {
				out.Parts = append(out.Parts, call)
			}
		}
	}
	return out, true
}

// joinRounds joins the texts of the rounds of a turn.
func joinRounds(texts []string) string {
	var rounds []string
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			rounds = append(rounds, t)
		}
	}
	return strings.Join(rounds, RoundBreak)
}

// RoundBreak separates the texts before and after tool calls.
const RoundBreak = "\n\n"
