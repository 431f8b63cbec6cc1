package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// NoReply is the marker with which a model declines to answer. The rest of such an answer
// is kept in the log but not shown to the user.
const NoReply = "NO_REPLY"

// Silence configures which answers are silent.
type Silence string

const (
	// SilentMark hides answers that start or end with [NoReply]. While streaming, only the
	// start is checked.
	SilentMark Silence = ""
	// SilentExact hides answers that consist of [NoReply] only.
	SilentExact Silence = "exact"
	// SilentNever shows every answer.
	SilentNever Silence = "never"
)

// Silent reports whether a complete answer is hidden from the user.
func (s Silence) Silent(text string) bool {
	switch s {
	case SilentNever:
		return false
	case SilentExact:
		return strings.TrimSpace(text) == NoReply
	}
	return startsWithMark(text) || endsWithMark(text)
}

// Strip removes the marker from the end of an answer that is not silent, in exact mode.
func (s Silence) Strip(text string) string {
	if s != SilentExact || s.Silent(text) {
		return text
	}
	trimmed := strings.TrimSpace(text)
	rest, ok := strings.CutSuffix(trimmed, NoReply)
	if !ok || rest == "" {
		return text
	}
	if last, _ := utf8.DecodeLastRuneInString(rest); !unicode.IsSpace(last) && last != '*' {
		return text
	}
	return strings.TrimRight(rest, " \t\r\n*")
}

// startsWithMark reports whether the marker is the first word.
func startsWithMark(text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(text, unicode.IsSpace), NoReply)
	if !ok {
		return false
	}
	r, size := utf8.DecodeRuneInString(rest)
	return size == 0 || !wordRune(r)
}

// endsWithMark reports whether the marker is the last word.
func endsWithMark(text string) bool {
	rest, ok := strings.CutSuffix(strings.TrimRightFunc(text, func(r rune) bool { return !wordRune(r) }), NoReply)
	if !ok {
		return false
	}
	r, size := utf8.DecodeLastRuneInString(rest)
	return size == 0 || !wordRune(r)
}

// wordRune reports whether a rune is part of a word, as in \w.
func wordRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// silenceFilter holds back the text of an answer while it may still turn out to be silent,
// so that no part of the marker is shown.
type silenceFilter struct {
	mode Silence
	held strings.Builder
	// open means that the answer cannot start with the marker any more, so all text passes.
	open bool
}

// add adds the next piece and returns the text to show now.
func (h *silenceFilter) add(piece string) string {
	if h.open || h.mode == SilentNever {
		return piece
	}
	h.held.WriteString(piece)
	if text := h.held.String(); h.mayBeSilent(text) {
		return ""
	}
	return h.release()
}

// release returns the held text once the answer is known not to be silent.
func (h *silenceFilter) release() string {
	h.open = true
	text := h.held.String()
	h.held.Reset()
	return text
}

// mayBeSilent reports whether an answer that starts with text can still be silent.
func (h *silenceFilter) mayBeSilent(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n*_`'\"([{<>#-.")
	if len(text) < len(NoReply) {
		return strings.HasPrefix(NoReply, text)
	}
	rest, ok := strings.CutPrefix(text, NoReply)
	if !ok {
		return false
	}
	if h.mode == SilentExact {
		return strings.TrimSpace(rest) == ""
	}
	r, size := utf8.DecodeRuneInString(rest)
	return size == 0 || !wordRune(r)
}
