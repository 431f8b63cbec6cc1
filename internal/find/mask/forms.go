package mask

import (
	"regexp"
	"strings"
	"sync"
)

// A text is looked through once for the words of all rules together, two bytes at
// a time; only where a word stands is an expression tried.

// trigger is a word of a rule: one of ours, or behind those one of gitleaks.
type trigger struct {
	word string
	rule int
}

// triggers are the words of all rules by their first two bytes: by says which of
// the lists, if any, and thirds which bytes may come third there, by their last six
// bits: ordinary text has many pairs, and few threes.
type triggers struct {
	by     [1 << 16]uint16
	lists  [][]trigger
	thirds []uint64
	leaks  []leak
}

// byPair are the words of all rules.
var byPair = sync.OnceValue(func() *triggers { return newTriggers(leaks()) })

// newTriggers are the words of our rules, and of some of gitleaks.
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

// add adds the words of a rule.
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

// compiled reads the forms, once and only when they are needed.
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

// forms takes what has the form of a secret.
func (t *triggers) forms(text string, take func(from, to int)) {
	if len(text) < 2 {
		return
	}
	var done [64]int // by rule, up to where it has found something
	var leaked []int // the same by leak
	last := small(text[0])
	for i := 1; i < len(text); i++ {
		c := small(text[i])
		list := t.by[int(last)<<8|int(c)]
		last = c
		if list == 0 || i+1 < len(text) && t.thirds[list]>>(small(text[i+1])&63)&1 == 0 {
			continue
		}
		for _, w := range t.lists[list] {
			at, n := i-1, w.rule-len(rules)
			switch {
			case !begins(text[at:], w.word):
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

// reach is how much of a text an expression is shown at first.
const reach = 512

// near is as much of a text as may have to be seen.
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

// tryRule tries a rule at a place, and returns up to where it found something.
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
	if m != nil && m[1] == len(near) && len(near) < len(rest) { // it may go on
		m = compiled()[n].FindStringSubmatchIndex(rest)
	}
	switch {
	case m == nil && (r.start || r.command):
		return at + len(near) // it is not to be found there at all
	case m == nil:
		return 0
	}
	from, to := m[0], m[1]
	if len(m) > 3 {
		from, to = m[2], m[3]
	}
	if !r.random || random(rest[from:to]) {
		take(at+from, at+to)
	}
	return at + m[1]
}

// edge reports whether a word begins at a place, also behind what JSON writes for
// the end of a line and behind a colour of a terminal.
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

// begins reports whether a text begins with a word in small letters, however it
// is written.
func begins(text, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		if small(text[i]) != word[i] {
			return false
		}
	}
	return true
}

func small(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// random reports whether a text has small and capital letters, as a name has not.
func random(s string) bool { return strings.ToLower(s) != s && strings.ToUpper(s) != s }
