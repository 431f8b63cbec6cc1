package mask

import "strings"

// A secret that has no form of its own has mostly a name: what stands behind the
// name, and an equal sign or a colon, is it. Names are read backwards from the
// sign, which takes one look at each byte of ordinary text.

// sort is what kind of secret a name promises, and so what must stand behind it.
type sort int

const (
	none sort = iota
	// password may be anything.
	password
	// pass is a password if it does not look like a count of what has passed.
	pass
	// token is random, or a word that is nobody's language.
	token
	// key and long are letters and digits, and many of them.
	key
	long
)

// assignments takes what is assigned to names of secrets.
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
		if text[at:end] != "::" { // the path of a name in some languages
			next = assignment(text, at, end, take)
		}
		at = next - 1
	}
}

// keyBytes is how long a value may be that is asked whether it is a key.
const keyBytes = 512

// assignment takes what is assigned by a sign that stands from at to end, and
// says where to go on looking. What was taken is not looked at again, and what was
// not is short: so it takes time that grows with the text and not faster.
func assignment(text string, at, end int, take func(from, to int)) (next int) {
	name, tight := nameBefore(text, at)
	kind := sortOf(name)
	if kind == none {
		return end
	}
	within := text
	if kind >= key {
		within = text[:min(len(text), end+keyBytes)]
	}
	v := valueBehind(within, end)
	v.tight = tight && v.from == end+v.quoted && text[at] == '='
	v.env = v.tight && name == strings.ToUpper(name)
	if v.env && v.quoted == 0 {
		v.to = v.from + run(within[v.from:], " \t\r\n\"'`")
	}
	if !v.convincing(within, kind) || calls(within, v) || folder(name, within[v.from:v.to]) {
		return end
	}
	take(v.from, v.to)
	if v.to-v.from > keyBytes {
		return v.to
	}
	return max(end, v.from)
}

// folder reports whether it is told where somebody works: pwd is that, too.
func folder(name, s string) bool {
	return (strings.EqualFold(name, "pwd") || strings.EqualFold(name, "oldpwd")) && (s == "" || strings.IndexByte("/~.$", s[0]) >= 0 || strings.Contains(s, `:\`))
}

// nameBefore is the name that ends before a place, without what may stand around
// it: quotes, stars of Markdown, brackets. Tight says that nothing does.
func nameBefore(text string, at int) (name string, tight bool) {
	end := at
	for end > 0 && at-end < 24 && strings.IndexByte(" \t\"'`*])\\!", text[end-1]) >= 0 {
		end--
	}
	from := end
	for from > 0 && end-from < 80 && named(text[from-1]) {
		from--
	}
	return strings.Trim(text[from:end], "_-."), end == at
}

func named(c byte) bool { return letter(c) || digit(c) || c == '_' || c == '-' || c == '.' }

// value is what stands behind a sign.
type value struct {
	from, to int
	// quoted is how many bytes open the quotation it stands in.
	quoted int
	// tight says that nothing stands around the sign, env that it is as variables
	// of the environment are written, below that it stands on a later line.
	tight, env, below bool
}

// valueBehind finds what stands behind a place.
func valueBehind(text string, at int) value {
	v := value{from: at}
	if strings.HasPrefix(text[at:], "__") { // the end of a name in Markdown
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

// run is how much of a text stands before one of some bytes, or before what JSON
// writes for the end of a line or for a quotation mark.
func run(text, stop string) int {
	for i := range len(text) {
		if strings.IndexByte(stop, text[i]) >= 0 || text[i] == '\\' && i+1 < len(text) && strings.IndexByte("nrtu\"'\\", text[i+1]) >= 0 {
			return i
		}
	}
	return len(text)
}

// quotation is the length of what stands in a quotation, which was opened by a
// mark, or by an escaped one. One that does not end on its line ends with its
// first word.
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

// convincing reports whether a value is what its name promises.
func (v value) convincing(text string, kind sort) bool {
	s := text[v.from:v.to]
	letters, digits, others := look(s)
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
		return v.tight || v.quoted > 0 || mixed || others > 0 || !goesOn(text[v.to:])
	case kind == key:
		return mixed && others == 0 && (len(s) >= 16 || v.env)
	case kind == long:
		return mixed && others == 0 && len(s) >= 24
	}
	return true
}

// look counts what a text is made of. What keys have between letters and digits
// counts as neither.
func look(s string) (letters, digits, others int) {
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

// goesOn reports whether a sentence goes on: what stands behind is another word.
func goesOn(rest string) bool { return len(rest) > 1 && rest[0] == ' ' && letter(rest[1]) }

// sentence reports whether words in quotation marks speak of a secret instead of
// being one.
func sentence(s string) bool {
	low := strings.ToLower(s)
	for _, word := range []string{"password", "passphrase", "secret", "token", "your", "please", "enter", "required", "invalid", "must", "cannot", "not ", "the ", "${", "$(", "{{"} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// calls reports whether a value is a call or a place in a table, and so none: it
// is what a program says to get it.
func calls(text string, v value) bool {
	if v.quoted > 0 || v.env || v.to == len(text) {
		return false
	}
	return text[v.to] == '(' || path(text[v.from:v.to]) && strings.IndexByte("([", text[v.to]) >= 0
}

// path reports whether a text is names with dots between them.
func path(s string) bool {
	for i := range len(s) {
		if !letter(s[i]) && !digit(s[i]) && s[i] != '_' && s[i] != '.' {
			return false
		}
	}
	return strings.Contains(s, ".")
}
