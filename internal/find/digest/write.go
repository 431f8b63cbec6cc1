package digest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// usualChars is the default maximum length of a result.
const usualChars = 2000

// Write formats lines for a model that summarizes them: one paragraph each, starting with a
// tag for the speaker ([User]:, [Assistant]:, [Assistant thinking]:, [Assistant tool
// calls]:, [Tool result read_file]:, [Tool error bash]:). Results and argument values are
// cut to resultChars characters (zero means 2000, negative means no limit), with a notice.
// Text that looks like a tag at the beginning of a line is escaped with a backslash, so
// that it cannot impersonate a speaker and [Parse] restores it.
func Write(lines []Line, resultChars int) string {
	if resultChars == 0 {
		resultChars = usualChars
	}
	var b strings.Builder
	open := ""
	for i, l := range lines {
		tag := tagOf(l)
		switch {
		case l.Kind == Call && tag == open:
			b.WriteString("; ")
		case i > 0:
			b.WriteString("\n\n")
			fallthrough
		default:
			b.WriteString(tag)
			b.WriteByte(' ')
		}
		open = tag
		switch l.Kind {
		case Call:
			escape(&b, formatCall(l, resultChars))
		case Result:
			escape(&b, cutMiddle(l.Text, resultChars))
		default:
			escape(&b, l.Text)
		}
	}
	text, _ := firn.CleanText(b.String())
	return text
}

// Tags at the beginning of a paragraph.
const (
	tagUser      = "[User]:"
	tagAssistant = "[Assistant]:"
	tagSystem    = "[System]:"
	tagThinking  = "[Assistant thinking]:"
	tagCalls     = "[Assistant tool calls]:"
	tagUserCalls = "[User tool calls]:"
	tagResult    = "[Tool result"
	tagError     = "[Tool error"
)

func tagOf(l Line) string {
	switch {
	case l.Kind == Call && l.Role == firn.RoleUser:
		return tagUserCalls
	case l.Kind == Call:
		return tagCalls
	case l.Kind == Thought:
		return tagThinking
	case l.Kind == Result && l.IsError:
		return tagError + tagName(l.Name)
	case l.Kind == Result:
		return tagResult + tagName(l.Name)
	case l.Role == firn.RoleAssistant:
		return tagAssistant
	case l.Role == firn.RoleSystem:
		return tagSystem
	}
	return tagUser
}

// tagName returns the rest of the tag of a result.
func tagName(name string) string {
	if name == "" {
		return "]:"
	}
	return " " + formatName(name) + "]:"
}

// formatName returns a name, quoted if necessary.
func formatName(name string) string {
	if plainName(name) {
		return name
	}
	return string(rawjson.AppendString(nil, name))
}

func plainName(name string) bool {
	for i := range len(name) {
		if !nameByte(name[i]) {
			return false
		}
	}
	return name != ""
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// formatCall formats a call as name(key=value, …). Arguments that are not an object in
// compact form are written as one string.
func formatCall(l Line, chars int) string {
	name := formatName(l.Name)
	if members, ok := formatMembers(l.Text, chars); ok {
		return name + "(" + members + ")"
	}
	return name + "(" + string(rawjson.AppendString(nil, cutMiddle(l.Text, chars))) + ")"
}

func formatMembers(arguments string, chars int) (encoded string, ok bool) {
	var out []byte
	plain := make([]byte, 0, len(arguments))
	r := rawjson.New([]byte(arguments))
	if !r.Object() {
		return "", false
	}
	plain = append(plain, '{')
	for r.Member() {
		if len(plain) > 1 {
			plain = append(plain, ',')
			out = append(out, ", "...)
		}
		key := r.KeyText()
		plain = append(rawjson.AppendString(plain, key), ':')
		out = append(append(out, formatName(key)...), '=')
		raw := r.Raw()
		plain = append(plain, raw...)
		out = append(out, cutValue(raw, chars)...)
	}
	plain = append(plain, '}')
	if r.End() != nil || string(plain) != arguments {
		return "", false
	}
	return string(out), true
}

// cutValue shortens a long value. A value that is not a string becomes one.
func cutValue(raw []byte, chars int) []byte {
	if chars < 0 || len(raw) <= chars {
		return raw
	}
	r := rawjson.New(raw)
	text, ok := r.Text()
	if !ok {
		text = string(raw)
	}
	short := cutMiddle(text, chars)
	if short == text {
		return raw
	}
	return rawjson.AppendString(nil, short)
}

// cutMiddle removes the middle of a text so that about n characters are left, two thirds of
// them from the beginning, with a notice. The end is kept because errors tend to be there.
func cutMiddle(text string, n int) string {
	if n < 0 || len(text) <= n {
		return text
	}
	all := utf8.RuneCountInString(text)
	if all <= n {
		return text
	}
	head := (n*2 + 2) / 3
	first := text[:runeAt(text, head)]
	last := text[len(text)-runesFromEnd(text, n-head):]
	return fmt.Sprintf("%s\n\n[… %d characters cut …]\n\n%s", first, all-n, last)
}

// runeAt returns the offset of the n-th rune, or the length if there are fewer.
func runeAt(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// runesFromEnd returns the length of the last n runes in bytes.
func runesFromEnd(text string, n int) int {
	size := 0
	for ; n > 0 && size < len(text); n-- {
		_, width := utf8.DecodeLastRuneInString(text[:len(text)-size])
		size += width
	}
	return size
}

// escape writes text with a backslash before everything that looks like a tag at the
// beginning of a line.
func escape(b *strings.Builder, text string) {
	from := 0
	for at := range findSpeakerTags(text) {
		b.WriteString(text[from:at])
		b.WriteByte('\\')
		from = at
	}
	b.WriteString(text[from:])
}

// unescape reverses escape.
func unescape(text string) string {
	var b strings.Builder
	from := 0
	for at := range findSpeakerTags(text) {
		if at > from && text[at-1] == '\\' {
			b.WriteString(text[from : at-1])
			from = at
		}
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

// findSpeakerTags yields the offsets of brackets that look like a tag at the beginning of a
// line, in any case and after any kind of line break. Backslashes before the bracket are
// ignored.
func findSpeakerTags(text string) func(yield func(at int) bool) {
	return func(yield func(int) bool) {
		for from := 0; ; {
			next := strings.IndexByte(text[from:], '[')
			if next < 0 {
				return
			}
			at := from + next
			if namesSpeaker(text[at+1:]) && beginsLine(text[from:at], from == 0) && !yield(at) {
				return
			}
			from = at + 1
		}
	}
}

// namesSpeaker reports whether the text after a bracket looks like a tag.
func namesSpeaker(text string) bool {
	text = strings.TrimLeft(text[:min(len(text), 16)], " \t")
	for _, word := range [...]string{"user", "assistant", "system", "tool"} {
		if len(text) >= len(word) && strings.EqualFold(text[:len(word)], word) {
			return true
		}
	}
	return false
}

// beginsLine reports whether a bracket after before is the first non-space character of a
// line. first is set if before starts at the beginning of the text.
func beginsLine(before string, first bool) bool {
	before = strings.TrimRight(before, `\`)
	for before != "" {
		r, width := utf8.DecodeLastRuneInString(before)
		switch {
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return true
		case !unicode.IsSpace(r):
			return false
		}
		before = before[:len(before)-width]
	}
	return first
}
