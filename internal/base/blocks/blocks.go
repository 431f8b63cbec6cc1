// Package blocks reads and writes message content in the format of Anthropic's API: a
// string, or an array of blocks of text, images, thinking, tool calls and their results.
// Several tools store their transcripts in that format.
//
// It handles only content: no roles, lines or files. It does not decide which content may
// be sent to a model.
package blocks

import (
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Style is the spacing of JSON.
type Style int

// The styles.
const (
	// Compact has no spaces, as JavaScript and Rust write JSON.
	Compact Style = iota
	// Python has a space after each comma and colon, as json.dumps does.
	Python
)

func (s Style) comma() string {
	if s == Python {
		return ", "
	}
	return ","
}

func (s Style) colon() string {
	if s == Python {
		return ": "
	}
	return ":"
}

// Known reports whether Anthropic's API has a block for p, so that [Append] can write it
// for others to send. It has none for a [firn.Shell], which Append writes as text, and for
// opaque parts of other origin, which it writes unchanged.
func Known(p firn.Part) bool {
	switch p := p.(type) {
	case firn.Text, firn.Image, firn.Thinking, firn.ToolCall, firn.ToolResult:
		return true
	case firn.OpaquePart:
		return apiBlocks[p.Type] && rawjson.Valid(p.Raw) == nil
	}
	return false
}

// apiBlocks are the kinds of blocks of the API that firn has no part for.
var apiBlocks = map[string]bool{
	"image": true, "document": true, "search_result": true, "container_upload": true,
	"server_tool_use": true, "web_search_tool_result": true, "web_fetch_tool_result": true,
	"code_execution_tool_result": true, "bash_code_execution_tool_result": true,
	"text_editor_code_execution_tool_result": true, "tool_search_tool_result": true,
	"mcp_tool_use": true, "mcp_tool_result": true, "tool_reference": true,
}

// VisibleTexts returns the texts among parts that are not blank. Of an answer that failed
// they are all that an API accepts: its calls have no results, and its thinking may be
// unsigned.
func VisibleTexts(parts []firn.Part) (texts []firn.Part) {
	for _, p := range parts {
		if text, ok := p.(firn.Text); ok && strings.TrimSpace(text.Text) != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// AppendValue appends a raw JSON value spaced in the given style, cleaned (see
// [rawjson.Clean]) and otherwise byte for byte: numbers and strings are not re-encoded. If
// raw is not one JSON value, it appends nothing and returns an error.
func AppendValue(dst, raw []byte, style Style) ([]byte, error) {
	r := rawjson.New(raw)
	r.Skip()
	if err := r.End(); err != nil {
		return dst, fmt.Errorf("format a JSON value: %w", err)
	}
	raw, _ = rawjson.Clean(raw)
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			end := stringEnd(raw, i)
			dst = append(dst, raw[i:end]...)
			i = end
		case ',':
			dst = append(dst, style.comma()...)
			i++
		case ':':
			dst = append(dst, style.colon()...)
			i++
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst, nil
}

// stringEnd returns the end of the string that begins at i, which must be valid.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(raw))
}
