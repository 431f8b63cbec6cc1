package gateway

import (
	"strings"
	"unicode"

	"firn"
)

// previewRunes is how long a preview is, in characters.
const previewRunes = 80

// preview is the beginning of a text on one line, in at most so many
// characters.
func preview(text string, runes int) string {
	var b strings.Builder
	space, n := false, 0
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			n++
			b.WriteByte(' ')
			space = false
		}
		if n++; n > runes {
			return strings.TrimSpace(string([]rune(b.String())[:max(runes-1, 0)])) + "…"
		}
		b.WriteRune(r)
	}
	return b.String()
}

// previewOf is the beginning of what an entry says.
func previewOf(e *firn.Entry) string {
	switch b := e.Body.(type) {
	case *firn.Message:
		return previewParts(b)
	case *firn.Compaction:
		return preview(b.Summary, previewRunes)
	case *firn.BranchSummary:
		return preview(b.Summary, previewRunes)
	case *firn.Tombstone:
		return preview("hides "+string(b.Target)+" "+b.Reason, previewRunes)
	case *firn.Label:
		return preview(b.Name, previewRunes)
	case *firn.Title:
		return preview(b.Name, previewRunes)
	case *firn.ModelChange:
		return preview(b.Provider+"/"+b.Model, previewRunes)
	case *firn.ThinkingChange:
		return preview(b.Level, previewRunes)
	case *firn.Custom:
		return preview(b.Type, previewRunes)
	case *firn.CustomMessage:
		return preview(firn.JoinText(b.Parts), previewRunes)
	case *firn.Head:
		return preview(b.Reason, previewRunes)
	}
	return ""
}

// previewParts is the beginning of a message: what it says, else what it does.
func previewParts(m *firn.Message) string {
	if text := preview(m.Text(), previewRunes); text != "" {
		return text
	}
	var said []string
	for _, part := range m.Parts {
		switch p := part.(type) {
		case firn.ToolCall:
			said = append(said, p.Name+" "+firn.CutText(string(p.Arguments), 4*previewRunes))
		case firn.ToolResult:
			said = append(said, p.Name+": "+firn.CutText(firn.JoinText(p.Content), 4*previewRunes))
		case firn.Shell:
			said = append(said, "$ "+p.Command)
		case firn.Image:
			said = append(said, "[image "+p.MimeType+"]")
		}
	}
	if m.Error != "" {
		said = append(said, m.Error)
	}
	return preview(strings.Join(said, " · "), previewRunes)
}
