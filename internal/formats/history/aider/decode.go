package aider

import (
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/history"
)

// decoder reads records. It remembers the model, which Aider names in notices.
type decoder struct{ model string }

// The notices that name the model, and the marks of reasoning in an answer.
var (
	modelMarks             = []string{"Main model: ", "Model: "}
	thinkStart, thinkEnd   = "► **THINKING**", "► **ANSWER**"
	thinkingTag, tagEnding = "<thinking-content-", ">"
)

// Decode returns the entry of a block. Notices have none.
func (d *decoder) Decode(line []byte) []history.Item {
	var r struct {
		Type, Role, Text string
		Timestamp        time.Time
	}
	if !history.Unmarshal(line, &r) || r.Type != "message" {
		return nil
	}
	switch r.Role {
	case user:
		return []history.Item{{Time: r.Timestamp, Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: history.Clean(promptText(r.Text))}}}}}
	case assistant:
		return []history.Item{{Time: r.Timestamp, Body: &firn.Message{Role: firn.RoleAssistant, Model: d.model, StopReason: firn.StopEnd, Parts: answerParts(history.Clean(r.Text))}}}
	case notice:
		d.readModel(r.Text)
	}
	return nil
}

// readModel reads the model in notices such as "Main model: gpt-4o with diff edit format".
func (d *decoder) readModel(text string) {
	for line := range strings.Lines(text) {
		for _, mark := range modelMarks {
			if name, ok := strings.CutPrefix(line, noticeMark+mark); ok {
				name, _, _ = strings.Cut(name, " with ")
				d.model = history.Clean(strings.TrimSpace(name))
			}
		}
	}
}

// answerParts returns the parts of an answer: its reasoning, if it has some, and its text.
func answerParts(text string) (parts []firn.Part) {
	text = strings.TrimSpace(text)
	thinking, answer, ok := cutThinking(text)
	if ok {
		parts = append(parts, firn.Thinking{Text: thinking})
		text = answer
	}
	if text != "" || !ok {
		parts = append(parts, firn.Text{Text: text})
	}
	return parts
}

// cutThinking separates the reasoning at the start of an answer from its text. Aider marks it
// with a tag, or with lines when it displays it.
func cutThinking(text string) (thinking, answer string, ok bool) {
	if rest, found := strings.CutPrefix(text, thinkingTag); found {
		id, rest, opened := strings.Cut(rest, tagEnding)
		thinking, answer, closed := strings.Cut(rest, "</"+thinkingTag[1:]+id+tagEnding)
		if opened && closed {
			return strings.TrimSpace(thinking), strings.TrimSpace(answer), true
		}
		return "", text, false
	}
	rest, found := strings.CutPrefix(strings.TrimLeft(text, "-\n"), thinkStart)
	thinking, answer, closed := strings.Cut(rest, thinkEnd)
	if !found || !closed {
		return "", text, false
	}
	return strings.TrimSpace(strings.TrimRight(thinking, "- \n")), strings.TrimSpace(answer), true
}
