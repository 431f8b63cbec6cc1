package agent

import (
	"strings"

	"firn/window"
)

// CutOff returns what a path has of an answer that a crash cut off and that no
// turn has marked yet; empty if there is none. The next turn marks it.
func CutOff(p window.Path) string {
	var thinking, text strings.Builder
	for _, piece := range loose(p.Entries) {
		thinking.WriteString(piece.Thinking)
		text.WriteString(piece.Text)
	}
	if text.Len() > 0 {
		return text.String()
	}
	return thinking.String()
}
