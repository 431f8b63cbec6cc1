package history

import (
	"path/filepath"
	"slices"
	"strings"
)

// Path returns the path of the history file in a home.
func Path(home string) string { return filepath.Join(home, "chat_history") }

// Typed is a list of texts to erase that a user may have typed: messages, titles, labels
// and tags, each on one line. [Erase] uses it to find matching lines.
type Typed []string

// Add adds a text unless it is blank.
func (t *Typed) Add(text string) {
	if text = oneLine(text); text != "" {
		*t = append(*t, text)
	}
}

// minMatch is the minimum length of a text for a line to match because one contains the
// other.
const minMatch = 5

// Has reports whether a typed line equals one of the texts, is contained in one, or
// contains one, as a command does.
func (t Typed) Has(line string) bool {
	line = oneLine(line)
	return slices.ContainsFunc(t, func(text string) bool {
		return line == text || len(text) >= minMatch && strings.Contains(line, text) || len(line) >= minMatch && strings.Contains(text, line)
	})
}

// oneLine returns a text with single spaces between its words.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
