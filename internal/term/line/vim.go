package line

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// vim is the state of the keys of vi. A line begins in insert mode. Supported are motions,
// the operators d, c and y with a motion or doubled, and the commands in [vim.command];
// there are no counts and no visual mode.
type vim struct {
	normal bool
	// operator is the typed d, c or y that waits for its motion, or 0.
	operator rune
	undo     []snapshot
	// lines is true if the cut text consists of whole lines.
	lines bool
}

// snapshot is the line before a change.
type snapshot struct {
	text string
	at   int
}

// maxUndo is the number of changes that can be undone.
const maxUndo = 200

// pressVim handles a key in the modes of vi. If done is false, the key must be handled as
// usual.
func (e *editor) pressVim(k key) (done bool) {
	v := e.vim
	switch {
	case k.name == keyEscape && !v.normal:
		v.normal = true
		if e.at > e.lineStart(e.at) {
			e.at = e.before(e.at)
		}
		return true
	case k.name == keyEscape && v.operator != 0:
		v.operator = 0
		return true
	case k.name != keyText || !v.normal:
		return false
	}
	for _, r := range k.text {
		if !v.normal { // a command has begun to insert
			e.insert(string(r))
			continue
		}
		e.vimRune(r)
	}
	return true
}

// vimRune handles a rune in normal mode.
func (e *editor) vimRune(r rune) {
	v := e.vim
	if v.operator != 0 {
		operator := v.operator
		v.operator = 0
		e.operate(operator, r)
	} else if to, ok := e.motion(r); ok {
		e.at = to
	} else {
		e.command(r)
	}
	if v.normal && e.at > e.lineStart(e.at) && e.at == e.lineEnd(e.at) {
		e.at = e.before(e.at) // in normal mode the cursor is on a character
	}
}

// motion returns the offset to which a key moves.
func (e *editor) motion(r rune) (int, bool) {
	switch r {
	case 'h':
		return max(e.before(e.at), e.lineStart(e.at)), true
	case 'l', ' ':
		return min(e.after(e.at), e.lineEnd(e.at)), true
	case 'w':
		return e.nextWord(e.at), true
	case 'b':
		return e.previousWord(e.at), true
	case 'e':
		return e.wordEnd(e.at), true
	case '0':
		return e.lineStart(e.at), true
	case '^':
		at := e.lineStart(e.at)
		for at < e.lineEnd(at) && (e.text[at] == ' ' || e.text[at] == '\t') {
			at++
		}
		return at, true
	case '$':
		return e.lineEnd(e.at), true
	case 'G':
		return e.lineStart(len(e.text)), true
	}
	return 0, false
}

// command handles a key that is not a motion.
func (e *editor) command(r rune) {
	switch r {
	case 'j':
		if !e.lineDown() {
			e.recall(1)
		}
	case 'k':
		if !e.lineUp() {
			e.recall(-1)
		}
	case 'd', 'c', 'y':
		e.vim.operator = r
	case 'x':
		e.cutRange(e.at, min(e.after(e.at), e.lineEnd(e.at)))
	case 'X':
		e.cutRange(max(e.before(e.at), e.lineStart(e.at)), e.at)
	case 'D':
		e.cutRange(e.at, e.lineEnd(e.at))
	case 'p', 'P':
		e.put(r == 'p')
	case 'u':
		if n := len(e.vim.undo); n > 0 {
			e.text, e.at = e.vim.undo[n-1].text, e.vim.undo[n-1].at
			e.vim.undo = e.vim.undo[:n-1]
		}
	default:
		e.insertCommand(r)
	}
}

// insertCommand handles the keys that begin to insert.
func (e *editor) insertCommand(r rune) {
	if !strings.ContainsRune("iaIAoOsSC", r) {
		return
	}
	e.remember()
	e.vim.normal = false
	switch r {
	case 'a':
		e.at = min(e.after(e.at), e.lineEnd(e.at))
	case 'I':
		e.at, _ = e.motion('^')
	case 'A':
		e.at = e.lineEnd(e.at)
	case 'o':
		e.at = e.lineEnd(e.at)
		e.insert("\n")
	case 'O':
		e.at = e.lineStart(e.at)
		e.insert("\n")
		e.at--
	case 's':
		e.drop(e.at, min(e.after(e.at), e.lineEnd(e.at)))
	case 'S':
		e.at = e.lineStart(e.at)
		e.drop(e.at, e.lineEnd(e.at))
	case 'C':
		e.drop(e.at, e.lineEnd(e.at))
	}
}

// operate applies an operator to a motion, or to the line if it is doubled.
func (e *editor) operate(operator, r rune) {
	from, to, lines := e.at, e.at, operator == r
	if lines {
		from, to = e.lineStart(e.at), e.lineEnd(e.at)
	} else {
		if operator == 'c' && r == 'w' { // as in vi, not including the space
			r = 'e'
		}
		target, ok := e.motion(r)
		if !ok {
			return
		}
		if r == 'e' {
			target = e.after(target)
		}
		from, to = min(from, target), max(to, target)
	}
	e.cut, e.growing, e.vim.lines = e.text[from:to], false, lines
	if operator == 'y' {
		e.at = from
		return
	}
	e.remember()
	if lines && operator == 'd' { // with its line break
		if to < len(e.text) {
			to++
		} else if from > 0 {
			from--
		}
	}
	e.drop(from, to)
	e.at = min(e.at, len(e.text))
	if lines && operator == 'd' {
		e.at = e.lineStart(e.at)
	}
	e.vim.normal = operator != 'c'
}

// cutRange removes text and keeps it for p.
func (e *editor) cutRange(from, to int) {
	if from == to {
		return
	}
	e.remember()
	e.cut, e.growing, e.vim.lines = e.text[from:to], false, false
	e.drop(from, to)
}

// put inserts the cut text after or before the cursor.
func (e *editor) put(after bool) {
	if e.cut == "" {
		return
	}
	e.remember()
	switch {
	case e.vim.lines && after:
		e.at = e.lineEnd(e.at)
		e.insert("\n" + e.cut)
		e.at = e.lineStart(e.at)
	case e.vim.lines:
		e.at = e.lineStart(e.at)
		e.insert(e.cut + "\n")
		e.at = e.lineStart(e.at - 1)
	default:
		if after {
			e.at = min(e.after(e.at), e.lineEnd(e.at))
		}
		e.insert(e.cut)
		e.at = e.before(e.at)
	}
}

// remember keeps the line for u.
func (e *editor) remember() {
	if e.vim.undo = append(e.vim.undo, snapshot{e.text, e.at}); len(e.vim.undo) > maxUndo {
		e.vim.undo = e.vim.undo[1:]
	}
}

// kindAt returns the kind of the character at an offset: 0 for space, 1 for words, 2 for
// others.
func (e *editor) kindAt(at int) int {
	r, _ := utf8.DecodeRuneInString(e.text[at:])
	switch {
	case unicode.IsSpace(r):
		return 0
	case isWord(r):
		return 1
	}
	return 2
}

// nextWord returns the start of the next word.
func (e *editor) nextWord(at int) int {
	if at == len(e.text) {
		return at
	}
	for kind := e.kindAt(at); at < len(e.text) && kind != 0 && e.kindAt(at) == kind; {
		at = e.after(at)
	}
	for at < len(e.text) && e.kindAt(at) == 0 {
		at = e.after(at)
	}
	return at
}

// previousWord returns the start of the word before an offset.
func (e *editor) previousWord(at int) int {
	for at > 0 && e.kindAt(e.before(at)) == 0 {
		at = e.before(at)
	}
	if at == 0 {
		return 0
	}
	for kind := e.kindAt(e.before(at)); at > 0 && e.kindAt(e.before(at)) == kind; {
		at = e.before(at)
	}
	return at
}

// wordEnd returns the last character of the word at or after the next one.
func (e *editor) wordEnd(at int) int {
	at = e.after(at)
	for at < len(e.text) && e.kindAt(at) == 0 {
		at = e.after(at)
	}
	if at == len(e.text) {
		return e.before(at)
	}
	for kind := e.kindAt(at); e.after(at) < len(e.text) && e.kindAt(e.after(at)) == kind; {
		at = e.after(at)
	}
	return at
}
