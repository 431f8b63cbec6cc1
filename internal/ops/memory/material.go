package memory

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/find/digest"
)

// Message is a message of a conversation that may be a source of facts.
type Message struct {
	Source
	Role firn.Role
	Text string
	Time time.Time
}

// Material is the new content of a conversation since the last extraction.
type Material struct {
	Session firn.ID
	// Lines are the messages of people and the agent, oldest first.
	Lines []Message
	// Messages is the total number of messages in the conversation. Calls is the number of
	// tool calls since the last extraction. Pending is set if a call has no result yet.
	Messages, Calls int
	Pending         bool
	// Last is the latest message.
	Last firn.EntryID
	// Injected are texts from memory in the conversation itself: results of memory tools and
	// injected blocks. Repetitions of them are not extracted.
	Injected []string
}

// Collect collects the material of a conversation from the entries of the path to its head.
// Earlier extractions have examined the entries up to and including after. Tool results and
// injected text (recalled notes, summaries, messages written by programs) are not sources.
// older means that the conversation has more entries before the given ones.
func Collect(session firn.ID, entries []firn.Entry, after firn.EntryID, older bool) Material {
	m := Material{Session: session}
	if older {
		m.Messages = minMessages
	}
	begin := 0
	if after != "" {
		begin = slices.IndexFunc(entries, func(e firn.Entry) bool { return e.ID == after }) + 1
	}
	open := make(map[string]string) // calls without a result, with their tools
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
			m.addResults(message, open)
			continue
		default:
			continue
		}
		clear(open) // calls before a later message are no longer pending
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

// addResults processes tool results, which are not sources: results of memory tools are
// added to Injected.
func (m *Material) addResults(message *firn.Message, open map[string]string) {
	for _, p := range message.Parts {
		result, ok := p.(firn.ToolResult)
		if !ok {
			continue
		}
		if memoryTools().MatchString(cmpOr(open[result.CallID], result.Name)) {
			m.addInjected(firn.JoinText(result.Content))
		}
		delete(open, result.CallID)
	}
}

// memoryTools matches the names of tools that return notes or earlier messages, including
// those of other programs.
var memoryTools = pattern.New(`(?i)recall|memor|search_sessions|read_window|read_session|knowledge`)

// addInjected records a text from memory, up to a limit.
func (m *Material) addInjected(text string) {
	if text = strings.TrimSpace(text); text != "" && len(m.Injected) < maxInjected {
		m.Injected = append(m.Injected, firn.CutText(text, maxMaterialBytes))
	}
}

// maxInjected is the maximum number of texts in Injected.
const maxInjected = 200

// minMessages is the default minimum number of messages.
const minMessages = 20

// add adds the text of a message.
func (m *Material) add(e firn.Entry, message *firn.Message) {
	text, texts := splitInjected(message.Text())
	for _, t := range texts {
		m.addInjected(t)
	}
	if text == "" {
		return
	}
	at := message.Time
	if at.IsZero() {
		at = e.Time
	}
	m.Lines = append(m.Lines, Message{Source: Source{m.Session, e.ID}, Role: message.Role, Text: text, Time: at})
}

// blocks match the tags that programs put around text from memory; an unclosed block
// extends to the end.
var blocks = blocksOf("recall", "memory", "memories", "relevant-memories", "relevant_memories", "memory-context", "memory_context", "environment", "instructions", "agents", "system-reminder")

func blocksOf(names ...string) []func() *regexp.Regexp {
	all := make([]func() *regexp.Regexp, len(names))
	for i, name := range names {
		all[i] = pattern.New(`(?is)<` + name + `(?:\s[^<>]*)?>(.*?)(?:</` + name + `\s*>|\z)`)
	}
	return all
}

// summaries are the prefixes of messages that tools write in the user's name when a
// conversation continues after a summary.
var summaries = []string{"This session is being continued from a previous conversation", "[Previous conversation summary]"}

// splitInjected splits a text into its own content and the injected blocks from memory. Other
// injected blocks are dropped.
func splitInjected(text string) (own string, texts []string) {
	for _, begin := range summaries {
		if strings.HasPrefix(text, begin) {
			return "", []string{text}
		}
	}
	for _, block := range blocks {
		for _, m := range block().FindAllStringSubmatch(text, -1) {
			texts = append(texts, m[1])
		}
		text = block().ReplaceAllString(text, "")
	}
	return strings.TrimSpace(digest.UserText(text)), texts
}

// Gates are the conditions for an extraction. The zero value means the defaults.
type Gates struct {
	// Messages is the minimum number of messages in the conversation; zero means 20. Calls
	// is the minimum number of tool calls since the last extraction; zero means 3. A
	// negative value means no minimum.
	Messages, Calls int
}

// Unmet returns a sentence about the first condition that is not met; empty if all are.
func (g Gates) Unmet(m Material) string {
	messages, calls := g.Messages, g.Calls
	if messages == 0 {
		messages = minMessages
	}
	if calls == 0 {
		calls = 3
	}
	switch {
	case m.Messages < messages:
		return "the conversation is too short"
	case m.Calls < calls:
		return "too few tool calls since the last extraction"
	case m.Pending:
		return "a tool is running"
	case len(m.Lines) == 0:
		return "no messages since the last extraction"
	}
	return ""
}
