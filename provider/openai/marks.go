package openai

import (
	"encoding/json"
	"strings"

	"firn.dev/internal/base/rawjson"
)

// This file handles marks: the data of firn's parts that is needed to send an answer back.
//
// In the Responses API, a call keeps the ID of its item, a text that of its message, and
// thinking the complete reasoning item. The item ID is not joined to the call ID, as pi
// does (call_1|fc_1): call IDs are rewritten for other providers, while marks are only used
// by the provider that made them.
//
// In the Chat Completions API, thinking keeps the name of the member it was received in,
// and a call the signature that Google's servers require.

// thoughtFields returns the members in which servers send thinking.
func thoughtFields() []string { return []string{"reasoning_content", "reasoning", "reasoning_text"} }

func isThoughtField(s string) bool {
	for _, field := range thoughtFields() {
		if s == field {
			return true
		}
	}
	return false
}

// isItemID reports whether the API accepts s as the ID of an item of the given kind.
func isItemID(s, kind string) bool {
	if len(s) > 64 || !strings.HasPrefix(s, kind) {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// textMark identifies the message that a text belongs to. Its encoding is that of pi: the
// plain ID, or an object if there are more fields.
type textMark struct {
	Version int    `json:"v"`
	ID      string `json:"id"`
	Phase   string `json:"phase"`
}

func readTextMark(s string) textMark {
	var mark textMark
	if strings.HasPrefix(s, "{") && json.Unmarshal([]byte(s), &mark) == nil && mark.Version == 1 {
		return mark
	}
	return textMark{ID: s}
}

func (m textMark) String() string {
	if m.Phase == "" || m.ID == "" {
		return m.ID
	}
	b := rawjson.AppendString([]byte(`{"v":1,"id":`), m.ID)
	b = rawjson.AppendString(append(b, `,"phase":`...), m.Phase)
	return string(append(b, '}'))
}
