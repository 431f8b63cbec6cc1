package compact

import (
	"path"
	"strings"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/find/digest"
	"firn.dev/window"
)

// A summary is accepted only if it passes [checkSummary]: it is not empty, calls no tool,
// is not a refusal, is not far too long, and contains at least one of the file names and
// identifiers of its input if there are at least minNames of them.
const (
	// minNames is the number of names from which on a summary must contain one.
	minNames = 5
	// tooLong is the multiple of the allowed length up to which a summary is cut. A longer
	// one did not follow the instructions and is rejected.
	tooLong = 2
	// A summary of fewer than minSummaryChars characters is rejected if its input has more
	// than longInput tokens.
	minSummaryChars, longInput = 40, 1000
)

// cutNotice marks the end of a summary that was cut.
const cutNotice = "\n\n[The summary was too long and is cut here.]"

// checkSummary checks a summarizer's answer. It returns the summary to use, or the reason
// for rejecting the answer.
func checkSummary(answer *firn.Message, known *nameBook, tokens, allowed int64, counter window.TokenCounter) (text, fault string) {
	for _, part := range answer.Parts {
		if _, ok := part.(firn.ToolCall); ok {
			return "", "it contains a tool call"
		}
	}
	text, _ = firn.CleanText(answer.Text())
	text = bodyOf(text)
	long := counter.CountText(text)
	switch {
	case answer.StopReason == firn.StopError || answer.StopReason == firn.StopAborted:
		return "", "the request failed"
	case text == "":
		return "", "it is empty"
	case refuses(text):
		return "", "it is a refusal"
	case tokens > longInput && utf8.RuneCountInString(text) < minSummaryChars:
		return "", "it is too short"
	case long > tooLong*allowed:
		return "", "it is far too long"
	case !known.named(text):
		return "", "it mentions nothing from the conversation"
	case long > allowed || answer.StopReason == firn.StopLength:
		text = shorten(text, allowed, counter)
	}
	return text, ""
}

var refusal = pattern.New(`(?i)^\W*(i['’]?m sorry|i am sorry|sorry|i (can['’]?t|cannot|can not|am unable|am not able|won['’]?t|will not|must decline)\b|i['’]m (unable|not able)|as an ai\b|there (is|was) no (conversation|content|text)|no conversation|(please )?provide (me )?(with )?the conversation)`)

// refuses reports whether a text without any of the headings starts like a refusal.
func refuses(text string) bool {
	return !strings.Contains(text, "## ") && utf8.RuneCountInString(text) < 600 && refusal().MatchString(text)
}

// shorten cuts a text after the last line that fits and adds cutNotice.
func shorten(text string, allowed int64, counter window.TokenCounter) string {
	room := max(0, allowed-counter.CountText(cutNotice))
	short := fitText(text, room, counter)
	if at := strings.LastIndexByte(short, '\n'); at > len(short)/2 {
		short = short[:at]
	}
	return strings.TrimSpace(short) + cutNotice
}

// fitText returns approximately the longest prefix of a text with at most the given number
// of tokens.
func fitText(text string, tokens int64, counter window.TokenCounter) string {
	for tokens > 0 {
		n := counter.CountText(text)
		if n <= tokens {
			return text
		}
		text = firn.CutText(text, min(len(text)-1, int(float64(len(text))*float64(tokens)/float64(n))))
	}
	return ""
}

// nameBook holds the names of a conversation that a summary is expected to mention: files
// that were touched, and words of the user and the assistant that look like identifiers and
// occur in more than one message.
type nameBook struct {
	known map[string]bool
	// met maps a word to the message in which it first occurred.
	met map[string]int
	n   int
}

var identifier = pattern.New(`[A-Za-z][A-Za-z0-9]*(?:[_./][A-Za-z0-9]+)+|[a-z]+[A-Z][A-Za-z0-9]+`)

// Limits for the search for names in a message.
const (
	nameBytes = 1000
	nameWords = 50
)

// add collects the names in lines.
func (b *nameBook) add(lines []digest.Line) {
	if b.known == nil {
		b.known, b.met = make(map[string]bool), make(map[string]int)
	}
	read, modified := digest.Files(lines)
	for _, file := range append(read, modified...) {
		b.known[strings.ToLower(path.Base(file))] = true
	}
	for _, l := range lines {
		if b.n++; l.Kind != digest.Speech {
			continue
		}
		for _, word := range identifier().FindAllString(firn.CutText(l.Text, nameBytes), nameWords) {
			word = strings.ToLower(word)
			if first, ok := b.met[word]; !ok {
				b.met[word] = b.n
			} else if first != b.n {
				b.known[word] = true
			}
		}
	}
}

// named reports whether a text contains one of the names, or whether there are too few
// names to require it.
func (b *nameBook) named(text string) bool {
	if len(b.known) < minNames {
		return true
	}
	text = strings.ToLower(text)
	for name := range b.known {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}
