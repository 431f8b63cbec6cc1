package line

import (
	"fmt"
	"strings"
)

// A paste with at least foldLines lines or more than foldBytes bytes is shown as a
// placeholder, and is expanded when the line is submitted.
const (
	foldLines = 6
	foldBytes = 2000
)

// fold is a folded paste: the placeholder in the line, and the text.
type fold struct{ label, text string }

// paste inserts pasted text, folded if it is long.
func (e *editor) paste(text string) {
	lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	switch {
	case lines >= foldLines:
		e.insert(e.addFold(fmt.Sprintf("pasted %d lines", lines), text))
	case len(text) > foldBytes:
		e.insert(e.addFold(fmt.Sprintf("pasted %d bytes", len(text)), text))
	default:
		e.insert(text)
	}
}

// addFold keeps a folded text and returns its placeholder. Different texts get different
// placeholders.
func (e *editor) addFold(what, text string) string {
	label := "[" + what + "]"
	for n := 2; ; n++ {
		known := false
		for _, f := range e.folds {
			if f.label == label {
				known = true
				if f.text == text {
					return label
				}
			}
		}
		if !known {
			e.folds = append(e.folds, fold{label, text})
			return label
		}
		label = fmt.Sprintf("[%s #%d]", what, n)
	}
}

// expanded returns the line with the folded texts.
func (e *editor) expanded() string {
	if len(e.folds) == 0 {
		return e.text
	}
	pairs := make([]string, 0, 2*len(e.folds))
	for _, f := range e.folds {
		pairs = append(pairs, f.label, f.text)
	}
	return strings.NewReplacer(pairs...).Replace(e.text)
}

// labelBefore returns the start of the placeholder that ends at the cursor, or false.
func (e *editor) labelBefore() (int, bool) {
	for _, f := range e.folds {
		if strings.HasSuffix(e.text[:e.at], f.label) {
			return e.at - len(f.label), true
		}
	}
	for _, l := range e.labels {
		if strings.HasSuffix(e.text[:e.at], l) {
			return e.at - len(l), true
		}
	}
	return 0, false
}

// Insert inserts text at the cursor. One Backspace removes all of it.
func (t *Terminal) Insert(label string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.editor.labels = append(t.editor.labels, label)
	t.editor.insert(label)
	t.editor.refreshMenu()
	t.draw()
}

// Fill replaces the content of the input line.
func (t *Terminal) Fill(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.editor.reset()
	t.editor.set(cleanInput(text))
	t.draw()
}
