package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// NoReply is what a model says to say nothing. What follows is for the log,
// not for the user.
const NoReply = "NO_REPLY"

// Silence says which answers are silent.
type Silence string

const (
	// SilentMark keeps answers that begin or end with [NoReply] from the user.
	// While it streams, an answer is held back only for its beginning.
	SilentMark Silence = ""
	// SilentExact keeps those that are [NoReply] and nothing else.
	SilentExact Silence = "exact"
	// SilentNever delivers everything.
	SilentNever Silence = "never"
)

// Silent reports whether a whole answer is not for the user.
func (s Silence) Silent(text string) bool {
	switch s {
	case SilentNever:
		return false
	case SilentExact:
		return strings.TrimSpace(text) == NoReply
	}
	return begins(text) || ends(text)
}

// Strip takes the mark off the end of an answer that is not silent, in exact
// mode: the model said something after all, and then the mark.
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

// begins reports whether the mark is the first word.
func begins(text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(text, unicode.IsSpace), NoReply)
	if !ok {
		return false
	}
	r, size := utf8.DecodeRuneInString(rest)
	return size == 0 || !wordRune(r)
}

// ends reports whether the mark is the last word.
func ends(text string) bool {
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

// hush holds back the text of an answer while it may still turn out to be
// silent, so that no piece of the mark is ever shown.
type hush struct {
	mode Silence
	held strings.Builder
	// open: it cannot begin with the mark any more; all may pass.
	open bool
}

// pass takes the next piece and returns what may be shown now.
func (h *hush) pass(piece string) string {
	if h.open || h.mode == SilentNever {
		return piece
	}
	h.held.WriteString(piece)
	if text := h.held.String(); h.mayBeSilent(text) {
		return ""
	}
	return h.release()
}

// release returns what was held back, once it is known not to be silent.
func (h *hush) release() string {
	h.open = true
	text := h.held.String()
	h.held.Reset()
	return text
}

// mayBeSilent reports whether an answer that begins so can still be silent for
// its beginning.
func (h *hush) mayBeSilent(text string) bool {
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
