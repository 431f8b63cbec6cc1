package route

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultAgent and DefaultAccount are whose a message is when nobody says it;
// DefaultMain is the rest of an agent's main key.
const (
	DefaultAgent   = "main"
	DefaultAccount = "default"
	DefaultMain    = "main"
)

// Profile is a way to make and spell keys.
type Profile int

// The profiles.
const (
	// Current tells all senders apart and writes direct and channel.
	Current Profile = iota
	// V2026_1 is what Clawdbot 2026.1 did: all ids are lower-cased, a direct
	// message without a peer goes to the main session, other gaps are filled
	// with "unknown", and direct is written dm. Senders whose ids differ only in
	// case, or who have none, share a session there.
	V2026_1
)

// Spell writes the key as a profile does.
func (k Key) Spell(p Profile) string {
	if p != V2026_1 {
		return k.String()
	}
	parts := k.Parts()
	switch {
	case parts.Kind == KindDirect:
		return "agent:" + k.agent + ":" + parts.spell("dm")
	case (parts.Kind == KindGlobal || parts.Kind == KindUnknown) && parts.Thread == "":
		return k.rest
	}
	return k.String()
}

// NormalizeAgent makes an agent id of a name: lower case, other characters
// than letters, digits, dashes and underscores become dashes, at most 64
// bytes, "main" if nothing is left.
func NormalizeAgent(name string) string { return normalize(name, DefaultAgent) }

// NormalizeAccount makes an account id of a name as [NormalizeAgent] does;
// "default" if nothing is left.
func NormalizeAccount(name string) string { return normalize(name, DefaultAccount) }

// NormalizeMain makes the rest of a main key: lower case, "main" if empty.
func NormalizeMain(name string) string {
	if name = lower(strings.TrimSpace(name)); name == "" {
		return DefaultMain
	}
	return name
}

// maxID bounds the ids of agents and accounts in bytes.
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

// isID reports whether s is a normal id.
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

// lower makes text lower case, and lower-case text stays as it is. The one
// letter whose lower case is two runes is treated as JavaScript does.
func lower(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "\u0130", "i\u0307"))
}

// Spell makes any id fit to be the peer or the thread of a key, and no two ids
// the same: percent signs, control characters, upper-case letters, invalid
// bytes and spaces at the ends become %xx. Colons stay, unless the id could be
// taken for a thread. [Unspell] is the way back.
func Spell(id string) string {
	return spell(id, strings.Contains(":"+id, ":thread:") || strings.Contains(":"+id, ":topic:"))
}

// spell is Spell, with or without colons.
func spell(id string, colons bool) string {
	inner := strings.TrimSpace(id)
	from := strings.Index(id, inner)
	to := from + len(inner)
	var b strings.Builder
	for i := 0; i < len(id); {
		r, size := utf8.DecodeRuneInString(id[i:])
		part := id[i : i+size]
		if i < from || i >= to || r == '%' || r == ':' && colons || !keeps(r, size) {
			escape(&b, part)
		} else {
			b.WriteString(part)
		}
		i += size
	}
	return b.String()
}

// keeps reports whether a rune can stand in a key as it is.
func keeps(r rune, size int) bool {
	if r == utf8.RuneError && size == 1 {
		return false
	}
	return !unicode.IsControl(r) && r != 0x130 && unicode.ToLower(r) == r
}

// escape writes every byte as %xx.
func escape(b *strings.Builder, part string) {
	for i := range len(part) {
		b.Write([]byte{'%', hexDigits[part[i]>>4], hexDigits[part[i]&15]})
	}
}

// Unspell gives back the id that [Spell] was given. Percent signs that are not
// followed by two digits, in keys that others made, stay as they are.
func Unspell(s string) string {
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

// unhex reads %xx at i.
func unhex(s string, i int) (byte, bool) {
	if s[i] != '%' || i+2 >= len(s) {
		return 0, false
	}
	high, low := strings.IndexByte(hexDigits, s[i+1]), strings.IndexByte(hexDigits, s[i+2])
	return byte(high<<4 | low), high >= 0 && low >= 0
}

const hexDigits = "0123456789abcdef"

// mask spells the first character of a spelt id as %xx, so that it differs
// from every id that [Spell] makes and is read back the same.
func mask(spelt string) string {
	_, size := utf8.DecodeRuneInString(spelt)
	var b strings.Builder
	escape(&b, spelt[:size])
	return b.String() + spelt[size:]
}
