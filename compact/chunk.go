package compact

import (
	"firn.dev"
	"firn.dev/internal/find/digest"
	"firn.dev/window"
)

// chunk is a piece of a conversation: the next n lines, spelt.
type chunk struct {
	n    int
	text string
}

const (
	// minChunk is the least piece that is worth a call, in tokens.
	minChunk = 128
	// Of what the summariser's window has room for, only 5/6 is used: counting
	// tokens is guessing.
	marginOver, marginUnder = 5, 6
)

// budget is how many tokens of conversation fit into one question beside the
// rest of it: the window less the answer, the prompt and the summary so far.
func (s *summariser) budget(t task, previous string, allowed int64) int64 {
	input := (known(s.info.Window) - s.output(allowed)) * marginOver / marginUnder
	rest := s.counter.CountText(systemPrompt) + s.counter.CountText(s.prompt(t, previous, "x").text())
	return (input - rest) >> s.squeeze
}

// split cuts lines into pieces that fit. It returns none if no model is to be
// asked, or none fits.
func (s *summariser) split(t task, previous string, lines []digest.Line, allowed int64) []chunk {
	budget := s.budget(t, previous, allowed)
	if !s.willing() || budget < minChunk || allowed < minBody/2 {
		return nil
	}
	var chunks []chunk
	used, from := int64(0), 0
	for i := range lines {
		n := s.counter.CountText(spell(lines[i:i+1])) + 1
		if used > 0 && used+n > budget {
			chunks = append(chunks, s.chunk(lines[from:i], budget))
			used, from = 0, i
		}
		used += n
	}
	return append(chunks, s.chunk(lines[from:], budget))
}

// chunk spells lines that fit together, or one that is too long alone.
func (s *summariser) chunk(lines []digest.Line, budget int64) chunk {
	text := spell(lines)
	if s.counter.CountText(text) <= budget {
		return chunk{len(lines), text}
	}
	short := make([]digest.Line, len(lines))
	for i, l := range lines {
		short[i] = s.fitLine(l, budget/int64(len(lines)))
	}
	return chunk{len(lines), spell(short)}
}

// fitLine cuts a line so that it has at most so many tokens: its beginning and
// its end are kept, with a notice between.
func (s *summariser) fitLine(l digest.Line, tokens int64) digest.Line {
	whole := l.Text
	keep := len(whole)
	for range 8 {
		n := s.counter.CountText(spell([]digest.Line{l}))
		if n <= tokens {
			return l
		}
		keep = int(float64(keep)*float64(tokens)/float64(n)) - 48
		l.Text = cutMiddle(whole, keep)
	}
	return digest.Line{Role: l.Role, Kind: digest.Said, Text: "[a message that is too long to be shown]"}
}

// spell writes lines as a summariser is shown them, unable to end their fence.
func spell(lines []digest.Line) string { return guard(digest.Write(lines, 0)) }

// linesOf takes entries apart. What no model is sent is not in them.
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
				text := "What happened on a branch that was left:\n" + b.Summary
				messages = append(messages, firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}})
			}
		}
	}
	return digest.Lines(messages)
}
