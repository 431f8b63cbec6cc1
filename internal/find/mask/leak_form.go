package mask

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// leakForm is a compiled gitleaks rule.
type leakForm struct {
	// re is matched from the keyword on if leads is set, otherwise around the keyword. If
	// leads is set, the expression also consumes the byte before the keyword.
	re    *regexp.Regexp
	leads bool
	// edge is set if a word must start at the match. next are the bytes that may follow the
	// keyword.
	edge bool
	next [256]bool
	// whole is set if the groups are not secrets; group is the group that is.
	whole bool
	group int
	allow []allowance
}

// newLeakForm compiles a rule. It returns nil for an invalid rule; the tests detect those.
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

// walk examines the beginning of an expression.
type walk struct {
	prog  *syntax.Prog
	words []string
	next  *[256]bool
}

// leads reports whether everything the expression can match from an instruction on, after
// read, starts with one of the words.
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

// leadsWith continues with one more letter in read.
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

// lettersOf returns the letters matched by an instruction, in lower case, or "" if there
// are many.
func lettersOf(in *syntax.Inst) string {
	var letters []byte
	for c := range rune(128) {
		if low := lowerByte(byte(c)); in.MatchRune(c) && strings.IndexByte(string(letters), low) < 0 {
			letters = append(letters, low)
		}
	}
	if len(letters) > 4 {
		return ""
	}
	return string(letters)
}

// follow records the bytes that may come next.
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
	// leakReach is how much text after a keyword an expression is matched against, leakMost
	// how much if the match may be longer, and leakBefore how much before a keyword that
	// does not lead.
	leakReach, leakMost, leakBefore = 1024, 64 << 10, 256
)

// tryLeak tries a gitleaks rule at an offset where one of its keywords occurs, and returns
// the end of its match.
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
		if at == 0 || f.edge && isNameByte(text[at-1]) { // the byte before belongs to an escape or color sequence: replace it with a newline
			return "\n" + text[at:min(len(text), at+most)], at - 1
		}
		return text[at-1 : min(len(text), at+most)], at - 1
	}
	near, from := begin(leakReach)
	m := f.re.FindStringSubmatchIndex(near)
	if m == nil {
		return 0
	}
	if m[1] == len(near) && at+leakReach < len(text) { // the match may be longer
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

// around matches an expression around a keyword.
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

// found takes the secret of a match in near, which starts at offset at.
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

// secret returns the group of a match that is the secret, or 0 for the whole match. A short
// group is only used for grouping.
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
