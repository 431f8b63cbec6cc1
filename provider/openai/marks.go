package openai

import (
	"encoding/json"
	"strings"

	"firn/internal/rawjson"
)

// This file is about what has to be kept of an answer to send it back: the
// marks of firn's parts.
//
// Of the Responses API, a call keeps the id of its item, a text that of its
// message, and thinking all of the reasoning item. The first is not joined to
// the id of the call, as pi does it (call_1|fc_1): ids of calls are made legal
// for whoever is asked next, marks are only for who made them.
//
// Of the Chat Completions API, thinking keeps the name of the member it came
// in, and a call the signature that Google's servers want back.

// thoughtFields are the members in which servers tell what a model thinks.
func thoughtFields() []string { return []string{"reasoning_content", "reasoning", "reasoning_text"} }

func isThoughtField(s string) bool {
	for _, field := range thoughtFields() {
		if s == field {
			return true
		}
	}
	return false
}

// isItemID reports whether the API would take s for the id of an item of a
// kind.
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

// textMark is what is kept of the message that a text is from. It is written
// as pi writes it: the plain id, or an object if there is more to tell.
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
