package offline

import (
	"strconv"
	"strings"

	"firn"
	"firn/internal/digest"
	"firn/provider"
	"firn/window"
)

// conversation is what the model heard: a request, taken apart.
type conversation struct {
	// heard is what was said, in order. The last ask is among it.
	heard []heard
	// asks are the user's messages, in order; last is the newest of them, empty
	// if the request does not end with one that can be read.
	asks []string
	last string
	// outcomes are the calls since the last ask and what came of them.
	outcomes []outcome
	// lines is all of it, for a digest.
	lines []digest.Line
	// offered are the tools, in order.
	offered []string
	// compacted says that the conversation begins with a summary.
	compacted bool

	calls map[string]firn.ToolCall
	// number is that of the latest call: it or less was used in an id.
	number int
}

// speaker is where something that was heard came from.
type speaker int

const (
	byUser speaker = iota
	byModel
	bySummary
	byNote
)

// heard is something that was said.
type heard struct {
	by   speaker
	text string
}

// outcome is a call and its result.
type outcome struct {
	call   firn.ToolCall
	text   string
	failed bool
}

// listen takes a request apart.
func listen(req provider.Request) *conversation {
	c := &conversation{calls: make(map[string]firn.ToolCall)}
	for _, t := range req.Tools {
		c.offered = append(c.offered, t.Name)
	}
	messages := make([]firn.Message, 0, len(req.Window.Items))
	for i := range req.Window.Items {
		it := &req.Window.Items[i]
		if !it.Synthetic {
			messages = append(messages, it.Message)
		}
		switch it.Message.Role {
		case firn.RoleUser:
			c.hearUser(it)
		case firn.RoleAssistant:
			c.hearModel(&it.Message)
		case firn.RoleToolResult:
			c.hearTool(&it.Message)
		}
	}
	c.lines = digest.Lines(messages)
	return c
}

// hearUser takes a message of the user apart. Others speak in it, too: a
// summary, recalled notes, a program. The last part that is the user's own is
// what is asked.
func (c *conversation) hearUser(it *window.Item) {
	c.last = ""
	c.outcomes = nil
	if it.Synthetic {
		return
	}
	for _, part := range it.Message.Parts {
		text, ok := part.(firn.Text)
		if !ok {
			continue
		}
		if summary, ok := summaryIn(text.Text); ok {
			c.compacted = true
			c.heard = append(c.heard, heard{bySummary, summary})
			continue
		}
		for _, note := range notesIn(text.Text) {
			c.heard = append(c.heard, heard{byNote, note})
		}
		if said := digest.Genuine(text.Text); said != "" && !strings.HasPrefix(said, "[firn]") {
			c.heard = append(c.heard, heard{byUser, said})
			c.asks = append(c.asks, said)
			c.last = said
		}
	}
}

// summaryIn finds the summary in a message that tells of a compaction or of a
// branch.
func summaryIn(text string) (string, bool) {
	if digest.Genuine(text) != "" {
		return "", false
	}
	start := strings.Index(text, "<summary>")
	end := strings.LastIndex(text, "</summary>")
	if start < 0 || end < start || strings.HasPrefix(text, "<") {
		return "", false
	}
	return text[start+len("<summary>") : end], true
}

// notesIn finds what memory recalled.
func notesIn(text string) (notes []string) {
	for _, name := range [...]string{"recall", "memory", "memories", "notes"} {
		if note, ok := between(text, name); ok {
			notes = append(notes, note)
		}
	}
	return notes
}

// between returns what stands between the first tag of that name and its last
// end.
func between(text, name string) (string, bool) {
	start := strings.Index(text, "<"+name+">")
	end := strings.LastIndex(text, "</"+name+">")
	if start < 0 || end < start {
		return "", false
	}
	return strings.TrimSpace(text[start+len(name)+2 : end]), true
}

func (c *conversation) hearModel(m *firn.Message) {
	c.last = ""
	for _, part := range m.Parts {
		switch p := part.(type) {
		case firn.Text:
			c.heard = append(c.heard, heard{byModel, p.Text})
		case firn.ToolCall:
			c.calls[p.ID] = p
			c.number++
			if digits, ok := strings.CutPrefix(p.ID, callPrefix); ok {
				if n, err := strconv.Atoi(digits); err == nil && n < 1<<40 {
					c.number = max(c.number, n)
				}
			}
		}
	}
}

func (c *conversation) hearTool(m *firn.Message) {
	for _, part := range m.Parts {
		result, ok := part.(firn.ToolResult)
		if !ok {
			continue
		}
		call, ok := c.calls[result.CallID]
		if !ok {
			call = firn.ToolCall{ID: result.CallID, Name: result.Name}
		}
		c.outcomes = append(c.outcomes, outcome{call, firn.JoinText(result.Content), result.IsError})
	}
}

// callPrefix is what the ids of calls begin with.
const callPrefix = "call_"

// offers reports whether a tool may be called.
func (c *conversation) offers(tool string) bool {
	for _, name := range c.offered {
		if name == tool {
			return true
		}
	}
	return false
}
