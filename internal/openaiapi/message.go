package openaiapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"firn"
	"firn/dialect/native"
)

// talk is a conversation as a client sends it: what the system says, and what
// was said by whom.
type talk struct {
	system   []string
	messages []firn.Message
}

// add adds a message. What the assistant says in a row is one message.
func (t *talk) add(m firn.Message) {
	last := len(t.messages) - 1
	if m.Role == firn.RoleAssistant && last >= 0 && t.messages[last].Role == firn.RoleAssistant {
		t.messages[last].Parts = append(slices.Clip(t.messages[last].Parts), m.Parts...)
		return
	}
	t.messages = append(t.messages, m)
}

// split parts what was said up to the last answer from what is new.
func (t *talk) split() (history, fresh []firn.Message) {
	at := 0
	for i, m := range t.messages {
		if m.Role == firn.RoleAssistant {
			at = i + 1
		}
	}
	return t.messages[:at:at], t.messages[at:]
}

// answered reports whether the assistant said something.
func (t *talk) answered() bool {
	history, _ := t.split()
	return len(history) > 0
}

// instructions are what the system says.
func (t *talk) instructions() string { return strings.TrimSpace(strings.Join(t.system, "\n\n")) }

// silent reports whether what is new says nothing at all.
func (t *talk) silent() bool {
	_, fresh := t.split()
	return !slices.ContainsFunc(fresh, func(m firn.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p firn.Part) bool {
			text, ok := p.(firn.Text)
			return !ok || strings.TrimSpace(text.Text) != ""
		})
	})
}

// nameResults gives results the names of the tools that were called.
func (t *talk) nameResults() {
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

// digest is a hash of a conversation, which grows with it: that of a longer one
// is made of that of its beginning.
type digest [sha256.Size]byte

// String is the digest as it is kept in the log.
func (d digest) String() string { return hex.EncodeToString(d[:16]) }

// with is the digest of a conversation that goes on with messages.
func (d digest) with(messages ...firn.Message) digest {
	for _, m := range messages {
		h := sha256.New()
		h.Write(d[:])
		data, err := json.Marshal(gist(m))
		if err != nil { // there is nothing in it that has no spelling
			data = nil
		}
		h.Write(data)
		h.Sum(d[:0])
	}
	return d
}

// gist is what of a message tells it from others: not its white space, which
// clients trim, nor who said when.
func gist(m firn.Message) []string {
	said := []string{string(m.Role), squeeze(m.Text())}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case firn.Image:
			said = append(said, "image", p.MimeType, p.Data)
		case firn.ToolCall:
			said = append(said, "call", p.ID, p.Name, squeeze(string(p.Arguments)))
		case firn.ToolResult:
			said = append(said, "result", p.CallID, squeeze(firn.JoinText(p.Content)))
		}
	}
	return said
}

// squeeze leaves out white space.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// markField is where an entry says that a client's conversation ends with it.
const markField = "openai"

// mark is what it says.
type mark struct {
	// History is the digest of the conversation, as the client sent it.
	History string `json:"history"`
}

// systemType is the type of an entry in which the system says something, in a
// conversation that is kept here.
const systemType = "openai.system"

// entriesOf makes entries of messages; the last is marked with the digest.
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
		if m.Role == firn.RoleSystem { // which is kept in a form that is sent
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

// lines spells entries as the gateway takes them.
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

// titleOf names a session after what was said first in it.
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
