package mask

import "strings"

// Secrets without a recognizable form usually have a name: the value after the name and an
// equals sign or colon. Names are read backwards from the sign, so ordinary text is scanned
// only once.

// secretKind is the kind of secret that a name suggests. It determines which values are
// plausible.
type secretKind int

const (
	none secretKind = iota
	// password may be any text.
	password
	// pass is a password unless it looks like a count of passed tests.
	pass
	// token is random, or not a word of a sentence.
	token
	// key and long are long strings of letters and digits.
	key
	long
)

// assignments takes the values assigned to names of secrets.
func assignments(text string, take func(from, to int)) {
	for at := 0; at < len(text); at++ {
		if c := text[at]; c != '=' && c != ':' {
			continue
		}
		end := at + 1
		for end < len(text) && end-at < 3 && strings.IndexByte("=:>", text[end]) >= 0 {
			end++
		}
		next := end
		if text[at:end] != "::" { // a qualified name in some languages
			next = assignment(text, at, end, take)
		}
		at = next - 1
	}
}

// keyBytes is the maximum length of a key or token.
const keyBytes = 512

// assignment takes the value assigned by the sign at text[at:end], and returns where to
// continue. A taken value is not scanned again, and other values are short, so the time is
// linear in the length of the text.
func assignment(text string, at, end int, take func(from, to int)) (next int) {
	name, tight := nameBefore(text, at)
	kind := secretKindOf(name)
	if kind == none {
		return end
	}
	within := text
	if kind >= key {
		within = text[:min(len(text), end+keyBytes)]
	}
	v := valueAfter(within, end)
	v.tight = tight && v.from == end+v.quoted && text[at] == '='
	v.env = v.tight && name == strings.ToUpper(name)
	if v.env && v.quoted == 0 {
		v.to = v.from + run(within[v.from:], " \t\r\n\"'`")
	}
	if !v.plausible(within, kind) || isCall(within, v) || isDirectory(name, within[v.from:v.to]) {
		return end
	}
	take(v.from, v.to)
	if v.to-v.from > keyBytes {
		return v.to
	}
	return max(end, v.from)
}

// isDirectory reports whether a value named pwd is a directory, not a password.
func isDirectory(name, s string) bool {
	return (strings.EqualFold(name, "pwd") || strings.EqualFold(name, "oldpwd")) && (s == "" || strings.IndexByte("/~.$", s[0]) >= 0 || strings.Contains(s, `:\`))
}

// nameBefore returns the name before an offset, without surrounding quotes, Markdown marks
// and brackets. tight is true if there are none.
func nameBefore(text string, at int) (name string, tight bool) {
	end := at
	for end > 0 && at-end < 24 && strings.IndexByte(" \t\"'`*])\\!", text[end-1]) >= 0 {
		end--
	}
	from := end
	for from > 0 && end-from < 80 && isNameByte(text[from-1]) {
		from--
	}
	return strings.Trim(text[from:end], "_-."), end == at
}

func isNameByte(c byte) bool { return letter(c) || digit(c) || c == '_' || c == '-' || c == '.' }

// value is the value after a sign.
type value struct {
	from, to int
	// quoted is the length of the opening quotation mark with its backslashes; zero if the
	// value is not quoted.
	quoted int
	// tight is set if there is no space around the sign, env if it looks like an
	// environment variable, below if the value is on a later line.
	tight, env, below bool
}

// valueAfter returns the value after an offset.
func valueAfter(text string, at int) value {
	v := value{from: at}
	if strings.HasPrefix(text[at:], "__") { // the end of a bold name in Markdown
		v.from += 2
	}
	for v.from < len(text) && v.from-at < 64 && strings.IndexByte(" \t\r\n*", text[v.from]) >= 0 {
		v.below = v.below || text[v.from] == '\n'
		v.from++
	}
	open := v.from
	for v.from < len(text) && v.from-open < 3 && text[v.from] == '\\' {
		v.from++
	}
	if v.from == len(text) || strings.IndexByte("\"'`", text[v.from]) < 0 {
		v.from = open
		v.to = open + run(text[open:], " \t\r\n\"'`,;<>{}()")
		v.to -= len(text[v.from:v.to]) - len(strings.TrimRight(text[v.from:v.to], "*\\"))
		return v
	}
	v.from++
	v.quoted = v.from - open
	v.to = v.from + quotation(text[v.from:], text[v.from-1], v.quoted > 1)
	return v
}

// run returns the length of the text before one of the stop bytes, or before an escaped
// newline or quotation mark.
func run(text, stop string) int {
	for i := range len(text) {
		if strings.IndexByte(stop, text[i]) >= 0 || text[i] == '\\' && i+1 < len(text) && strings.IndexByte("nrtu\"'\\", text[i+1]) >= 0 {
			return i
		}
	}
	return len(text)
}

// quotation returns the length of a quoted value, whose opening mark may be escaped. If it
// is not closed on its line, it ends after its first word.
func quotation(text string, mark byte, escaped bool) int {
	for i := 0; i < len(text) && i < 4096 && text[i] != '\n'; i++ {
		switch {
		case text[i] == mark && escaped:
			return len(strings.TrimRight(text[:i], `\`))
		case text[i] == mark:
			return i
		case text[i] == '\\' && !escaped:
			i++
		}
	}
	return run(text, " \t\r\n\"'`,;<>{}()")
}

// plausible reports whether a value is plausible for the kind of its name.
func (v value) plausible(text string, kind secretKind) bool {
	s := text[v.from:v.to]
	letters, digits, others := countChars(s)
	mixed := digits > 0 && letters > 0
	least := 8
	switch {
	case kind <= pass && v.env:
		least = 1
	case kind <= pass && (v.tight || v.quoted > 0):
		least = 3
	case v.env:
		least = 6
	}
	switch {
	case len(s) < least, v.below && v.quoted == 0 && !mixed:
		return false
	case strings.ContainsAny(s, " \t"):
		return (kind <= pass || v.env) && !sentence(s)
	case kind == pass:
		return letters+others > 0
	case kind == token:
		return v.tight || v.quoted > 0 || mixed || others > 0 || !continuesSentence(text[v.to:])
	case kind == key:
		return mixed && others == 0 && (len(s) >= 16 || v.env)
	case kind == long:
		return mixed && others == 0 && len(s) >= 24
	}
	return true
}

// countChars counts letters, digits and other characters. Punctuation common in keys is not
// counted.
func countChars(s string) (letters, digits, others int) {
	for i := range len(s) {
		switch {
		case letter(s[i]):
			letters++
		case digit(s[i]):
			digits++
		case strings.IndexByte("+/=_.~-", s[i]) < 0:
			others++
		}
	}
	return letters, digits, others
}

// continuesSentence reports whether another word follows.
func continuesSentence(rest string) bool { return len(rest) > 1 && rest[0] == ' ' && letter(rest[1]) }

// sentence reports whether a quoted text is about a secret, instead of being one.
func sentence(s string) bool {
	low := strings.ToLower(s)
	for _, word := range []string{"password", "passphrase", "secret", "token", "your", "please", "enter", "required", "invalid", "must", "cannot", "not ", "the ", "${", "$(", "{{"} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// isCall reports whether a value is source code that reads a secret: a call or an index
// expression.
func isCall(text string, v value) bool {
	if v.quoted > 0 || v.env || v.to == len(text) {
		return false
	}
	return text[v.to] == '(' || isDottedName(text[v.from:v.to]) && strings.IndexByte("([", text[v.to]) >= 0
}

// isDottedName reports whether a text consists of names separated by dots.
func isDottedName(s string) bool {
	for i := range len(s) {
		if !letter(s[i]) && !digit(s[i]) && s[i] != '_' && s[i] != '.' {
			return false
		}
	}
	return strings.Contains(s, ".")
}
