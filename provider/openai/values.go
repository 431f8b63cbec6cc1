package openai

import (
	"bytes"
	"encoding/json"
	"strconv"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Servers differ in their types: a text may be null, a number a string, an object its JSON.
// These functions accept the known variants and return the zero value for anything else.

// textOf parses a string and sanitizes it for a log.
func textOf(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	s, _ = firn.CleanText(s)
	return s
}

// scalar parses a string or a number as text.
func scalar(raw json.RawMessage) string {
	if n, err := strconv.ParseFloat(string(raw), 64); err == nil && n == float64(int64(n)) {
		return strconv.FormatInt(int64(n), 10)
	}
	return textOf(raw)
}

// present reports whether a member exists and is not null.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// count is a number of tokens. Anything that is not a number decodes as zero.
type count int64

// UnmarshalJSON implements [json.Unmarshaler].
func (c *count) UnmarshalJSON(raw []byte) error {
	*c = 0
	if n, err := strconv.ParseFloat(string(raw), 64); err == nil && n > 0 && n < 1<<52 {
		*c = count(n)
	}
	return nil
}

// argumentsOf converts the arguments of a call to a JSON object. An object is kept byte for
// byte. Text that is not JSON is kept in a member "invalid", so that the model can be
// informed.
func argumentsOf(raw []byte) json.RawMessage {
	if rawjson.Valid(raw) == nil {
		clean, _ := rawjson.Clean(raw)
		return clean
	}
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage(`{}`)
	}
	var inner string
	if json.Unmarshal(trimmed, &inner) == nil && rawjson.Valid([]byte(inner)) == nil {
		clean, _ := rawjson.Clean([]byte(inner))
		return clean
	}
	return append(rawjson.AppendString([]byte(`{"invalid":`), string(raw)), '}')
}

// isObject reports whether the arguments are complete.
func isObject(raw []byte) bool { return rawjson.Valid(raw) == nil }

// callIDs assigns the IDs of the calls of one answer: those of the server, or new ones
// where an ID is missing or repeated.
type callIDs struct {
	used map[string]bool
}

func (c *callIDs) unique(given string) string {
	if c.used == nil {
		c.used = make(map[string]bool)
	}
	id := given
	for n := len(c.used) + 1; id == "" || c.used[id]; n++ {
		id = "call_" + strconv.Itoa(n)
	}
	c.used[id] = true
	return id
}
