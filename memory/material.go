package memory

import (
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/find/digest"
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
	// Last is the latest message.
	Last firn.EntryID
	// Told are texts that memory told in the conversation itself: what its tools
	// returned, and what was put into messages. What only repeats them is no news.
	Told []string
}

// Collect takes the material out of a conversation: entries of the path to its
// head, of which those up to after were taken before. What tools returned is no
// source, nor is what programs injected: recalled notes, summaries, what
// machines said. Older says that there was more, which is not among them.
func Collect(session firn.ID, entries []firn.Entry, after firn.EntryID, older bool) Material {
	m := Material{Session: session}
	if older {
		m.Messages = longTalk
	}
	begin := 0
	if after != "" {
		begin = slices.IndexFunc(entries, func(e firn.Entry) bool { return e.ID == after }) + 1
	}
	open := make(map[string]string) // calls that have no result yet, with their tools
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
			m.hear(message, open)
			continue
		default:
			continue
		}
		clear(open) // who goes on talking does not wait for them
		for _, p := range message.Parts {
			if call, ok := p.(firn.ToolCall); ok {
				open[call.ID] = call.Name
				if i >= begin {
					m.Calls++
				}
			}
		}
		if i >= begin {
			m.add(e, message)
		}
	}
	m.Pending = len(open) > 0
	return m
}

// hear takes in results of tools, which are no source: those of memory's own are
// what it told.
func (m *Material) hear(message *firn.Message, open map[string]string) {
	for _, p := range message.Parts {
		result, ok := p.(firn.ToolResult)
		if !ok {
			continue
		}
		if remembers.MatchString(cmpOr(open[result.CallID], result.Name)) {
			m.tell(firn.JoinText(result.Content))
		}
		delete(open, result.CallID)
	}
}

// remembers are the names of tools that tell what was noted or said before,
// ours and those of others.
var remembers = pattern.New(`(?i)recall|memor|search_sessions|read_window|read_session|knowledge`)

// tell notes what memory told, as much of it as matters.
func (m *Material) tell(text string) {
	if text = strings.TrimSpace(text); text != "" && len(m.Told) < mostTold {
		m.Told = append(m.Told, firn.CutText(text, maxMaterialBytes))
	}
}

// mostTold bounds how many texts are remembered as told.
const mostTold = 200

// longTalk is how many messages open the gate.
const longTalk = 20

// add takes in what a message says.
func (m *Material) add(e firn.Entry, message *firn.Message) {
	text, told := genuine(message.Text())
	for _, t := range told {
		m.tell(t)
	}
	if text == "" {
		return
	}
	at := message.Time
	if at.IsZero() {
		at = e.Time
	}
	m.Lines = append(m.Lines, Said{Source: Source{m.Session, e.ID}, Role: message.Role, Text: text, Time: at})
}

// blocks are what programs put around what memory told, wherever it stands; one
// that is not closed goes on to the end.
var blocks = blocksOf("recall", "memory", "memories", "relevant-memories", "relevant_memories", "memory-context", "memory_context", "environment", "instructions", "agents", "system-reminder")

func blocksOf(names ...string) []*pattern.Pattern {
	all := make([]*pattern.Pattern, len(names))
	for i, name := range names {
		all[i] = pattern.New(`(?is)<` + name + `(?:\s[^<>]*)?>(.*?)(?:</` + name + `\s*>|\z)`)
	}
	return all
}

// summaries begin what tools say in the user's name when a conversation goes on
// behind a summary of it.
var summaries = []string{"This session is being continued from a previous conversation", "[Previous conversation summary]"}

// genuine is what somebody said themselves: without blocks that programs put
// around it, and without what memory told, which is returned beside it.
func genuine(text string) (own string, told []string) {
	for _, begin := range summaries {
		if strings.HasPrefix(text, begin) {
			return "", []string{text}
		}
	}
	for _, block := range blocks {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			told = append(told, m[1])
		}
		text = block.ReplaceAllString(text, "")
	}
	return strings.TrimSpace(digest.Genuine(text)), told
}

// Gates say when it is time to look for facts. The zero value is good.
type Gates struct {
	// Messages is how many there must be in the conversation, zero means 20;
	// Calls how many tools must have been called since the last time, zero means
	// 3. Below zero means any number.
	Messages, Calls int
}

// Shut says which gate is shut, in a sentence; empty if all are open.
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
	case m.Calls < calls:
		return "little was done since the last time"
	case m.Pending:
		return "a tool is at work"
	case len(m.Lines) == 0:
		return "nothing was said since the last time"
	}
	return ""
}
