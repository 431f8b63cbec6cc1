package view

import (
	"strings"
	"unicode"

	"firn.dev"
)

// PreviewRunes is the length of a preview, in characters.
const PreviewRunes = 80

// Preview returns the beginning of a text on one line, with at most the given number of
// characters.
func Preview(text string, runes int) string {
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

// previewOf returns the preview of an entry.
func previewOf(e *firn.Entry) string {
	switch b := e.Body.(type) {
	case *firn.Message:
		return previewParts(b)
	case *firn.Compaction:
		return Preview(b.Summary, PreviewRunes)
	case *firn.BranchSummary:
		return Preview(b.Summary, PreviewRunes)
	case *firn.Tombstone:
		return Preview("hides "+string(b.Target)+" "+b.Reason, PreviewRunes)
	case *firn.Label:
		return Preview(b.Name, PreviewRunes)
	case *firn.Title:
		return Preview(b.Name, PreviewRunes)
	case *firn.ModelChange:
		return Preview(b.Provider+"/"+b.Model, PreviewRunes)
	case *firn.ThinkingChange:
		return Preview(b.Level, PreviewRunes)
	case *firn.Custom:
		return Preview(b.Type, PreviewRunes)
	case *firn.CustomMessage:
		return Preview(firn.JoinText(b.Parts), PreviewRunes)
	case *firn.Head:
		return Preview(b.Reason, PreviewRunes)
	}
	return ""
}

// previewParts returns the preview of a message: its text, or else its tool calls and other
// parts.
func previewParts(m *firn.Message) string {
	if text := Preview(m.Text(), PreviewRunes); text != "" {
		return text
	}
	var parts []string
	for _, part := range m.Parts {
		switch p := part.(type) {
		case firn.ToolCall:
			parts = append(parts, p.Name+" "+firn.CutText(string(p.Arguments), 4*PreviewRunes))
		case firn.ToolResult:
			parts = append(parts, p.Name+": "+firn.CutText(firn.JoinText(p.Content), 4*PreviewRunes))
		case firn.Shell:
			parts = append(parts, "$ "+p.Command)
		case firn.Image:
			parts = append(parts, "[image "+p.MimeType+"]")
		}
	}
	if m.Error != "" {
		parts = append(parts, m.Error)
	}
	return Preview(strings.Join(parts, " · "), PreviewRunes)
}
