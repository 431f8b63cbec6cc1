package openaiapi

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

// transcript is a conversation as sent by a client: system instructions and messages.
type transcript struct {
	system   []string
	messages []firn.Message
}

// add adds a message. Consecutive assistant messages are merged.
func (t *transcript) add(m firn.Message) {
	last := len(t.messages) - 1
	if m.Role == firn.RoleAssistant && last >= 0 && t.messages[last].Role == firn.RoleAssistant {
		t.messages[last].Parts = append(slices.Clip(t.messages[last].Parts), m.Parts...)
		return
	}
	t.messages = append(t.messages, m)
}

// split separates the messages up to the last answer from the new ones.
func (t *transcript) split() (history, fresh []firn.Message) {
	at := 0
	for i, m := range t.messages {
		if m.Role == firn.RoleAssistant {
			at = i + 1
		}
	}
	return t.messages[:at:at], t.messages[at:]
}

// answered reports whether there is an assistant message.
func (t *transcript) answered() bool {
	history, _ := t.split()
	return len(history) > 0
}

// instructions returns the system instructions.
func (t *transcript) instructions() string { return strings.TrimSpace(strings.Join(t.system, "\n\n")) }

// isEmpty reports whether the new messages have no content.
func (t *transcript) isEmpty() bool {
	_, fresh := t.split()
	return !slices.ContainsFunc(fresh, func(m firn.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p firn.Part) bool {
			text, ok := p.(firn.Text)
			return !ok || strings.TrimSpace(text.Text) != ""
		})
	})
}

// nameResults fills in the tool names of results from their calls.
func (t *transcript) nameResults() {
	names := make(map[string]string)
	for _, m := range t.messages {
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
	said := []string{string(m.Role), stripSpace(m.Text())}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case firn.Image:
			said = append(said, "image", p.MimeType, p.Data)
		case firn.ToolCall:
			said = append(said, "call", p.ID, p.Name, stripSpace(string(p.Arguments)))
		case firn.ToolResult:
			said = append(said, "result", p.CallID, stripSpace(firn.JoinText(p.Content)))
		}
	}
	return said
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

// markField is the entry field that marks the end of a client's conversation.
const markField = "openai"

// mark is the value of that field.
type mark struct {
	// History is the digest of the conversation as the client sent it.
	History string `json:"history"`
}

// systemType is the type of an entry with a system message of a stored conversation.
const systemType = "openai.system"

// entriesOf converts messages to entries; the last one is marked with the digest.
func entriesOf(messages []firn.Message, whole digest, now time.Time) []firn.Entry {
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
			entries[i].Body = &firn.CustomMessage{Type: systemType, Parts: m.Parts}
		}
	}
	if n := len(entries); n > 0 {
		data, err := json.Marshal(mark{History: whole.String()})
		if err == nil {
			entries[n-1].Extra = firn.Fields{{Name: markField, Value: data}}
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

// titleOf returns a session title taken from the first message.
func titleOf(messages []firn.Message) string {
	const most = 60
	for _, m := range messages {
		words := strings.Join(strings.Fields(m.Text()), " ")
		if m.Role != firn.RoleUser || words == "" {
			continue
		}
		if runes := []rune(words); len(runes) > most {
			return strings.TrimSpace(string(runes[:most-1])) + "…"
		}
		return words
	}
	return ""
}
