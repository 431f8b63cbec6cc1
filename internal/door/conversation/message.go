package conversation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"firn.dev"
	"firn.dev/internal/formats/dialect/native"
)

// Transcript is a conversation as sent by a client: system instructions and messages.
type Transcript struct {
	System   []string
	Messages []firn.Message
}

// Add adds a message. Consecutive assistant messages are merged.
func (t *Transcript) Add(m firn.Message) {
	last := len(t.Messages) - 1
	if m.Role == firn.RoleAssistant && last >= 0 && t.Messages[last].Role == firn.RoleAssistant {
		t.Messages[last].Parts = append(slices.Clip(t.Messages[last].Parts), m.Parts...)
		return
	}
	t.Messages = append(t.Messages, m)
}

// split separates the messages up to the last answer from the new ones.
func (t *Transcript) split() (history, fresh []firn.Message) {
	at := 0
	for i, m := range t.Messages {
		if m.Role == firn.RoleAssistant {
			at = i + 1
		}
	}
	return t.Messages[:at:at], t.Messages[at:]
}

// Answered reports whether there is an assistant message.
func (t *Transcript) Answered() bool {
	history, _ := t.split()
	return len(history) > 0
}

// Instructions returns the system instructions.
func (t *Transcript) Instructions() string { return strings.TrimSpace(strings.Join(t.System, "\n\n")) }

// IsEmpty reports whether the new messages have no content.
func (t *Transcript) IsEmpty() bool {
	_, fresh := t.split()
	return !slices.ContainsFunc(fresh, func(m firn.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p firn.Part) bool {
			text, ok := p.(firn.Text)
			return !ok || strings.TrimSpace(text.Text) != ""
		})
	})
}

// withSystem returns the messages, preceded by the system instructions.
func (t *Transcript) withSystem() []firn.Message {
	if len(t.System) == 0 {
		return t.Messages
	}
	return append([]firn.Message{{Role: firn.RoleSystem, Parts: TextPart(t.Instructions())}}, t.Messages...)
}

// NameResults fills in the tool names of results from their calls.
func (t *Transcript) NameResults() {
	names := make(map[string]string)
	for _, m := range t.Messages {
		for i, p := range m.Parts {
			switch p := p.(type) {
			case firn.ToolCall:
				names[p.ID] = p.Name
			case firn.ToolResult:
				if p.Name = names[p.CallID]; p.Name == "" {
					p.Name = "tool"
				}
				m.Parts[i] = p
			}
		}
	}
}

// digest is a chained hash of a conversation: the digest of a longer conversation is
// computed from that of its beginning.
type digest [sha256.Size]byte

// String returns the digest in the form stored in the log.
func (d digest) String() string { return hex.EncodeToString(d[:16]) }

// with returns the digest of the conversation extended by messages.
func (d digest) with(messages ...firn.Message) digest {
	for _, m := range messages {
		h := sha256.New()
		h.Write(d[:])
		data, err := json.Marshal(fingerprint(m))
		if err != nil { // cannot happen: all values marshal
			data = nil
		}
		h.Write(data)
		h.Sum(d[:0])
	}
	return d
}

// fingerprint returns the parts of a message that identify it. It leaves out white space,
// which clients trim, and sender and time.
func fingerprint(m firn.Message) []string {
	fields := []string{string(m.Role), stripSpace(m.Text())}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case firn.Image:
			fields = append(fields, "image", p.MimeType, p.Data)
		case firn.ToolCall:
			fields = append(fields, "call", p.ID, p.Name, stripSpace(string(p.Arguments)))
		case firn.ToolResult:
			fields = append(fields, "result", p.CallID, stripSpace(firn.JoinText(p.Content)))
		}
	}
	return fields
}

// stripSpace removes white space.
func stripSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// mark marks the end of a client's conversation. It is the value of the entry field with the
// name of the protocol.
type mark struct {
	// History is the digest of the conversation as the client sent it.
	History string `json:"history"`
}

// SystemType returns the type of an entry with a system message of a conversation that is
// stored for a protocol.
func SystemType(protocol string) string { return protocol + ".system" }

// entriesOf converts messages to entries; the last one is marked with the digest.
func (k *Keeper) entriesOf(messages []firn.Message, whole digest) []firn.Entry {
	now := k.clock().UTC().Truncate(time.Millisecond)
	entries := make([]firn.Entry, len(messages))
	for i := range messages {
		m := messages[i]
		m.Time = now
		if m.Role == firn.RoleAssistant {
			m.StopReason = firn.StopEnd
			if slices.ContainsFunc(m.Parts, func(p firn.Part) bool { _, ok := p.(firn.ToolCall); return ok }) {
				m.StopReason = firn.StopToolUse
			}
		}
		entries[i] = firn.NewEntry(&m)
		if m.Role == firn.RoleSystem { // stored in a form that is sent to the model
			entries[i].Body = &firn.CustomMessage{Type: SystemType(k.protocol), Parts: m.Parts}
		}
	}
	if n := len(entries); n > 0 {
		data, err := json.Marshal(mark{History: whole.String()})
		if err == nil {
			entries[n-1].Extra = firn.Fields{{Name: k.protocol, Value: data}}
		}
	}
	return entries
}

// lines encodes entries as the gateway expects them.
func lines(entries []firn.Entry) ([]json.RawMessage, error) {
	all := make([]json.RawMessage, len(entries))
	for i, e := range entries {
		line, err := native.New().Append(nil, e)
		if err != nil {
			return nil, err
		}
		all[i] = line
	}
	return all, nil
}

// titleOf returns a session title taken from the first text of the user.
func titleOf(messages []firn.Message) string {
	const most = 60
	for _, m := range messages {
		if m.Role != firn.RoleUser {
			continue
		}
		words := strings.Join(strings.Fields(withoutReminders(m.Text())), " ")
		if words == "" {
			continue
		}
		if runes := []rune(words); len(runes) > most {
			return strings.TrimSpace(string(runes[:most-1])) + "…"
		}
		return words
	}
	return ""
}

// withoutReminders removes the reminders that Claude Code adds to messages of the user.
func withoutReminders(text string) string {
	const begin, end = "<system-reminder>", "</system-reminder>"
	for {
		before, rest, found := strings.Cut(text, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			return text
		}
		text = before + after
	}
}

// TextPart returns text as the parts of a message; none if it is empty.
func TextPart(text string) []firn.Part {
	if text == "" {
		return nil
	}
	clean, _ := firn.CleanText(text)
	return []firn.Part{firn.Text{Text: clean}}
}

// Result returns a message with the result of a call.
func Result(call string, content []firn.Part) firn.Message {
	return firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: call, Content: content}}}
}
