package openaiapi

import (
	"bytes"
	"encoding/json"
	"strings"

	"firn"
	"firn/client"
	"firn/dialect/native"
	"firn/wire"
)

// Bounds of looking for a conversation in the log: how many sessions that begin
// like it are looked at, and how far back in each.
const (
	mostSessions = 20
	mostEntries  = 5000
)

// opening is the beginning of a conversation, of one client: by it sessions are
// found that may hold the rest.
func (v *visit) opening(user string, who choice, t *talk) string {
	first := digest{}
	for i, m := range t.messages {
		if m.Role == firn.RoleAssistant {
			first = first.with(t.messages[:i]...)
			break
		}
		if i == len(t.messages)-1 {
			first = first.with(t.messages...)
		}
	}
	salt := firn.Message{Role: "client", Parts: []firn.Part{firn.Text{Text: strings.Join([]string{v.who, user, who.agent, who.model}, "\x00")}}}
	return first.with(salt).String()[:16]
}

// find finds where a conversation goes on that ends with an answer: in memory,
// or in the log. false if it was not had here, or not lately.
func (v *visit) find(opening string, history []firn.Message) (spot, bool, error) {
	whole := digest{}.with(history...)
	if at, ok := v.door.memory.get(opening + whole.String()); ok {
		return at, true, nil
	}
	asked := digest{}.with(history[:len(history)-1]...)
	answer := history[len(history)-1]
	for s, err := range v.c.Sessions(v.r.Context(), client.Query{Text: keyPrefix + opening, Limit: mostSessions}) {
		if err != nil {
			return spot{}, false, err
		}
		entry, err := v.findIn(s.ID, asked.String(), answer)
		if err != nil {
			return spot{}, false, err
		}
		if entry != "" {
			return spot{session: s.ID, entry: entry}, true, nil
		}
	}
	return spot{}, false, nil
}

// findIn looks in a session for an answer to a question that is marked. It is
// read from its end, where the question most likely is.
func (v *visit) findIn(id firn.ID, asked string, answer firn.Message) (firn.EntryID, error) {
	b := newBranch()
	needle := []byte(`"` + asked + `"`)
	for e, err := range v.c.Entries(v.r.Context(), id, client.EntryQuery{View: wire.ViewDisk, Back: true, Limit: mostEntries}) {
		if err != nil {
			return "", err
		}
		entry, err := native.New().Decode(e.Line)
		if err != nil {
			continue // a gap
		}
		if bytes.Contains(e.Line, needle) && markOf(entry) == asked {
			if found := b.answer(entry.ID, func(m firn.Message) bool { return same(m, answer) }); found != "" {
				return found, nil
			}
		}
		b.add(entry)
	}
	return "", nil
}

// markOf is the digest that an entry is marked with.
func markOf(e firn.Entry) string {
	var m mark
	if json.Unmarshal(e.Extra.Get(markField), &m) != nil {
		return ""
	}
	return m.History
}

// same reports whether two messages say the same.
func same(a, b firn.Message) bool { return digest{}.with(a) == digest{}.with(b) }

// branch is the entries of a session behind some place.
type branch struct {
	entries map[firn.EntryID]firn.Entry
	// answers are those of the assistant that came whole and are not hidden, the
	// latest first.
	answers []firn.EntryID
	hidden  map[firn.EntryID]bool
}

func newBranch() branch {
	return branch{entries: make(map[firn.EntryID]firn.Entry), hidden: make(map[firn.EntryID]bool)}
}

// add adds the entry before those that are there. What hides an entry stands
// behind it.
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

// answer is the latest answer to a question that fits; empty if there is none.
func (b *branch) answer(question firn.EntryID, fits func(firn.Message) bool) firn.EntryID {
	for _, id := range b.answers {
		if m, ok := b.told(question, id); ok && fits(m) {
			return id
		}
	}
	return ""
}

// told is what a client was told when a turn that began with a question ended
// with an answer: what was said in all its rounds, and the calls of the last.
func (b *branch) told(question, answer firn.EntryID) (firn.Message, bool) {
	var texts []string
	out := firn.Message{Role: firn.RoleAssistant}
	for id := answer; id != question; {
		e, ok := b.entries[id]
		if !ok {
			return out, false
		}
		if m, ok := e.Body.(*firn.Message); ok {
			switch {
			case m.Role == firn.RoleUser || markOf(e) != "":
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

// joinRounds joins what was said in the rounds of a turn.
func joinRounds(texts []string) string {
	var said []string
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			said = append(said, t)
		}
	}
	return strings.Join(said, roundBreak)
}

// roundBreak stands between what a model says before and after it used tools.
const roundBreak = "\n\n"
