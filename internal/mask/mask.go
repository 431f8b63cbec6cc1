// Package mask takes secrets out of text that is shown: keys, tokens and
// passwords, as far as they can be told by their form.
//
// It knows the forms of common keys, each with a word that must be there before
// the form is looked for, so that ordinary text costs little. It is for what is
// shown in passing, like the snippets of a search; the transcript keeps what it
// has. What has no form of its own, such as a password in a sentence, it cannot
// know.
package mask

import (
	"regexp"
	"strings"
	"sync"
)

// Mark is what stands in the place of a secret.
const Mark = "[secret]"

// rule is the form of a kind of secret. Of keywords, in small letters, one must
// be there; none is always looked for. If the expression has a group, only that
// is the secret.
type rule struct {
	name, expr string
	keywords   []string
}

// rules are the forms we know. They are read in order.
var rules = []rule{
	{"private key", `-----BEGIN[ A-Z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END[ A-Z0-9_-]{0,64}-----|\z)`, []string{"private key"}},
	// The text may be a piece that begins within a key.
	{"end of a private key", `\A[A-Za-z0-9+/=\r\n\\]*-----END[ A-Z0-9_-]{0,64}PRIVATE KEY(?: BLOCK)?-----`, []string{"private key"}},
	{"model provider", `\bsk-(?:ant-|proj-|or-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}`, []string{"sk-"}},
	{"payment provider", `\b(?:sk|rk|pk|whsec)_(?:live|test|prod)?_?[A-Za-z0-9]{16,}`, []string{"sk_", "rk_", "pk_", "whsec_"}},
	{"code host", `\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,}|glptt-[0-9a-f]{40})`, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "glptt-"}},
	{"cloud access", `\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, []string{"akia", "asia", "abia", "acca", "a3t"}},
	{"cloud api", `\bAIza[A-Za-z0-9_-]{35}`, []string{"aiza"}},
	{"oauth client", `\bGOCSPX-[A-Za-z0-9_-]{20,}|\bya29\.[A-Za-z0-9_-]{20,}`, []string{"gocspx-", "ya29."}},
	{"chat bot", `\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[0-9]-[A-Za-z0-9-]{10,}`, []string{"xox", "xapp-"}},
	{"web hook", `https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}|https://discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]+`, []string{"hooks.slack.com", "/api/webhooks/"}},
	{"package host", `\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{32,}|dckr_pat_[A-Za-z0-9_-]{20,}|rubygems_[0-9a-f]{48})`, []string{"npm_", "pypi-", "dckr_pat_", "rubygems_"}},
	{"other services", `\b(?:hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{30,}|dop_v1_[0-9a-f]{60,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|EAACEdEose0cBA[A-Za-z0-9]+|AGE-SECRET-KEY-1[0-9A-Z]{40,}|lin_api_[A-Za-z0-9]{32,}|tvly-[A-Za-z0-9-]{20,})`,
		[]string{"hf_", "gsk_", "r8_", "dop_v1_", "sg.", "shp", "eaacedeose0cba", "age-secret-key-", "lin_api_", "tvly-"}},
	{"bot token", `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`, []string{":aa"}},
	{"web token", `\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, []string{"eyj"}},
	{"address with password", `\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@"'<>]{0,64}:([^\s/@"'<>]{3,})@`, []string{"://"}},
	{"authorization", `(?i)\bauthorization\\{0,3}["']?\s*[:=]\s*\\{0,3}["']?(?:bearer|basic|token)\s+([A-Za-z0-9+/=._~-]{8,})`, []string{"authorization"}},
	{"bearer", `(?i)\bbearer\s+([A-Za-z0-9+/=._~-]{20,})`, []string{"bearer"}},
	{"assignment", `(?i)(?:api[_-]?key|apikey|secret[_-]?key|client[_-]?secret|access[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|private[_-]?key|encryption[_-]?key|passw(?:or)?d|passphrase|credentials?|\b(?:secret|token|pwd))\\{0,3}["'\]]{0,2}\s*(?:[:=]|:=|=>)\s*\\{0,3}["']?([^\s"',;<>{}()]{8,})`,
		[]string{"key", "secret", "token", "passw", "passphrase", "pwd", "credential"}},
	{"command line", `(?i)--?(?:password|passwd|token|secret|api-?key)[ =]["']?([^\s"']{6,})`, []string{"-password", "-passwd", "-token", "-secret", "-api-key", "-apikey"}},
}

// compiled reads the forms, once and only when they are needed.
var compiled = sync.OnceValue(func() []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(rules))
	for i, r := range rules {
		all[i] = regexp.MustCompile(r.expr)
	}
	return all
})

// Text returns the text with every secret replaced by [Mark].
func Text(text string) string {
	low := strings.ToLower(text)
	for i, r := range rules {
		if !mentions(low, r.keywords) {
			continue
		}
		if masked := replace(compiled()[i], text); masked != text {
			text, low = masked, strings.ToLower(masked)
		}
	}
	return text
}

func mentions(low string, keywords []string) bool {
	for _, word := range keywords {
		if strings.Contains(low, word) {
			return true
		}
	}
	return len(keywords) == 0
}

// replace masks what an expression finds, or only its group.
func replace(expr *regexp.Regexp, text string) string {
	found := expr.FindAllStringSubmatchIndex(text, -1)
	if found == nil {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range found {
		start, end := m[0], m[1]
		if len(m) > 3 {
			start, end = m[2], m[3]
		}
		if start < at || harmless(text[start:end]) {
			continue
		}
		b.WriteString(text[at:start])
		b.WriteString(Mark)
		at = end
	}
	b.WriteString(text[at:])
	return b.String()
}

// harmless reports whether what looks like a secret stands for one: a variable,
// a placeholder, or what was masked already.
func harmless(secret string) bool {
	low := strings.ToLower(secret)
	for _, begin := range []string{"$", "%", "<", "[secret", "{{", "os.", "env.", "process.env", "your", "example", "xxxx", "****", "...", "…", "null", "undefined", "function"} {
		if strings.HasPrefix(low, begin) {
			return true
		}
	}
	return false
}
