package mask

import (
	_ "embed"
	"math"
	"regexp"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// leaksFile is the rule file of gitleaks, as it comes.
//
//go:embed gitleaks/gitleaks.toml
var leaksFile []byte

// excludedRules are the gitleaks rules that are not used, with the reason.
var excludedRules = map[string]string{
	"generic-api-key":        "name.go covers secrets by the names of their variables, with fewer false positives in ordinary code",
	"private-key":            "ours knows one that is cut off, too",
	"curl-auth-user":         "ours leaves the name of the user",
	"curl-auth-header":       "it is slow; our own rules cover headers, with and without curl",
	"hashicorp-tf-password":  "it is for one kind of file; name.go covers values named password",
	"freemius-secret-key":    "it is for one kind of file; name.go covers values named key",
	"kubernetes-secret-yaml": "it is for files of one kind, and takes the first of the values only",
	"pkcs12-file":            "it is about names of files",
}

// keywordOverrides replaces keywords of gitleaks rules that are too general: a git hash is
// not a key just because sourcegraph is mentioned.
var keywordOverrides = map[string][]string{
	"sourcegraph-access-token": {"sgp_"},
}

// leak is a gitleaks rule.
type leak struct {
	ID       string
	Regex    string
	Keywords []string
	// Entropy is the minimum entropy of the secret in bits per byte.
	Entropy float64
	// SecretGroup is the group of the secret, if it is not the first.
	SecretGroup int
	Allowlists  []allowlist
	// form returns the compiled rule. It is compiled on first use.
	form func() *leakForm
}

// allowlist lists exceptions: matches that are not secrets.
type allowlist struct {
	Regexes, Stopwords []string
	// RegexTarget is the text that Regexes apply to: empty for the secret, or "match", or
	// "line".
	RegexTarget string
	// Paths are file paths. Allowlists with paths are ignored, since text has none.
	Paths []string
}

// leakFile is a gitleaks rule file.
type leakFile struct {
	Rules     []leak
	Allowlist allowlist
}

// readLeaks parses a rule file, without excluded rules.
func readLeaks(data []byte) (leakFile, error) {
	var file leakFile
	if err := toml.Unmarshal(data, &file); err != nil {
		return file, err
	}
	kept := file.Rules[:0]
	for _, l := range file.Rules {
		if _, out := excludedRules[l.ID]; out {
			continue
		}
		if words := keywordOverrides[l.ID]; words != nil {
			l.Keywords = words
		}
		kept = append(kept, l)
	}
	file.Rules = kept
	for i := range kept {
		l := &kept[i]
		l.form = sync.OnceValue(func() *leakForm { return newLeakForm(l, &file.Allowlist) })
	}
	return file, nil
}

// leaks returns the rules. Invalid rules are ignored here; the tests check that there are
// none.
var leaks = sync.OnceValue(func() []leak {
	file, _ := readLeaks(leaksFile)
	return file.Rules
})

// Parts of expressions that most gitleaks rules share, and their replacements.
const (
	// The beginning of a name is irrelevant and makes an expression slow.
	leakName, leakNamed = `(?i)[\w.-]{0,50}?`, `[\w.-]{0,50}?(?i:[\w.-]{0,50}?`
	// The text around a sign may be quoted and escaped.
	leakAround, leakSaid     = `[\s'"]{0,3}`, `[\x60'"\s=]{0,5}`
	ourAround, ourSaid       = `[\s'"\\]{0,6}`, `[\x60'"\s=\\]{0,8}`
	leakEnd, ourEnd          = `(?:[\x60'"\s;]|\\[nr]|$)`, `(?:[^\w+/=-]|$)`
	leakEdge, leakEdgeOfBoth = `\b`, `(?i)\b`
)

// leakExpr adapts an expression to prose: gitleaks scans source code, where a key ends with
// a quotation mark; in a sentence a comma is enough.
func leakExpr(expr string) string {
	if rest, ok := strings.CutPrefix(expr, leakName); ok {
		expr = "(?i)" + rest
	} else if rest, ok := strings.CutPrefix(expr, leakNamed); ok {
		expr = "(?i:" + rest
	}
	return strings.NewReplacer(leakAround, ourAround, leakSaid, ourSaid, leakEnd, ourEnd).Replace(expr)
}

// random reports whether a secret has the entropy required by the rule.
func (l *leak) random(secret string) bool { return l.Entropy == 0 || entropy(secret) > l.Entropy }

// entropy returns the Shannon entropy of a text in bits per byte.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// allowance is a compiled allowlist.
type allowance struct {
	target string
	exprs  []*regexp.Regexp
	stops  []string
}

// newAllowance compiles an allowlist. If whole is set, its expressions must match the whole
// secret. Invalid expressions are ignored.
func newAllowance(list *allowlist, whole bool) allowance {
	a := allowance{target: list.RegexTarget, stops: list.Stopwords}
	for _, expr := range list.Regexes {
		if whole {
			expr = `\A(?:` + expr + `)\z`
		}
		if re, err := regexp.Compile(expr); err == nil {
			a.exprs = append(a.exprs, re)
		}
	}
	return a
}

// allows reports whether a match is not a secret.
func (a *allowance) allows(secret, match string) bool {
	target := secret
	if a.target == "match" || a.target == "line" {
		target = match
	}
	for _, re := range a.exprs {
		if re.MatchString(target) {
			return true
		}
	}
	low := strings.ToLower(secret)
	for _, stop := range a.stops {
		if strings.Contains(low, stop) {
			return true
		}
	}
	return false
}
