package store

import (
	"encoding/json"
	"slices"
	"strings"

	"firn.dev"
)

const (
	// promptLen is the maximum length of Info.Prompt, in bytes.
	promptLen = 100
	// promptRead is the number of bytes of a message that are searched for a prompt.
	promptRead = 64 << 10
)

// generatedTags are the tags around text that a tool added to a message of the user.
var generatedTags = []string{
	"system-reminder", "environment_context", "user_instructions", "local-command-caveat",
	"local-command-stdout", "local-command-stderr", "command-message",
}

// importedFrom returns the tool whose original lines the header of a session carries.
func importedFrom(extra firn.Fields) string {
	value := extra.Get("origin")
	if value == nil {
		return ""
	}
	var origin struct {
		Tool string `json:"tool"`
	}
	if json.Unmarshal(value, &origin) != nil {
		return ""
	}
	return origin.Tool
}

// promptOf returns the beginning of a message without the tags of tools and the text that
// tools added; that text without its tags if there is no other.
func promptOf(m *firn.Message) string {
	text := m.Text()
	if !strings.Contains(text, "<") {
		return firn.CutText(text, promptLen)
	}
	text = firn.CutText(text, promptRead)
	plain := withoutTags(text, generatedTags)
	if strings.TrimSpace(plain) == "" {
		plain = withoutTags(text, nil)
	}
	return firn.CutText(strings.TrimSpace(plain), promptLen)
}

// withoutTags replaces the tags of tools in a text by spaces, and those of the given names
// together with their content.
func withoutTags(text string, generated []string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '<')
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i:]
		name, length := toolTag(text)
		if length == 0 {
			b.WriteByte('<')
			text = text[1:]
			continue
		}
		b.WriteByte(' ')
		text = text[length:]
		if slices.Contains(generated, name) {
			_, text, _ = strings.Cut(text, "</"+name+">") // a text that was cut may lack the end
		}
	}
}

// toolTag returns the name and the length of the tag that a text starts with, if it is one of
// a tool: those have a hyphen or an underscore in their names. The name of an end tag starts
// with a slash.
func toolTag(text string) (name string, length int) {
	joined := false
	for i, c := range []byte(text[1:]) {
		switch {
		case c >= 'a' && c <= 'z', c == '/' && i == 0:
		case (c == '-' || c == '_') && i > 0:
			joined = true
		case c == '>' && joined:
			return text[1 : i+1], i + 2
		default:
			return "", 0
		}
	}
	return "", 0
}
