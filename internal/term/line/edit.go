package line

import (
	"strings"

	"firn.dev/internal/disk/history"
	"firn.dev/internal/disk/vfs"
)

// Completer tells how what was typed up to the cursor can go on: from is where
// the word begins that the others stand for. It may take its time.
type Completer func(before string) (from int, words []string)

// editor is a line while it is typed: pure, but for the history and the
// completer that it asks. A key goes in, what came of it comes out.
type editor struct {
	buffer
	history  *history.History
	complete Completer

	// past is the item of the history that is shown, len(items) for none; draft
	// is what was typed before one was.
	past  int
	draft string
	// search is a search that is going on, choice a choice among completions.
	search *search
	choice *choice
}

// search looks for something in the history while it is typed.
type search struct {
	query string
	// item is what was found, -1 for nothing; failed says that there is no more.
	item   int
	failed bool
	// before is what was in the line, to go back to.
	before string
	at     int
}

// choice is what can stand in place of a word.
type choice struct {
	from  int
	words []string
	// picked is the one that stands there now, -1 for none.
	picked int
}

// outcome is what came of a key.
type outcome int

const (
	goesOn outcome = iota
	entered
	interrupted
	ended
	suspended
	redraw
)

func newEditor(h *history.History, complete Completer) *editor {
	if h == nil {
		h, _ = history.Open(vfs.OS{}, "") // only in memory, which cannot fail
	}
	e := &editor{history: h, complete: complete}
	e.reset()
	return e
}

// reset empties the line.
func (e *editor) reset() {
	cut := e.cut
	e.buffer = buffer{cut: cut, goal: -1}
	e.past, e.draft = len(e.history.Items()), ""
	e.search, e.choice = nil, nil
}

// press does what a key says.
func (e *editor) press(k key) outcome {
	if e.search != nil {
		if done, how := e.searching(k); done {
			return how
		}
	}
	if k.name != keyTab && k.name != keyBackTab {
		e.choice = nil
	}
	how := e.act(k)
	if !takes(k) {
		e.growing = false
	}
	if !vertical(k) {
		e.goal = -1
	}
	return how
}

// vertical reports whether a key goes up or down.
func vertical(k key) bool {
	return k.name == keyUp || k.name == keyDown || k.name == keyControl && (k.text == "P" || k.text == "N")
}

// takes reports whether a key takes text away so that it can be put back.
func takes(k key) bool {
	switch k.name {
	case keyWordBackspace, keyWordDelete:
		return true
	case keyControl:
		return strings.Contains("KUW", k.text)
	}
	return false
}

// act does what a key says in a line that is edited.
func (e *editor) act(k key) outcome {
	switch k.name {
	case keyText, keyPaste:
		e.insert(k.text)
	case keyEnter:
		return e.enter()
	case keyNewline:
		e.insert("\n")
	case keyTab:
		e.tab(1)
	case keyBackTab:
		e.tab(-1)
	case keyControl:
		return e.control(k.text)
	case keyUp:
		if !e.up() {
			e.recall(-1)
		}
	case keyDown:
		if !e.down() {
			e.recall(1)
		}
	default:
		e.move(k.name)
	}
	return goesOn
}

// enter ends the line, unless it ends with a backslash: then it goes on.
func (e *editor) enter() outcome {
	if e.at == len(e.text) && strings.HasSuffix(e.text, `\`) {
		e.replace(e.at-1, "\n")
		return goesOn
	}
	return entered
}

// move goes elsewhere, or takes something away.
func (e *editor) move(name keyName) {
	switch name {
	case keyLeft:
		e.at = e.before(e.at)
	case keyRight:
		e.at = e.after(e.at)
	case keyWordLeft:
		e.at = e.wordBefore(e.at, isWord)
	case keyWordRight:
		e.at = e.wordAfter(e.at)
	case keyHome:
		e.at = e.lineStart(e.at)
	case keyEnd:
		e.at = e.lineEnd(e.at)
	case keyBackspace:
		e.drop(e.before(e.at), e.at)
	case keyDelete:
		e.drop(e.at, e.after(e.at))
	case keyWordBackspace:
		e.take(e.wordBefore(e.at, isWord), e.at)
	case keyWordDelete:
		e.take(e.at, e.wordAfter(e.at))
	case keyFirst:
		e.recall(-e.past)
	case keyLast:
		e.recall(len(e.history.Items()) - e.past)
	}
}

// control does what a letter with Control says.
func (e *editor) control(letter string) outcome {
	if move, ok := controlMoves[letter]; ok {
		return e.act(key{name: move})
	}
	switch letter {
	case "C":
		return interrupted
	case "D":
		if e.text == "" {
			return ended
		}
		e.move(keyDelete)
	case "K":
		e.killToEnd()
	case "U":
		e.killToStart()
	case "W":
		e.take(e.wordBefore(e.at, func(r rune) bool { return !isSpace(r) }), e.at)
	case "Y":
		e.insert(e.cut)
	case "T":
		e.transpose()
	case "R":
		e.search = &search{item: -1, before: e.text, at: e.at}
	case "L":
		return redraw
	case "Z":
		return suspended
	}
	return goesOn
}

// controlMoves are keys that go by two names.
var controlMoves = map[string]keyName{
	"A": keyHome, "E": keyEnd, "B": keyLeft, "F": keyRight, "P": keyUp, "N": keyDown,
}

// recall shows another item of the history.
func (e *editor) recall(step int) {
	next := e.past + step
	if step == 0 || next < 0 || next > len(e.history.Items()) {
		return
	}
	if e.past == len(e.history.Items()) {
		e.draft = e.text
	}
	e.past = next
	text := e.draft
	if next < len(e.history.Items()) {
		text = e.history.Items()[next]
	}
	e.set(text)
}

// searching does what a key says while the history is searched. If it is not
// done, the search is over and the key is for the line.
func (e *editor) searching(k key) (done bool, how outcome) {
	s := e.search
	switch {
	case k.name == keyText:
		for _, r := range k.text { // as if each had come by itself
			s.query += string(r)
			e.seek(s.start(e), -1)
		}
	case k.name == keyBackspace:
		b := buffer{text: s.query, at: len(s.query)}
		s.query = s.query[:b.before(b.at)]
		e.seek(len(e.history.Items())-1, -1)
	case k.name == keyControl && k.text == "R":
		e.seek(s.start(e)-1, -1)
	case k.name == keyControl && k.text == "S":
		e.seek(s.item+1, 1)
	case k.name == keyControl && (k.text == "G" || k.text == "C"):
		e.text, e.at = s.before, s.at
		e.search = nil
	case k.name == keyEscape:
		e.search = nil
	default:
		e.search = nil
		return false, goesOn
	}
	return true, goesOn
}

// start is where a search goes on from.
func (s *search) start(e *editor) int {
	if s.item < 0 {
		return len(e.history.Items()) - 1 + oneIf(s.query == "")
	}
	return s.item
}

func oneIf(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

// seek looks for the next item that has what is searched.
func (e *editor) seek(from, step int) {
	s := e.search
	if s.query == "" {
		s.item, s.failed = -1, false
		e.text, e.at = s.before, s.at
		return
	}
	item := e.history.Find(s.query, from, step)
	if s.failed = item < 0; s.failed {
		return
	}
	s.item, e.past = item, item
	e.set(e.history.Items()[item])
}

// tab completes the word before the cursor: as far as it is certain, and then
// each of the words that it may be, in turn.
func (e *editor) tab(step int) {
	if c := e.choice; c != nil {
		c.picked = (c.picked + step + len(c.words)) % len(c.words)
		e.replace(c.from, c.words[c.picked])
		return
	}
	if e.complete == nil {
		return
	}
	from, words := e.complete(e.text[:e.at])
	if len(words) == 0 || from < 0 || from > e.at {
		return
	}
	if len(words) == 1 {
		e.replace(from, words[0]+" ")
		return
	}
	if common := commonStart(words); len(common) > e.at-from {
		e.replace(from, common)
	}
	e.choice = &choice{from: from, words: words, picked: -1}
}

// commonStart is what all words begin with.
func commonStart(words []string) string {
	common := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, common) {
			common = common[:len(common)-1]
		}
	}
	return strings.ToValidUTF8(common, "")
}
