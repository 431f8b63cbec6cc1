package offline

import (
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/sentfiles"
	"firn.dev/internal/find/digest"
	"firn.dev/provider"
	"firn.dev/window"
)

// conversation is a parsed request.
type conversation struct {
	// utterances are all messages in order, including the last request.
	utterances []utterance
	// userMessages are the user's messages, in order. last is the newest of them, or empty if the
	// request does not end with readable text of the user.
	userMessages []string
	last         string
	// outcomes are the calls since the last request of the user, with their results.
	outcomes []outcome
	// lines is the whole conversation, for a digest.
	lines []digest.Line
	// offered are the available tools, in order.
	offered []string
	// compacted is set if the conversation starts with a summary.
	compacted bool

	calls map[string]firn.ToolCall
	// number is the highest number used in a call ID.
	number int
}

// speaker is the source of an utterance.
type speaker int

const (
	byUser speaker = iota
	byModel
	bySummary
	byNote
)

// utterance is a message of one speaker.
type utterance struct {
	by   speaker
	text string
}

// outcome is a call and its result.
type outcome struct {
	call   firn.ToolCall
	text   string
	failed bool
}

// parseRequest parses a request.
func parseRequest(req provider.Request) *conversation {
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
			c.addUser(it)
		case firn.RoleAssistant:
			c.addModel(&it.Message)
		case firn.RoleToolResult:
			c.addTool(&it.Message)
		}
	}
	c.lines = digest.Lines(messages)
	return c
}

// addUser parses a user message. It may also contain a summary, recalled notes, or text of
// a program. The last part written by the user is the request.
func (c *conversation) addUser(it *window.Item) {
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
			c.utterances = append(c.utterances, utterance{bySummary, summary})
			continue
		}
		for _, note := range notesIn(text.Text) {
			c.utterances = append(c.utterances, utterance{byNote, note})
		}
		if message := digest.UserText(text.Text); message != "" && !strings.HasPrefix(message, "[firn]") {
			c.utterances = append(c.utterances, utterance{byUser, message})
			c.last = withoutFiles(message)
			c.userMessages = append(c.userMessages, c.last)
		}
	}
}

// withoutFiles returns a message without the files that the chat sent with it.
func withoutFiles(message string) string {
	if typed := strings.TrimSpace(sentfiles.Remove(message)); typed != "" {
		return typed
	}
	return message
}

// summaryIn returns the summary in a message about a compaction or a branch.
func summaryIn(text string) (string, bool) {
	if digest.UserText(text) != "" {
		return "", false
	}
	start := strings.Index(text, "<summary>")
	end := strings.LastIndex(text, "</summary>")
	if start < 0 || end < start || strings.HasPrefix(text, "<") {
		return "", false
	}
	return text[start+len("<summary>") : end], true
}

// notesIn returns the recalled notes in a text.
func notesIn(text string) (notes []string) {
	for _, name := range [...]string{"recall", "memory", "memories", "notes"} {
		if note, ok := between(text, name); ok {
			notes = append(notes, note)
		}
	}
	return notes
}

// between returns the text between the first start tag of that name and its last end tag.
func between(text, name string) (string, bool) {
	start := strings.Index(text, "<"+name+">")
	end := strings.LastIndex(text, "</"+name+">")
	if start < 0 || end < start {
		return "", false
	}
	return strings.TrimSpace(text[start+len(name)+2 : end]), true
}

func (c *conversation) addModel(m *firn.Message) {
	c.last = ""
	for _, part := range m.Parts {
		switch p := part.(type) {
		case firn.Text:
			c.utterances = append(c.utterances, utterance{byModel, p.Text})
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

func (c *conversation) addTool(m *firn.Message) {
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

// callPrefix is the prefix of call IDs.
const callPrefix = "call_"

// offers reports whether a tool is available.
func (c *conversation) offers(tool string) bool {
	for _, name := range c.offered {
		if name == tool {
			return true
		}
	}
	return false
}
