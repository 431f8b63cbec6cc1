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

// leftOut are the rules of gitleaks that are not for us, with the reason.
var leftOut = map[string]string{
	"generic-api-key":        "what a name tells is told by name.go, which leaves more of ordinary code alone",
	"private-key":            "ours knows one that is cut off, too",
	"curl-auth-user":         "ours leaves the name of the user",
	"curl-auth-header":       "it is slow; headers are told by ours, with curl and without",
	"hashicorp-tf-password":  "it is for files of one kind; what is named a password is told by name.go",
	"freemius-secret-key":    "it is for files of one kind; what is named a key is told by name.go",
	"kubernetes-secret-yaml": "it is for files of one kind, and takes the first of the values only",
	"pkcs12-file":            "it is about names of files",
}

// otherWords are rules that are looked for by other words than gitleaks has, with
// what is wrong with those: a hash of git is no key because sourcegraph is named.
var otherWords = map[string][]string{
	"sourcegraph-access-token": {"sgp_"},
}

// leak is a rule of gitleaks.
type leak struct {
	ID       string
	Regex    string
	Keywords []string
	// Entropy is how random the secret must be at least, in bits for a byte.
	Entropy float64
	// SecretGroup is the group that is the secret, if it is not the first.
	SecretGroup int
	Allowlists  []allowlist
	// form reads the expression, once and only when it is needed.
	form func() *leakForm
}

// allowlist says what is no secret although it looks like one.
type allowlist struct {
	Regexes, Stopwords []string
	// RegexTarget is what the expressions are held against: the secret if it is
	// empty, or the match, or the line.
	RegexTarget string
	// Paths are of files, which a text has not: such a list does not count.
	Paths []string
}

// leakFile is the whole file.
type leakFile struct {
	Rules     []leak
	Allowlist allowlist
}

// readLeaks reads a rule file, without what is left out.
func readLeaks(data []byte) (leakFile, error) {
	var file leakFile
	if err := toml.Unmarshal(data, &file); err != nil {
		return file, err
	}
	kept := file.Rules[:0]
	for _, l := range file.Rules {
		if _, out := leftOut[l.ID]; out {
			continue
		}
		if words := otherWords[l.ID]; words != nil {
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

// leaks are the rules. That the file can be read, and every expression in it, is
// what the tests are for: here what cannot is not looked for.
var leaks = sync.OnceValue(func() []leak {
	file, _ := readLeaks(leaksFile)
	return file.Rules
})

// Parts of expressions that gitleaks makes most of its rules of, and what we have
// in their place.
const (
	// The beginning of a name tells nothing, and makes an expression slow.
	leakName, leakNamed = `(?i)[\w.-]{0,50}?`, `[\w.-]{0,50}?(?i:[\w.-]{0,50}?`
	// What stands around a sign may be quoted in a quotation.
	leakAround, leakSaid     = `[\s'"]{0,3}`, `[\x60'"\s=]{0,5}`
	ourAround, ourSaid       = `[\s'"\\]{0,6}`, `[\x60'"\s=\\]{0,8}`
	leakEnd, ourEnd          = `(?:[\x60'"\s;]|\\[nr]|$)`, `(?:[^\w+/=-]|$)`
	leakEdge, leakEdgeOfBoth = `\b`, `(?i)\b`
)

// leakExpr is an expression as it is for text: gitleaks reads programs, where a
// key ends with a quotation mark; in a sentence a comma will do.
func leakExpr(expr string) string {
	if rest, ok := strings.CutPrefix(expr, leakName); ok {
		expr = "(?i)" + rest
	} else if rest, ok := strings.CutPrefix(expr, leakNamed); ok {
		expr = "(?i:" + rest
	}
	return strings.NewReplacer(leakAround, ourAround, leakSaid, ourSaid, leakEnd, ourEnd).Replace(expr)
}

// random reports whether a secret is as random as its rule wants.
func (l *leak) random(secret string) bool { return l.Entropy == 0 || entropy(secret) > l.Entropy }

// entropy is how many bits a byte of a text tells, by how often each is in it.
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

// allowance is an allowlist that can be asked.
type allowance struct {
	target string
	exprs  []*regexp.Regexp
	stops  []string
}

// newAllowance reads an allowlist; whole says that its expressions must match all
// of a secret. Those that cannot be read allow nothing.
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

// allows reports whether a secret is none.
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
