package line

import (
	"strings"

	"firn.dev/internal/disk/history"
	"firn.dev/internal/disk/vfs"
)

// Completer returns the completions of the text before the cursor. They replace the text
// from offset from on. It may be slow.
type Completer func(before string) (from int, words []string)

// editor edits the input line. It has no side effects other than on the history and through
// the completer: it maps keys to outcomes.
type editor struct {
	buffer
	history  *history.History
	complete Completer

	// past is the index of the shown history item, or len(items) if none is shown; draft is
	// the text typed before.
	past  int
	draft string
	// search is the history search in progress, and choice the choice among completions;
	// nil if none.
	search *search
	choice *choice
	// suggest fills the menu, which is nil if it is closed; dismissed is the start of the
	// word for which the user closed it, or -1.
	suggest   Suggester
	menu      *menu
	dismissed int
	// folds are the folded pastes, and labels other placeholders in the line.
	folds  []fold
	labels []string
	// escapes is the number of times that Escape was pressed in a row in an empty line.
	escapes int
	// vim is the state of the keys of vi; nil if they are not used.
	vim *vim
}

// search is an incremental search of the history.
type search struct {
	query string
	// item is the index of the match, or -1; failed is true if there are no further
	// matches.
	item   int
	failed bool
	// before and at are the line and cursor to restore.
	before string
	at     int
}

// choice holds the completions of a word.
type choice struct {
	from  int
	words []string
	// picked is the inserted completion, or -1.
	picked int
}

// outcome is the result of a key.
type outcome int

const (
	editing outcome = iota
	entered
	interrupted
	ended
	suspended
	redraw
	escaped
	editOutside
	pasteImage
)

func newEditor(h *history.History, complete Completer) *editor {
	if h == nil {
		h, _ = history.Open(vfs.OS{}, "") // in memory only, which cannot fail
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
	e.search, e.choice, e.menu, e.dismissed = nil, nil, nil, -1
	e.folds, e.labels = nil, nil
	if e.vim != nil {
		*e.vim = vim{lines: e.vim.lines, undo: []snapshot{{}}}
	}
}

// press handles a key.
func (e *editor) press(k key) outcome {
	if e.search != nil {
		if done, how := e.pressInSearch(k); done {
			return how
		}
	}
	if e.menu != nil {
		if done, how := e.pressInMenu(k); done {
			return how
		}
	}
	if k.name != keyTab && k.name != keyBackTab {
		e.choice = nil
	}
	text, at, past := e.text, e.at, e.past
	how := editing
	if e.vim == nil || !e.pressVim(k) {
		how = e.edit(k)
	}
	switch {
	case e.past != past || how == entered:
		e.menu = nil
	case e.text != text || e.at != at && e.menu != nil:
		e.refreshMenu()
	}
	if how != escaped {
		e.escapes = 0
	}
	if !isKill(k) {
		e.growing = false
	}
	if !isVertical(k) && !e.isVimVertical(k) {
		e.goal = -1
	}
	return how
}

// isVertical reports whether a key moves up or down.
func isVertical(k key) bool {
	return k.name == keyUp || k.name == keyDown || k.name == keyControl && (k.text == "P" || k.text == "N")
}

// isVimVertical reports whether a key moves up or down in the normal mode of vi.
func (e *editor) isVimVertical(k key) bool {
	return e.vim != nil && e.vim.normal && k.name == keyText && strings.Trim(k.text, "jk") == ""
}

// isKill reports whether a key kills text, so that it can be yanked.
func isKill(k key) bool {
	switch k.name {
	case keyWordBackspace, keyWordDelete:
		return true
	case keyControl:
		return strings.Contains("KUW", k.text)
	}
	return false
}

// edit handles a key outside of a search.
func (e *editor) edit(k key) outcome {
	switch k.name {
	case keyText:
		e.insert(k.text)
	case keyPaste:
		e.paste(k.text)
	case keyEscape:
		return e.escape()
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
		if !e.lineUp() {
			e.recall(-1)
		}
	case keyDown:
		if !e.lineDown() {
			e.recall(1)
		}
	default:
		e.move(k.name)
	}
	return editing
}

// enter submits the line, or continues it if it ends with a backslash.
func (e *editor) enter() outcome {
	if e.at == len(e.text) && strings.HasSuffix(e.text, `\`) {
		e.replace(e.at-1, "\n")
		return editing
	}
	return entered
}

// escape handles Escape outside of a search and a menu.
func (e *editor) escape() outcome {
	e.escapes++
	if e.text != "" {
		e.escapes = 0
	}
	return escaped
}

// move handles keys that move the cursor or delete text.
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
		from, ok := e.labelBefore()
		if !ok {
			from = e.before(e.at)
		}
		e.drop(from, e.at)
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

// control handles a letter with Control.
func (e *editor) control(letter string) outcome {
	if move, ok := controlMoves[letter]; ok {
		return e.edit(key{name: move})
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
	case "G":
		return editOutside
	case "V":
		return pasteImage
	case "Z":
		return suspended
	}
	return editing
}

// controlMoves maps letters with Control to equivalent keys.
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

// pressInSearch handles a key during a history search. If done is false, the search has
// ended and the key must be handled by the line.
func (e *editor) pressInSearch(k key) (done bool, how outcome) {
	s := e.search
	switch {
	case k.name == keyText:
		for _, r := range k.text { // as if each rune had been typed separately
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
		return false, editing
	}
	return true, editing
}

// start returns the item at which the search continues.
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

// seek finds the next item that contains the query.
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

// tab completes the word before the cursor: first the common prefix of all completions,
// then each completion in turn.
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

// commonStart returns the longest common prefix of words.
func commonStart(words []string) string {
	common := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, common) {
			common = common[:len(common)-1]
		}
	}
	return strings.ToValidUTF8(common, "")
}
