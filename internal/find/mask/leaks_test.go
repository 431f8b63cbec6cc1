package mask

import (
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// TestLeaksCanBeRead checks that every rule of the file is valid or excluded, and that all
// excluded rules exist.
func TestLeaksCanBeRead(t *testing.T) {
	file, err := readLeaks(leaksFile)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Count(string(leaksFile), "[[rules]]")
	if len(file.Rules) != all-len(excludedRules) || len(file.Rules) < 200 {
		t.Errorf("of %d rules %d are left, although %d are to be left out", all, len(file.Rules), len(excludedRules))
	}
	named := 0
	for i := range file.Rules {
		l := &file.Rules[i]
		if _, err := regexp.Compile(leakExpr(l.Regex)); err != nil || l.form() == nil {
			t.Errorf("%s cannot be read: %v", l.ID, err)
			continue
		}
		if strings.Contains(leakExpr(l.Regex), ourSaid) && l.form().leads {
			named++
		}
		for _, word := range l.Keywords {
			if len(word) < 2 || word != strings.ToLower(word) {
				t.Errorf("%s is searched for by %q", l.ID, word)
			}
		}
		for _, list := range append(l.Allowlists, file.Allowlist) {
			for _, expr := range list.Regexes {
				if _, err := regexp.Compile(expr); err != nil {
					t.Errorf("%s allows something unreadable: %v", l.ID, err)
				}
			}
		}
		if len(l.Keywords) == 0 || l.SecretGroup > l.form().re.NumSubexp() {
			t.Errorf("%s has %d words, and its secret is group %d", l.ID, len(l.Keywords), l.SecretGroup)
		}
	}
	if named < 80 {
		t.Errorf("of the rules that go by a name only %d begin with it: are they made of other parts now?", named)
	}
}

// writer generates texts that match an expression.
type writer struct{ *rand.Rand }

func (w writer) write(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return w.one(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return string(".abcdefghijklm.nopqrstuvwxyz."[w.IntN(29)])
	case syntax.OpCapture:
		return w.write(re.Sub[0])
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(w.write(sub))
		}
		return b.String()
	case syntax.OpAlternate:
		return w.write(re.Sub[w.IntN(len(re.Sub))])
	case syntax.OpStar:
		return w.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		return w.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		return w.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		return w.repeat(re.Sub[0], re.Min, re.Max)
	}
	return "" // word boundaries and ends
}

func (w writer) repeat(re *syntax.Regexp, least, most int) string {
	if most < 0 || most > least+8 {
		most = least + 8
	}
	var b strings.Builder
	for range least + w.IntN(most-least+1) {
		b.WriteString(w.write(re))
	}
	return b.String()
}

// one returns a character of a class, a printable one if possible.
func (w writer) one(class []rune) string {
	var can []rune
	for i := 0; i < len(class); i += 2 {
		for r := class[i]; r <= class[i+1] && r < 127; r++ {
			if r > ' ' {
				can = append(can, r)
			}
		}
	}
	if len(can) == 0 {
		return string(class[0])
	}
	return string(can[w.IntN(len(can))])
}

// example returns a text with a secret according to a gitleaks rule.
func (w writer) example(t *testing.T, l *leak) (text, secret string) {
	t.Helper()
	tree, err := syntax.Parse(l.Regex, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	re := regexp.MustCompile(l.Regex)
	for range 100_000 {
		text := w.write(tree)
		m := re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		secret := m[0]
		if l.SecretGroup > 0 {
			secret = m[l.SecretGroup]
		} else if g := l.form().secret(re.FindStringSubmatchIndex(text)); g > 0 {
			secret = m[g]
		}
		low, there := strings.ToLower(text), false
		for _, word := range l.Keywords {
			there = there || strings.Contains(low, word)
		}
		if there && l.random(secret) && !isPlaceholder(secret) && !allowed(l, secret, m[0]) {
			return text, secret
		}
	}
	t.Fatalf("%s: nothing is found that is made after it", l.ID)
	return "", ""
}

func allowed(l *leak, secret, match string) bool {
	for i := range l.form().allow {
		if l.form().allow[i].allows(secret, match) {
			return true
		}
	}
	return false
}

// needs are keywords required by rules whose expressions do not contain them.
var needs = map[string]string{"airtable-personnal-access-token": "airtable ", "facebook-access-token": "facebook "}

// TestEveryLeakIsMasked generates secrets for each rule and checks them in prose, in JSON
// within JSON, with invisible characters, and with escapes.
func TestEveryLeakIsMasked(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(9, 9))}
	for i := range leaks() {
		l := leaks()[i]
		l.Keywords = append([]string{}, l.Keywords...)
		before := needs[l.ID]
		if before != "" {
			l.Keywords = []string{""}
		}
		for range 8 {
			text, secret := w.example(t, &l)
			for how, set := range map[string]func(string) string{
				"alone":           func(s string) string { return s },
				"in prose":        func(s string) string { return "See this: " + s + "\nand no more." },
				"in JSON":         func(s string) string { return `{"content":"first\n` + quoteless(s) + `\nmore"}` },
				"with nothing in": func(s string) string { return strings.Replace(s, secret, sprinkle(secret, "\u200b"), 1) },
				"with escapes":    func(s string) string { return strings.Replace(s, secret, escapeLetters(secret), 1) },
			} {
				got := Text(before + set(text))
				plain, _ := unfold(got)
				if strings.Contains(got, secret) || strings.Contains(plain.text, secret) {
					t.Errorf("%s, %s: %q becomes %q, but the secret is %q", l.ID, how, before+set(text), got, secret)
				}
			}
		}
	}
}

// quoteless returns the content of a JSON string.
func quoteless(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s)
}

// sprinkle inserts a string after every fourth character.
func sprinkle(s, what string) string {
	var b strings.Builder
	for i, r := range s {
		b.WriteRune(r)
		if i%4 == 1 {
			b.WriteString(what)
		}
	}
	return b.String()
}

// escapeLetters escapes letters as in JSON.
func escapeLetters(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; i%5 == 0 && (letter(c) || digit(c)) {
			b.WriteString(`\u00` + string("0123456789abcdef"[c>>4]) + string("0123456789ABCDEF"[c&15]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// TestHiddenCharacters checks that exactly the secret is masked, and that other text with
// invisible characters is unchanged.
func TestHiddenCharacters(t *testing.T) {
	key := "AKIA" + strings.Repeat("ABCD", 4)
	for text, want := range map[string]string{
		"a AK\u200bIA" + key[4:] + " b":                "a [secret] b",
		"a \u2066AKIA" + key[4:] + "\u2069 b":          "a \u2066[secret] b",
		`{"x":"\u0041KIA` + key[4:] + `"}`:             `{"x":"[secret]"}`,
		`{"x":"{\"y\":\"\\u0041KIA` + key[4:] + `"}`:   `{"x":"{\"y\":\"[secret]"}`,
		`"\x41KIA` + key[4:] + `"`:                     `"[secret]"`,
		`AK\u200bIA` + key[4:]:                         "[secret]",
		"ghp_\u00ad" + body(36):                        "[secret]",
		`"https:\/\/ann:hunter2!@db\/x"`:               `"https:\/\/ann:[secret]@db\/x"`,
		`p\u0061ssword=hunter2hunter2`:                 `p\u0061ssword=[secret]`,
		"pass\u200bword=hunter2hunter2":                "pass\u200bword=[secret]",
		"family 👩\u200d👩\u200d👧 and \u2014 more":       "family 👩\u200d👩\u200d👧 and \u2014 more",
		`C:\users\x\u00 \u \x4 \uzzzz \\ \n \/ \u003c`: `C:\users\x\u00 \u \x4 \uzzzz \\ \n \/ \u003c`,
		"\xff\xfe \\": "\xff\xfe \\",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestHeaders checks that firn's rules cover the headers of excluded gitleaks rules.
func TestHeaders(t *testing.T) {
	secret := body(24)
	for _, text := range []string{
		`curl -H "Authorization: Bearer ` + secret + `" https://a.example`, `curl --header 'X-Api-Key: ` + secret + `' https://a.example`,
		`curl -H "Authorization: Token ` + secret + `"`, `curl -H "PRIVATE-TOKEN: ` + secret + `" x`, `curl -u "ann:` + secret + `" https://a.example`,
		`administrator_login_password = "` + secret + `"`, `'secret_key' => '` + secret + `'`, "api_key=" + secret, "client_secret: " + secret,
	} {
		if got := Text(text); strings.Contains(got, secret) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// TestRandomTextIsNotMasked checks that random-looking text that is not secret is unchanged,
// also near names of services.
func TestRandomTextIsNotMasked(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	bytes := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return b
	}
	uuid := func() string {
		h := hex.EncodeToString(bytes(16))
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	}
	for range 200 {
		hash := hex.EncodeToString(bytes(20))
		for _, text := range []string{
			"commit " + hash + "\nAuthor: Ann <ann@a.example>\n", "index " + hash[:7] + ".." + hash[7:14] + " 100644", "Merge " + hash[:10] + " of sourcegraph and github into main",
			"sourcegraph at " + hash, "sha256:" + hex.EncodeToString(bytes(32)), "session " + uuid() + " of heroku", `{"id":"` + uuid() + `","parentId":"` + uuid() + `"}`,
			"data:image/png;base64," + base64.StdEncoding.EncodeToString(bytes(600)), "<img src=\"data:image/png;base64," + base64.StdEncoding.EncodeToString(bytes(90)) + "\">",
			"h1:" + base64.StdEncoding.EncodeToString(bytes(32)) + " go.sum", "sha512-" + base64.StdEncoding.EncodeToString(bytes(64)), "2026-11-16T07:00:00.000Z 0x" + hash[:16],
			"https://github.com/a/b/commit/" + hash, "toolu_" + hash[:24], "call_" + hash[:24], "discord said " + hash[:20] + " to twitter",
		} {
			if got := Text(text); got != text {
				t.Errorf("%q becomes %q", text, got)
			}
		}
	}
}

// TestFixturesAreNotMasked counts the text that the gitleaks rules mask in ordinary
// transcripts and programs beyond firn's own rules. None of it may be a false positive.
func TestFixturesAreNotMasked(t *testing.T) {
	size, ours, all := 0, newTriggers(nil), byPair()
	for _, root := range []string{"../../../testdata", "../../../store", "../../../window", "../../../docs"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			size += len(data)
			with, without := merge(search(string(data), all)), merge(search(string(data), ours))
			if len(with) != len(without) {
				t.Errorf("%s: %d are masked, and %d without the rules of gitleaks", path, len(with), len(without))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if size < 1<<20 {
		t.Errorf("only %d bytes were examined", size)
	}
}
