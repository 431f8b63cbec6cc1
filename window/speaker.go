package window

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"firn.dev"
)

// Extra fields of a message's entry that identify the speaker.
const (
	// SenderField is the name of the person who wrote the message.
	SenderField = "sender"
	// ChatField is "direct" if the chat has only one participant besides the agent.
	ChatField = "chat"
	// AgentField is the name of an agent: the author of an answer, or the addressee of a
	// user message. If absent, it is the agent of the session.
	AgentField = "agent"

	directChat = "direct"
	// collectedField is present if several messages were merged into one whose text names
	// the senders.
	collectedField = "collected"
	speakerLen     = 80
)

// sender returns the name of the author of an entry as it is sent to a model. It is empty
// if unknown or if the chat has only one participant.
func sender(e *firn.Entry) string {
	if len(e.Extra) == 0 || e.Extra.Get(collectedField) != nil || stringOf(e.Extra.Get(ChatField)) == directChat {
		return ""
	}
	return speakerName(stringOf(e.Extra.Get(SenderField)))
}

// AnsweringAgent returns the agent recorded in the entry of an answer. It is empty if none is
// recorded: the answer is then by the agent of the session.
func AnsweringAgent(e *firn.Entry) string {
	if len(e.Extra) == 0 {
		return ""
	}
	return speakerName(stringOf(e.Extra.Get(AgentField)))
}

// WithAnsweringAgent returns the entry of an answer with the agent that gave it recorded.
func WithAnsweringAgent(e firn.Entry, agent string) firn.Entry {
	value, err := json.Marshal(agent)
	if err != nil {
		return e // marshaling a string cannot fail
	}
	e.Extra = append(slices.Clip(e.Extra), firn.Field{Name: AgentField, Value: value})
	return e
}

// Shared reports whether the path has answers by agents other than the given one. Owner is
// the agent of the session.
func (p Path) Shared(agent, owner string) bool {
	return slices.ContainsFunc(p.Entries, func(e firn.Entry) bool {
		m, ok := e.Body.(*firn.Message)
		return ok && m.Role == firn.RoleAssistant && otherAgent(&e, agent, owner) != ""
	})
}

// otherAgent returns the agent that gave an answer if it is not the given one.
func otherAgent(e *firn.Entry, agent, owner string) string {
	if by := cmp.Or(AnsweringAgent(e), owner); by != agent {
		return by
	}
	return ""
}

// Named returns the message of an entry as it is sent to the given agent: with the name of
// the sender, or of another agent that answered, before the text. Owner is the agent of the
// session; if it is empty, only agents recorded in entries are named. The entry is not
// changed.
func Named(e *firn.Entry, agent, owner string) *firn.Message {
	m, ok := e.Body.(*firn.Message)
	if !ok || len(e.Extra) == 0 && owner == agent {
		return m
	}
	name := ""
	switch m.Role {
	case firn.RoleUser:
		name = sender(e)
	case firn.RoleAssistant:
		name = otherAgent(e, agent, owner)
	}
	if name == "" {
		return m
	}
	named := *m
	named.Parts = withName(m.Parts, name)
	return &named
}

const namePrefix = "[from "

// withName puts a name before the text of a message. It escapes text that looks like a
// name, so that no participant can impersonate another.
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

// escapeNames marks lines that start like a name.
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

// speakerName makes a name fit on one line.
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
