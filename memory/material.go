package memory

import (
	"slices"
	"strings"
	"time"

	"firn"
	"firn/internal/digest"
)

// Said is something that was said in a conversation and may be a source of
// facts.
type Said struct {
	Source
	Role firn.Role
	Text string
	Time time.Time
}

// Material is what a conversation has to offer since something was last taken
// from it.
type Material struct {
	Session firn.ID
	// Lines are what people and the agent said, oldest first.
	Lines []Said
	// Messages is how many there are in all, Calls how many tools were called
	// since the last time, Pending whether a call has no result yet.
	Messages, Calls int
	Pending         bool
	// First says that nothing was taken from it before.
	First bool
	// Last is the latest message.
	Last firn.EntryID
}

// Collect takes the material out of a conversation: entries of the path to its
// head, of which those up to after were taken before. What tools returned is no
// source, nor is what programs injected: recalled notes, summaries, what
// machines said. Older says that there was more, which is not among them.
func Collect(session firn.ID, entries []firn.Entry, after firn.EntryID, older bool) Material {
	m := Material{Session: session, First: after == ""}
	if older {
		m.Messages = longTalk
	}
	begin := 0
	if after != "" {
		begin = slices.IndexFunc(entries, func(e firn.Entry) bool { return e.ID == after }) + 1
	}
	for i, e := range entries {
		message, ok := e.Body.(*firn.Message)
		if !ok {
			continue
		}
		m.Last = e.ID
		switch message.Role {
		case firn.RoleUser, firn.RoleAssistant:
			m.Messages++
		case firn.RoleToolResult:
			m.Pending = false
			continue
		default:
			continue
		}
		calls := 0
		for _, p := range message.Parts {
			if _, ok := p.(firn.ToolCall); ok {
				calls++
			}
		}
		m.Pending = calls > 0
		if i < begin {
			continue
		}
		m.Calls += calls
		m.add(e, message)
	}
	return m
}

// longTalk is how many messages open the gate.
const longTalk = 20

// add takes in what a message says.
func (m *Material) add(e firn.Entry, message *firn.Message) {
	text := genuine(message.Text())
	if text == "" {
		return
	}
	at := message.Time
	if at.IsZero() {
		at = e.Time
	}
	m.Lines = append(m.Lines, Said{Source: Source{m.Session, e.ID}, Role: message.Role, Text: text, Time: at})
}

// genuine is what somebody said themselves: without blocks that programs put
// around it, wherever they stand, and without what memory told.
func genuine(text string) string {
	text = digest.Genuine(text)
	for _, name := range []string{"recall", "memory", "memories", "environment", "instructions", "agents", "system-reminder"} {
		for {
			before, rest, ok := strings.Cut(text, "<"+name+">")
			if !ok {
				break
			}
			_, after, ok := strings.Cut(rest, "</"+name+">")
			if !ok {
				after = ""
			}
			text = before + after
		}
	}
	return strings.TrimSpace(text)
}

// Gates say when it is time to look for facts. The zero value is good.
type Gates struct {
	// Messages is how many there must be in the conversation, zero means 20;
	// Calls how many tools must have been called since the last time, zero means
	// 3. Below zero means any number.
	Messages, Calls int
}

// Shut says which gate is shut, in a sentence; empty if all are open. For the
// first time it does not matter how many tools were called.
func (g Gates) Shut(m Material) string {
	messages, calls := g.Messages, g.Calls
	if messages == 0 {
		messages = longTalk
	}
	if calls == 0 {
		calls = 3
	}
	switch {
	case m.Messages < messages:
		return "the conversation is short"
	case !m.First && m.Calls < calls:
		return "little was done since the last time"
	case m.Pending:
		return "a tool is at work"
	case len(m.Lines) == 0:
		return "nothing was said since the last time"
	}
	return ""
}
