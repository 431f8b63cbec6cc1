package digest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// usualChars is what a result is cut to when nobody says.
const usualChars = 2000

// Write spells lines for a summariser: a paragraph each, which begins with who
// speaks ([User]:, [Assistant]:, [Assistant thinking]:, [Assistant tool
// calls]:, [Tool result read_file]:, [Tool error bash]:). Results, and values
// in the arguments of calls, are cut to resultChars characters (zero means
// 2000, less than zero not at all), with a notice of how much was cut. Text
// that would begin a line like a speaker does gets a backslash, so that nobody
// can pose as somebody else and [Parse] finds what was written.
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
			escape(&b, spellCall(l, resultChars))
		case Result:
			escape(&b, cutMiddle(l.Text, resultChars))
		default:
			escape(&b, l.Text)
		}
	}
	text, _ := firn.CleanText(b.String())
	return text
}

// The words a paragraph begins with.
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

// tagName is the rest of the tag of a result.
func tagName(name string) string {
	if name == "" {
		return "]:"
	}
	return " " + spellName(name) + "]:"
}

// spellName writes a name as it is if it cannot be mistaken for anything else.
func spellName(name string) string {
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

// spellCall writes a call as name(key=value, …). Arguments that are not an
// object, or not written as the values alone tell, stand there as one string.
func spellCall(l Line, chars int) string {
	name := spellName(l.Name)
	if members, ok := spellMembers(l.Text, chars); ok {
		return name + "(" + members + ")"
	}
	return name + "(" + string(rawjson.AppendString(nil, cutMiddle(l.Text, chars))) + ")"
}

func spellMembers(arguments string, chars int) (spelt string, ok bool) {
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
		out = append(append(out, spellName(key)...), '=')
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

// cutValue cuts a value that is too long; what is not text becomes text then.
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

// cutMiddle takes so much out of a text that about n characters are left, two
// thirds of them from its beginning, and says how much it took: what went
// wrong tends to stand at the end.
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

// runeAt is where the n-th rune begins, the length if there are fewer.
func runeAt(text string, n int) int {
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// runesFromEnd is how many bytes the last n runes have.
func runesFromEnd(text string, n int) int {
	size := 0
	for ; n > 0 && size < len(text); n-- {
		_, width := utf8.DecodeLastRuneInString(text[:len(text)-size])
		size += width
	}
	return size
}

// escape writes text with a backslash before all that would begin a line like
// a speaker does.
func escape(b *strings.Builder, text string) {
	from := 0
	for at := range speakers(text) {
		b.WriteString(text[from:at])
		b.WriteByte('\\')
		from = at
	}
	b.WriteString(text[from:])
}

// unescape undoes escape.
func unescape(text string) string {
	var b strings.Builder
	from := 0
	for at := range speakers(text) {
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

// speakers finds the brackets in a text that begin a line like a speaker does,
// however it is written and whatever a reader may take for a line break.
// Backslashes before the bracket do not count.
func speakers(text string) func(yield func(at int) bool) {
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

// namesSpeaker reports whether text goes on like a tag after its bracket.
func namesSpeaker(text string) bool {
	text = strings.TrimLeft(text[:min(len(text), 16)], " \t")
	for _, word := range [...]string{"user", "assistant", "system", "tool"} {
		if len(text) >= len(word) && strings.EqualFold(text[:len(word)], word) {
			return true
		}
	}
	return false
}

// beginsLine reports whether what stands before a bracket ends in nothing but
// the white space a line may begin with; first says that it is all there is.
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
