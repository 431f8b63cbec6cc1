package mask

import (
	"regexp"
	"strings"
	"sync"
)

// A text is scanned once for the keywords of all rules, two bytes at a time. An expression
// is tried only where one of its keywords occurs.

// trigger is a keyword of a rule. Rules from len(rules) on are those of gitleaks.
type trigger struct {
	word string
	rule int
}

// triggers indexes the keywords of all rules by their first two bytes: by is the index of a
// list, if any, and thirds is a bit set of the third bytes in that list, by their low six
// bits. Ordinary text contains many of the pairs but few of the triples.
type triggers struct {
	by     [1 << 16]uint16
	lists  [][]trigger
	thirds []uint64
	leaks  []leak
}

// byPair returns the keywords of all rules.
var byPair = sync.OnceValue(func() *triggers { return newTriggers(leaks()) })

// newTriggers indexes the keywords of our rules and of the given gitleaks rules.
func newTriggers(leaks []leak) *triggers {
	t := &triggers{lists: make([][]trigger, 1), thirds: make([]uint64, 1), leaks: leaks}
	for i := range rules {
		t.add(i, rules[i].words)
	}
	for i := range leaks {
		t.add(len(rules)+i, leaks[i].Keywords)
	}
	return t
}

// add adds the keywords of a rule.
func (t *triggers) add(rule int, words []string) {
	for _, word := range words {
		pair := int(word[0])<<8 | int(word[1])
		if t.by[pair] == 0 {
			t.by[pair] = uint16(len(t.lists))
			t.lists, t.thirds = append(t.lists, nil), append(t.thirds, 0)
		}
		at := t.by[pair]
		t.lists[at] = append(t.lists[at], trigger{word, rule})
		if len(word) == 2 {
			t.thirds[at] = ^uint64(0)
		} else {
			t.thirds[at] |= 1 << (word[2] & 63)
		}
	}
}

// compiled returns the compiled rules. They are compiled on first use.
var compiled = sync.OnceValue(func() []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(rules))
	for i, r := range rules {
		flags, expr := "", r.expr
		if strings.HasPrefix(expr, "(?i)") {
			flags, expr = "(?i)", expr[4:]
		}
		all[i] = regexp.MustCompile(flags + `\A(?:` + expr + ")")
	}
	return all
})

// findForms takes the parts of a text that have the form of a secret.
func (t *triggers) findForms(text string, take func(from, to int)) {
	if len(text) < 2 {
		return
	}
	var done [64]int // by rule, the end of its last match
	var leaked []int // by gitleaks rule, the end of its last match
	last := lowerByte(text[0])
	for i := 1; i < len(text); i++ {
		c := lowerByte(text[i])
		list := t.by[int(last)<<8|int(c)]
		last = c
		if list == 0 || i+1 < len(text) && t.thirds[list]>>(lowerByte(text[i+1])&63)&1 == 0 {
			continue
		}
		for _, w := range t.lists[list] {
			at, n := i-1, w.rule-len(rules)
			switch {
			case !hasPrefixFold(text[at:], w.word):
			case n >= 0:
				if leaked == nil {
					leaked = make([]int, len(t.leaks))
				}
				if at >= leaked[n] {
					leaked[n] = max(leaked[n], tryLeak(text, at, len(w.word), &t.leaks[n], take))
				}
			case at >= done[w.rule]:
				done[w.rule] = max(done[w.rule], tryRule(text, at, w.rule, take))
			}
		}
	}
}

// reach is how much text an expression is matched against first.
const reach = 512

// near returns the part of rest that the rule is matched against first.
func (r *rule) near(rest string) string {
	if r.start {
		return rest
	}
	near := rest[:min(len(rest), reach)]
	if end := strings.IndexAny(near, "\n|;&"); r.command && end >= 0 {
		near = near[:end]
	}
	return near
}

// tryRule tries a rule at an offset and returns the end of its match.
func tryRule(text string, at, n int, take func(from, to int)) int {
	r := &rules[n]
	if r.edge && !edge(text, at) {
		return 0
	}
	for r.back && at > 0 && digit(text[at-1]) {
		at--
	}
	rest := text[at:]
	if r.start {
		at, rest = 0, text
	}
	near := r.near(rest)
	m := compiled()[n].FindStringSubmatchIndex(near)
	if m != nil && m[1] == len(near) && len(near) < len(rest) { // the match may be longer
		m = compiled()[n].FindStringSubmatchIndex(rest)
	}
	switch {
	case m == nil && (r.start || r.command):
		return at + len(near) // there is no match up to there
	case m == nil:
		return 0
	}
	from, to := m[0], m[1]
	if len(m) > 3 {
		from, to = m[2], m[3]
	}
	if !r.random || isMixedCase(rest[from:to]) {
		take(at+from, at+to)
	}
	return at + m[1]
}

// edge reports whether a word starts at an offset, also after an escaped newline or a
// terminal color sequence.
func edge(text string, at int) bool {
	if at == 0 || !letter(text[at-1]) && !digit(text[at-1]) && text[at-1] != '_' {
		return true
	}
	if at == 1 {
		return false
	}
	before, c := text[at-2], text[at-1]
	return before == '\\' && (c == 'n' || c == 'r' || c == 't') || digit(before) && c == 'm'
}

// hasPrefixFold reports whether a text starts with a lower-case word, ignoring case.
func hasPrefixFold(text, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		if lowerByte(text[i]) != word[i] {
			return false
		}
	}
	return true
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// isMixedCase reports whether a text has lower-case and upper-case letters, unlike most
// names.
func isMixedCase(s string) bool { return strings.ToLower(s) != s && strings.ToUpper(s) != s }
