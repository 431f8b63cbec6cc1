package mask

import "strings"

// ending is a word that names of secrets end with.
type ending struct {
	word string
	kind sort
	// within says that it need not be a word of its own: dbpassword.
	within bool
	// unless are the words before it that make it no secret: what finds things,
	// what orders them, where a list goes on.
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

// lasts are the letters that such words end with.
const lasts = "dDeEsSlLtTnNyYhHgG"

// tells are what makes a key or a token a secret whatever it looks like, also if
// it is written as one word.
var tells = []string{"api", "secret", "access", "private", "encryption", "client", "auth", "refresh", "signing", "master"}

// sortOf is what kind of secret a name promises.
func sortOf(name string) sort {
	if name == "" || strings.IndexByte(lasts, name[len(name)-1]) < 0 {
		return none
	}
	for i := range endings {
		e := &endings[i]
		if at := len(name) - len(e.word); at >= 0 && strings.EqualFold(name[at:], e.word) {
			return e.sort(name, at)
		}
	}
	return none
}

// sort is what a name promises of which the last word begins at a place.
func (e *ending) sort(name string, at int) sort {
	before := strings.TrimRight(name[:at], "_-.")
	apart := at == 0 || len(before) < at || capital(name[at]) && !capital(name[at-1])
	switch {
	case e.kind == pass && at == 0:
		return key // a lone pass is mostly no password
	case e.word == "key" || e.word == "token":
		if tellsOf(before) {
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

func tellsOf(before string) bool {
	for _, word := range tells {
		if at := len(before) - len(word); at >= 0 && strings.EqualFold(before[at:], word) {
			return true
		}
	}
	return false
}

// lastWord is the last word of a name, in small letters.
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
