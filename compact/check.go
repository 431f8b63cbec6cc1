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

// A summary is taken only if it passes [verdict]: it says something, calls no
// tool, does not refuse, is not far too long, and names at least one of the
// files and identifiers in what it stands for if there are minNames of them.
const (
	// minNames is how many names there must be before one of them is looked for.
	minNames = 5
	// tooLong is how many times the allowed length a summary may have to be cut
	// to it; a longer one did not do what was asked.
	tooLong = 2
	// scant is how few characters say nothing about something of more than
	// ample tokens.
	scant, ample = 40, 1000
)

// cutNotice stands where a summary was cut.
const cutNotice = "\n\n[The summary was too long and is cut here.]"

// verdict checks a summariser's answer. It returns the summary to be used, or
// a word on why there is none.
func verdict(answer *firn.Message, known *nameBook, tokens, allowed int64, counter window.TokenCounter) (text, fault string) {
	for _, part := range answer.Parts {
		if _, ok := part.(firn.ToolCall); ok {
			return "", "it calls a tool"
		}
	}
	text, _ = firn.CleanText(answer.Text())
	text = bodyOf(text)
	long := counter.CountText(text)
	switch {
	case answer.StopReason == firn.StopError || answer.StopReason == firn.StopAborted:
		return "", "it failed"
	case text == "":
		return "", "it says nothing"
	case refuses(text):
		return "", "it refuses"
	case tokens > ample && utf8.RuneCountInString(text) < scant:
		return "", "it says too little"
	case long > tooLong*allowed:
		return "", "it is far too long"
	case !known.named(text):
		return "", "it names nothing of what it stands for"
	case long > allowed || answer.StopReason == firn.StopLength:
		text = shorten(text, allowed, counter)
	}
	return text, ""
}

var refusal = pattern.New(`(?i)^\W*(i['’]?m sorry|i am sorry|sorry|i (can['’]?t|cannot|can not|am unable|am not able|won['’]?t|will not|must decline)\b|i['’]m (unable|not able)|as an ai\b|there (is|was) no (conversation|content|text)|no conversation|(please )?provide (me )?(with )?the conversation)`)

// refuses reports whether a text that has none of the headings begins like an
// excuse.
func refuses(text string) bool {
	return !strings.Contains(text, "## ") && utf8.RuneCountInString(text) < 600 && refusal.MatchString(text)
}

// shorten cuts a text to the last line that fits, and says so.
func shorten(text string, allowed int64, counter window.TokenCounter) string {
	room := max(0, allowed-counter.CountText(cutNotice))
	short := fitText(text, room, counter)
	if at := strings.LastIndexByte(short, '\n'); at > len(short)/2 {
		short = short[:at]
	}
	return strings.TrimSpace(short) + cutNotice
}

// fitText is about the longest prefix of a text that has at most so many tokens.
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

// nameBook holds the names in a conversation that a summary of it may be
// expected to tell some of: files that were touched, and words of the user and
// the assistant that look like names and stand in more than one message.
type nameBook struct {
	known map[string]bool
	// met tells in which message a word was first met.
	met map[string]int
	n   int
}

var identifier = pattern.New(`[A-Za-z][A-Za-z0-9]*(?:[_./][A-Za-z0-9]+)+|[a-z]+[A-Z][A-Za-z0-9]+`)

// How much of a message is looked at for names.
const (
	nameBytes = 1000
	nameWords = 50
)

// add looks for names in lines.
func (b *nameBook) add(lines []digest.Line) {
	if b.known == nil {
		b.known, b.met = make(map[string]bool), make(map[string]int)
	}
	read, modified := digest.Files(lines)
	for _, file := range append(read, modified...) {
		b.known[strings.ToLower(path.Base(file))] = true
	}
	for _, l := range lines {
		if b.n++; l.Kind != digest.Said {
			continue
		}
		for _, word := range identifier.FindAllString(firn.CutText(l.Text, nameBytes), nameWords) {
			word = strings.ToLower(word)
			if first, ok := b.met[word]; !ok {
				b.met[word] = b.n
			} else if first != b.n {
				b.known[word] = true
			}
		}
	}
}

// named reports whether a text has one of the names. Where there are few it
// need not.
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
