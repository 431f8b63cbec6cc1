package history

import (
	"path/filepath"
	"slices"
	"strings"
)

// Path is where what was typed at terminals is kept in a home.
func Path(home string) string { return filepath.Join(home, "chat_history") }

// Typed is what somebody may have typed of what is to be erased: messages, titles,
// labels and tags, each on one line. It is what [Erase] looks for.
type Typed []string

// Add adds a text, if there is something in it.
func (t *Typed) Add(text string) {
	if text = oneLine(text); text != "" {
		*t = append(*t, text)
	}
}

// telling is how long a text must be for a line to be taken for the same because
// one is a part of the other.
const telling = 5

// Has reports whether a line that was typed is something of it, a part of it, or
// has it in it, as a command has.
func (t Typed) Has(line string) bool {
	line = oneLine(line)
	return slices.ContainsFunc(t, func(text string) bool {
		return line == text || len(text) >= telling && strings.Contains(line, text) || len(line) >= telling && strings.Contains(text, line)
	})
}

// oneLine is a text with single spaces between its words.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
