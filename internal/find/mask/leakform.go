package mask

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// leakForm is the form of a leak, ready to be looked for.
type leakForm struct {
	// re is looked for from the word on if the secret begins with it, which leads
	// says, and around the word otherwise. If it leads, the expression takes the
	// byte before the word, too.
	re    *regexp.Regexp
	leads bool
	// edge says that a word must begin there, next what may follow the word.
	edge bool
	next [256]bool
	// whole says that the groups are no secrets, group which one is.
	whole bool
	group int
	allow []allowance
}

// newLeakForm reads the form of a rule; one that cannot be read is nil. The tests
// tell which those are.
func newLeakForm(l *leak, all *allowlist) *leakForm {
	expr := leakExpr(l.Regex)
	f := &leakForm{group: l.SecretGroup}
	f.edge = strings.HasPrefix(expr, leakEdge) || strings.HasPrefix(expr, leakEdgeOfBoth)
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil
	}
	w := walk{prog: prog, words: l.Keywords, next: &f.next}
	f.leads = w.leads(prog.Start, "")
	if f.leads {
		expr = `\A(?s:.)(?:` + expr + `)`
	}
	if f.re, err = regexp.Compile(expr); err != nil {
		return nil
	}
	for _, name := range f.re.SubexpNames()[1:] {
		f.whole = f.whole || name != ""
	}
	f.allow = append(f.allow, newAllowance(all, true))
	for i := range l.Allowlists {
		if list := &l.Allowlists[i]; len(list.Paths) == 0 {
			f.allow = append(f.allow, newAllowance(list, false))
		}
	}
	return f
}

// walk goes through an expression to see what it begins with.
type walk struct {
	prog  *syntax.Prog
	words []string
	next  *[256]bool
}

// leads reports whether all that an expression can match from an instruction on,
// with what was read before, begins with one of the words.
func (w *walk) leads(pc int, read string) bool {
	in := &w.prog.Inst[pc]
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return w.leads(int(in.Out), read) && w.leads(int(in.Arg), read)
	case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
		return w.leads(int(in.Out), read)
	case syntax.InstRune, syntax.InstRune1:
		letters := lettersOf(in)
		for i := range len(letters) {
			if !w.leadsWith(in, read+letters[i:i+1]) {
				return false
			}
		}
		return letters != ""
	}
	return false
}

// leadsWith goes on with one more letter read.
func (w *walk) leadsWith(in *syntax.Inst, read string) bool {
	for _, word := range w.words {
		switch {
		case word == read:
			w.follow(int(in.Out), make(map[int]bool))
			return true
		case strings.HasPrefix(word, read):
			return w.leads(int(in.Out), read)
		}
	}
	return false
}

// lettersOf are the letters that an instruction takes, small ones for capitals, or
// none if they are many.
func lettersOf(in *syntax.Inst) string {
	var letters []byte
	for c := range rune(128) {
		if low := small(byte(c)); in.MatchRune(c) && strings.IndexByte(string(letters), low) < 0 {
			letters = append(letters, low)
		}
	}
	if len(letters) > 4 {
		return ""
	}
	return string(letters)
}

// follow notes which bytes may come next.
func (w *walk) follow(pc int, seen map[int]bool) {
	if seen[pc] {
		return
	}
	seen[pc] = true
	in := &w.prog.Inst[pc]
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		w.follow(int(in.Out), seen)
		w.follow(int(in.Arg), seen)
	case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
		w.follow(int(in.Out), seen)
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		for c := range 256 {
			if c >= 128 || in.MatchRune(rune(c)) || in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL {
				w.next[c] = true
			}
		}
	case syntax.InstMatch:
		for c := range w.next {
			w.next[c] = true
		}
	}
}

const (
	// leakReach is how much of a text behind a word an expression is shown, and
	// leakMost how much if it seems to go on; leakBefore how much before the word if
	// the word does not lead.
	leakReach, leakMost, leakBefore = 1024, 64 << 10, 256
)

// tryLeak tries a rule of gitleaks at a place where one of its words, of some
// length, stands, and returns up to where it found something.
func tryLeak(text string, at, word int, l *leak, take func(from, to int)) int {
	f := l.form()
	if f == nil {
		return 0
	}
	if !f.leads {
		return f.around(text, at, l, take)
	}
	if end := at + word; f.edge && !edge(text, at) || end < len(text) && !f.next[text[end]] {
		return 0
	}
	begin := func(most int) (string, int) {
		if at == 0 || f.edge && named(text[at-1]) { // as if a word began: what is before is JSON's, or a colour
			return "\n" + text[at:min(len(text), at+most)], at - 1
		}
		return text[at-1 : min(len(text), at+most)], at - 1
	}
	near, from := begin(leakReach)
	m := f.re.FindStringSubmatchIndex(near)
	if m == nil {
		return 0
	}
	if m[1] == len(near) && at+leakReach < len(text) { // it may go on
		if far, _ := begin(leakMost); true {
			if longer := f.re.FindStringSubmatchIndex(far); longer != nil {
				near, m = far, longer
			}
		}
	}
	m[0]++ // the byte before
	f.found(near, from, m, l, take)
	return from + m[1]
}

// around looks for a form around a word.
func (f *leakForm) around(text string, at int, l *leak, take func(from, to int)) int {
	from := max(0, at-leakBefore)
	near := text[from:min(len(text), at+leakReach)]
	done := 0
	for _, m := range f.re.FindAllStringSubmatchIndex(near, -1) {
		f.found(near, from, m, l, take)
		done = from + m[1]
	}
	return done
}

// found takes what an expression found in a part of a text that begins at a place.
func (f *leakForm) found(near string, at int, m []int, l *leak, take func(from, to int)) {
	from, to := m[0], m[1]
	if g := f.secret(m); g > 0 {
		from, to = m[2*g], m[2*g+1]
	}
	secret := near[from:to]
	if !l.random(secret) {
		return
	}
	for i := range f.allow {
		if f.allow[i].allows(secret, near[m[0]:m[1]]) {
			return
		}
	}
	take(at+from, at+to)
}

// secret is the group that is the secret, or none if all of it is: a group that is
// short only groups.
func (f *leakForm) secret(m []int) int {
	if f.group > 0 || f.whole {
		return f.group
	}
	for g := 1; 2*g < len(m); g++ {
		if n := m[2*g+1] - m[2*g]; n >= 8 {
			return g
		} else if n > 0 {
			return 0
		}
	}
	return 0
}
