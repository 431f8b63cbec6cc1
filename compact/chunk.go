package compact

import (
	"firn.dev"
	"firn.dev/internal/find/digest"
	"firn.dev/window"
)

// chunk is a piece of a conversation: the text of the next n lines.
type chunk struct {
	n    int
	text string
}

const (
	// minChunk is the minimum size of a piece that is worth a call, in tokens.
	minChunk = 128
	// Only 5/6 of the room in the summarizer's window is used, because token counts are
	// estimates.
	marginOver, marginUnder = 5, 6
)

// budget returns the number of conversation tokens that fit into one prompt: the window
// without the answer, the instructions and the summary so far.
func (s *summarizer) budget(t task, previous string, allowed int64) int64 {
	input := (windowSize(s.info.Window) - s.output(allowed)) * marginOver / marginUnder
	rest := s.counter.CountText(systemPrompt) + s.counter.CountText(s.prompt(t, previous, "x").text())
	return (input - rest) >> s.squeeze
}

// split divides lines into pieces that fit. It returns none if no model is to be used or
// nothing fits.
func (s *summarizer) split(t task, previous string, lines []digest.Line, allowed int64) []chunk {
	budget := s.budget(t, previous, allowed)
	if !s.mayAsk() || budget < minChunk || allowed < minBody/2 {
		return nil
	}
	var chunks []chunk
	used, from := int64(0), 0
	for i := range lines {
		n := s.counter.CountText(formatLines(lines[i:i+1])) + 1
		if used > 0 && used+n > budget {
			chunks = append(chunks, s.chunk(lines[from:i], budget))
			used, from = 0, i
		}
		used += n
	}
	return append(chunks, s.chunk(lines[from:], budget))
}

// chunk formats as many lines as fit together, or one line that is too long, shortened.
func (s *summarizer) chunk(lines []digest.Line, budget int64) chunk {
	text := formatLines(lines)
	if s.counter.CountText(text) <= budget {
		return chunk{len(lines), text}
	}
	short := make([]digest.Line, len(lines))
	for i, l := range lines {
		short[i] = s.fitLine(l, budget/int64(len(lines)))
	}
	return chunk{len(lines), formatLines(short)}
}

// fitLine shortens a line to the given number of tokens. It keeps the start and the end,
// with a notice between them.
func (s *summarizer) fitLine(l digest.Line, tokens int64) digest.Line {
	whole := l.Text
	keep := len(whole)
	for range 8 {
		n := s.counter.CountText(formatLines([]digest.Line{l}))
		if n <= tokens {
			return l
		}
		keep = int(float64(keep)*float64(tokens)/float64(n)) - 48
		l.Text = cutMiddle(whole, keep)
	}
	return digest.Line{Role: l.Role, Kind: digest.Speech, Text: "[a message too long to show]"}
}

// formatLines formats lines for the summarizer and escapes tags that could end their fence.
func formatLines(lines []digest.Line) string { return escapeTags(digest.Write(lines, 0)) }

// linesOf splits entries into lines. It skips content that is never sent to a model.
func linesOf(entries []firn.Entry) []digest.Line {
	var messages []firn.Message
	for i := range entries {
		switch b := entries[i].Body.(type) {
		case *firn.Message:
			if !failed(b) {
				messages = append(messages, *window.Named(&entries[i], "", ""))
			}
		case *firn.CustomMessage:
			messages = append(messages, firn.Message{Role: firn.RoleUser, Parts: b.Parts})
		case *firn.BranchSummary:
			if b.Summary != "" {
				text := "What happened on an abandoned branch:\n" + b.Summary
				messages = append(messages, firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}})
			}
		}
	}
	return digest.Lines(messages)
}
