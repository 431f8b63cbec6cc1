package window

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"firn.dev"
)

// Extra fields of a message's entry that say who speaks.
const (
	// SenderField is the name of the person who said it.
	SenderField = "sender"
	// ChatField is "direct" if nobody else takes part in the chat that it came from.
	ChatField = "chat"
	// AgentField is the name of an agent: of an answer the one that gave it, of a user's
	// message the one that is to answer. Without it, that is the agent of the session.
	AgentField = "agent"

	directChat = "direct"
	// collectedField is there if several messages became one, whose text names the senders.
	collectedField = "collected"
	speakerLen     = 80
)

// Sender returns the name of the person who said an entry, as a model is told it; empty
// if it is not known, or if only one person speaks in the chat.
func Sender(e *firn.Entry) string {
	if len(e.Extra) == 0 || e.Extra.Get(collectedField) != nil || stringOf(e.Extra.Get(ChatField)) == directChat {
		return ""
	}
	return speakerName(stringOf(e.Extra.Get(SenderField)))
}

// Answerer returns the name of the agent that the entry of an answer names; empty if it
// names none: then the agent of the session gave it.
func Answerer(e *firn.Entry) string {
	if len(e.Extra) == 0 {
		return ""
	}
	return speakerName(stringOf(e.Extra.Get(AgentField)))
}

// WithAnswerer returns the entry of an answer that names the agent which gave it.
func WithAnswerer(e firn.Entry, agent string) firn.Entry {
	value, err := json.Marshal(agent)
	if err != nil {
		return e // a string can always be encoded
	}
	e.Extra = append(slices.Clip(e.Extra), firn.Field{Name: AgentField, Value: value})
	return e
}

// Shared reports whether answers of the path are of other agents than the given one.
// Owner is the agent of the session.
func (p Path) Shared(agent, owner string) bool {
	return slices.ContainsFunc(p.Entries, func(e firn.Entry) bool {
		m, ok := e.Body.(*firn.Message)
		return ok && m.Role == firn.RoleAssistant && foreign(&e, agent, owner) != ""
	})
}

// foreign returns the name of the agent that gave an answer, if it is not the given one.
func foreign(e *firn.Entry, agent, owner string) string {
	if by := cmp.Or(Answerer(e), owner); by != agent {
		return by
	}
	return ""
}

// Named returns the message of an entry as the given agent is sent it: with the name of
// the sender, or of another agent that answered, before the text. Owner is the agent of
// the session; empty names only those agents that entries name. The entry stays as it is.
func Named(e *firn.Entry, agent, owner string) *firn.Message {
	m, ok := e.Body.(*firn.Message)
	if !ok || len(e.Extra) == 0 && owner == agent {
		return m
	}
	name := ""
	switch m.Role {
	case firn.RoleUser:
		name = Sender(e)
	case firn.RoleAssistant:
		name = foreign(e, agent, owner)
	}
	if name == "" {
		return m
	}
	named := *m
	named.Parts = withName(m.Parts, name)
	return &named
}

const namePrefix = "[from "

// withName puts a name before the text of a message. What looks like a name in the text
// is marked, so that nobody speaks in the name of others.
func withName(parts []firn.Part, name string) []firn.Part {
	out := make([]firn.Part, 0, len(parts)+1)
	line, done := namePrefix+name+"]", false
	for _, p := range parts {
		text, ok := p.(firn.Text)
		if ok {
			text.Text = escapeNames(text.Text)
			if !done {
				text.Text, done = line+"\n"+text.Text, true
			}
			p = text
		}
		out = append(out, p)
	}
	if !done && len(out) > 0 {
		_, image := out[0].(firn.Image)
		if doc, ok := out[0].(firn.OpaquePart); image || ok && doc.Type == DocumentPart {
			out = append([]firn.Part{firn.Text{Text: line}}, out...)
		}
	}
	return out
}

// escapeNames marks lines that begin as a name does.
func escapeNames(text string) string {
	if !strings.Contains(text, namePrefix) {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimLeftFunc(l, unicode.IsSpace), namePrefix) {
			lines[i] = "\\" + l
		}
	}
	return strings.Join(lines, "\n")
}

// speakerName makes a name fit for one line.
func speakerName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '[' || r == ']':
			return -1
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		}
		return r
	}, s)
	return firn.CutText(strings.Join(strings.Fields(s), " "), speakerLen)
}
