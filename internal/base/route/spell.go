package route

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultAgent and DefaultAccount are used if a message has none; DefaultMain is the rest
// of an agent's main key.
const (
	DefaultAgent   = "main"
	DefaultAccount = "default"
	DefaultMain    = "main"
)

// Profile is a way to make and encode keys.
type Profile int

// The profiles.
const (
	// Current keeps all senders separate and writes direct and channel.
	Current Profile = iota
	// V2026_1 behaves like Clawdbot 2026.1: all IDs are lowercased, a direct message
	// without a peer is routed to the main session, other missing data becomes "unknown",
	// and direct is written as dm. Senders whose IDs differ only in case, or who have none,
	// share a session.
	V2026_1
)

// Format formats the key for a profile.
func (k Key) Format(p Profile) string {
	if p != V2026_1 {
		return k.String()
	}
	parts := k.Parts()
	switch {
	case parts.Kind == KindDirect:
		return "agent:" + k.agent + ":" + parts.restWithKind("dm")
	case (parts.Kind == KindGlobal || parts.Kind == KindUnknown) && parts.Thread == "":
		return k.rest
	}
	return k.String()
}

// NormalizeAgent converts a name to an agent ID: lower case, characters other than letters,
// digits, dashes and underscores become dashes, at most 64 bytes, "main" if nothing is
// left.
func NormalizeAgent(name string) string { return normalize(name, DefaultAgent) }

// NormalizeAccount converts a name to an account ID like [NormalizeAgent]; "default" if
// nothing is left.
func NormalizeAccount(name string) string { return normalize(name, DefaultAccount) }

// NormalizeMain returns the rest of a main key: lower case, "main" if empty.
func NormalizeMain(name string) string {
	if name = lower(strings.TrimSpace(name)); name == "" {
		return DefaultMain
	}
	return name
}

// maxID is the maximum length of agent and account IDs in bytes.
const maxID = 64

func normalize(name, fallback string) string {
	name = lower(strings.TrimSpace(name))
	if isID(name) {
		return name
	}
	var b strings.Builder
	other := false
	for _, r := range name {
		fits := r < utf8.RuneSelf && isIDByte(byte(r))
		if fits {
			b.WriteRune(r)
		} else if !other {
			b.WriteByte('-')
		}
		other = !fits
	}
	id := strings.Trim(b.String(), "-")
	if len(id) > maxID {
		id = id[:maxID]
	}
	if id == "" {
		return fallback
	}
	return id
}

// isID reports whether s is a normalized ID.
func isID(s string) bool {
	if s == "" || len(s) > maxID || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if !isIDByte(s[i]) {
			return false
		}
	}
	return true
}

func isIDByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// lower converts text to lower case idempotently. The one letter whose lower case is two
// runes is handled as in JavaScript.
func lower(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "\u0130", "i\u0307"))
}

// EncodeID encodes any ID for use as the peer or thread of a key. The encoding is unique:
// percent signs, control characters, uppercase letters, invalid bytes and leading or
// trailing spaces become %xx. Colons are kept unless the ID could be mistaken for a thread.
// [DecodeID] decodes it.
func EncodeID(id string) string {
	return encodeID(id, strings.Contains(":"+id, ":thread:") || strings.Contains(":"+id, ":topic:"))
}

// encodeID is Spell, with or without colons.
func encodeID(id string, colons bool) string {
	inner := strings.TrimSpace(id)
	from := strings.Index(id, inner)
	to := from + len(inner)
	var b strings.Builder
	for i := 0; i < len(id); {
		r, size := utf8.DecodeRuneInString(id[i:])
		part := id[i : i+size]
		if i < from || i >= to || r == '%' || r == ':' && colons || !isPlain(r, size) {
			escape(&b, part)
		} else {
			b.WriteString(part)
		}
		i += size
	}
	return b.String()
}

// isPlain reports whether a rune can be used in a key unescaped.
func isPlain(r rune, size int) bool {
	if r == utf8.RuneError && size == 1 {
		return false
	}
	return !unicode.IsControl(r) && r != 0x130 && unicode.ToLower(r) == r
}

// escapeProject escapes the uppercase letters in the path of a project key as [EncodeID]
// does, so that a path can be typed as it is. Other keys are returned unchanged.
func escapeProject(key string) string {
	head := strings.SplitN(key, ":", 4)
	if len(head) < 4 || !strings.EqualFold(head[2], string(KindProject)) {
		return key
	}
	low := lowerASCII(head[3])
	base, _, _, _ := cutThread(low)
	var b strings.Builder
	b.WriteString(key[:len(key)-len(low)])
	for i := 0; i < len(base); {
		r, size := utf8.DecodeRuneInString(head[3][i:])
		if _, ok := unhex(low, i); ok {
			size = len("%xx")
			b.WriteString(low[i : i+size])
		} else if isPlain(r, size) {
			b.WriteRune(r)
		} else {
			escape(&b, head[3][i:i+size])
		}
		i += size
	}
	return b.String() + head[3][len(base):]
}

// lowerASCII converts ASCII letters to lower case, so that the text keeps its length.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// escape writes every byte as %xx.
func escape(b *strings.Builder, part string) {
	for i := range len(part) {
		b.Write([]byte{'%', hexDigits[part[i]>>4], hexDigits[part[i]&15]})
	}
}

// DecodeID decodes an ID encoded by [EncodeID]. Percent signs that are not followed by two hex
// digits, in keys of other programs, are kept.
func DecodeID(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c, ok := unhex(s, i); ok {
			b.WriteByte(c)
			i += 2
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// unhex decodes %xx at i.
func unhex(s string, i int) (byte, bool) {
	if s[i] != '%' || i+2 >= len(s) {
		return 0, false
	}
	high, low := strings.IndexByte(hexDigits, s[i+1]), strings.IndexByte(hexDigits, s[i+2])
	return byte(high<<4 | low), high >= 0 && low >= 0
}

const hexDigits = "0123456789abcdef"

// escapeFirst escapes the first character of an encoded ID, so that it differs from every
// encoding of [EncodeID] and still decodes to the same ID.
func escapeFirst(encoded string) string {
	_, size := utf8.DecodeRuneInString(encoded)
	var b strings.Builder
	escape(&b, encoded[:size])
	return b.String() + encoded[size:]
}
