package mask

import "strings"

// ending is a word that names of secrets end with.
type ending struct {
	word string
	kind secretKind
	// within is set if it need not be a separate word: dbpassword.
	within bool
	// unless are words before it that make it harmless, as in primary key or next page
	// token.
	unless string
}

var endings = []ending{
	{"password", password, true, ""}, {"passwd", password, true, ""}, {"passphrase", password, true, ""}, {"pwd", password, false, ""},
	{"pass", pass, false, ""},
	{"credential", token, true, ""}, {"credentials", token, true, ""}, {"secret", token, false, ""}, {"secret_key_base", token, true, ""},
	{"token", token, false, " next page prev previous continuation cancel cancellation sync eos bos pad unk sep cls start end "},
	{"key", key, false, " primary foreign public sort partition cache session idempotency dedup index row group object lookup unique composite routing storage translation message "},
	{"signature", long, false, ""}, {"auth", long, false, ""}, {"sig", long, false, ""},
}

// lasts are the last letters of these words.
const lasts = "dDeEsSlLtTnNyYhHgG"

// strongWords make a key or a token a secret whatever its value looks like, even if written
// as one word.
var strongWords = []string{"api", "secret", "access", "private", "encryption", "client", "auth", "refresh", "signing", "master"}

// secretKindOf returns the kind of secret that a name suggests.
func secretKindOf(name string) secretKind {
	if name == "" || strings.IndexByte(lasts, name[len(name)-1]) < 0 {
		return none
	}
	for i := range endings {
		e := &endings[i]
		if at := len(name) - len(e.word); at >= 0 && strings.EqualFold(name[at:], e.word) {
			return e.kindOf(name, at)
		}
	}
	return none
}

// kindOf returns the kind of a name whose last word starts at offset at.
func (e *ending) kindOf(name string, at int) secretKind {
	before := strings.TrimRight(name[:at], "_-.")
	apart := at == 0 || len(before) < at || capital(name[at]) && !capital(name[at-1])
	switch {
	case e.kind == pass && at == 0:
		return key // a name that is just pass is rarely a password
	case e.word == "key" || e.word == "token":
		if endsInStrongWord(before) {
			return token
		}
	}
	switch {
	case !apart && !e.within, e.unless != "" && strings.Contains(e.unless, " "+lastWord(before)+" "):
		return none
	case e.kind == key && at == 0 && name != "KEY":
		return none
	}
	return e.kind
}

func endsInStrongWord(before string) bool {
	for _, word := range strongWords {
		if at := len(before) - len(word); at >= 0 && strings.EqualFold(before[at:], word) {
			return true
		}
	}
	return false
}

// lastWord returns the last word of a name in lower case.
func lastWord(name string) string {
	at := strings.LastIndexAny(name, "_-.") + 1
	for i := len(name) - 1; i > at; i-- {
		if capital(name[i]) && !capital(name[i-1]) {
			at = i
			break
		}
	}
	return strings.ToLower(name[at:])
}

func capital(c byte) bool { return c >= 'A' && c <= 'Z' }
