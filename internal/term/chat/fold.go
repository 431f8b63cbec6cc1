package chat

import (
	"fmt"
	"strings"

	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
)

const (
	// foldedOutput is the number of lines shown of a tool's output.
	foldedOutput = 3
	// runningLines is the number of last lines shown of a running call, and maxTail the
	// number of bytes kept of its output.
	runningLines = 5
	maxTail      = 8 << 10
	// maxFolds is the number of folded texts that can be shown in full, and maxFoldBytes the
	// size kept of each.
	maxFolds     = 20
	maxFoldBytes = 4 << 20
)

// folder is a screen that can show a long text in full on request.
type folder interface {
	// fold prints the first most lines of a text and keeps all of it.
	fold(title string, lines []string, most int)
}

// folded is a text that was not shown in full. Its lines may have styles.
type folded struct {
	title string
	lines []string
}

// fold prints the first most lines. Ctrl-O shows all of them.
func (b *board) fold(title string, lines []string, most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(lines) <= most+1 {
		b.show(prose.WrapAll(lines, b.term.Width())...)
		return
	}
	if b.folds = append(b.folds, folded{title, limitBytes(lines, maxFoldBytes)}); len(b.folds) > maxFolds {
		b.folds = b.folds[1:]
	}
	width := b.term.Width()
	shown := prose.WrapAll(lines[:most], width)
	if len(shown) > 2*most { // long lines count as several
		shown = shown[:2*most]
	}
	more := fmt.Sprintf("    … %s (Ctrl-O shows all)", prose.Count(len(lines)-most, "more line", "more lines"))
	b.show(append(shown, b.dim(prose.CutWidth(more, width)))...)
}

// limitBytes returns the first lines, up to a size.
func limitBytes(lines []string, most int) []string {
	size := 0
	for i, l := range lines {
		if size += len(l) + 1; size > most {
			return append(lines[:i:i], fmt.Sprintf("… %s not kept here; firn show has them", prose.Plural(len(lines)-i, "line")))
		}
	}
	return lines
}

// unfold shows the last folded text on the whole screen, and the older ones after it.
func (b *board) unfold() {
	b.mu.Lock()
	folds := append([]folded(nil), b.folds...)
	b.mu.Unlock()
	if len(folds) == 0 {
		b.note("(nothing is folded)")
		return
	}
	b.term.OpenPager(line.Pager{Title: folds[len(folds)-1].title, Lines: func(width int) []string {
		var rows []string
		for i := len(folds) - 1; i >= 0; i-- {
			if i < len(folds)-1 {
				rows = append(rows, "", b.dim(prose.CutWidth("── before: "+folds[i].title+" ", width)), "")
			}
			rows = append(rows, prose.WrapAll(folds[i].lines, width)...)
		}
		return rows
	}})
}

// outputLines returns the output of a tool for display, indented.
func outputLines(text string) []string {
	text = strings.Trim(prose.CleanLines(text), "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = "    " + strings.ReplaceAll(strings.TrimRight(l, " "), "\t", "    ")
	}
	return lines
}

// addOutput adds output of a running call.
func (r *running) addOutput(text string) {
	r.tail += text
	if len(r.tail) > maxTail {
		r.tail = r.tail[len(r.tail)-maxTail:]
	}
}

// lastLines returns the last lines of a running call's output that are not blank.
func (r *running) lastLines() []string {
	var lines []string
	for _, l := range outputLines(strings.ToValidUTF8(lastScreens(r.tail), "")) {
		if strings.TrimSpace(l) != "" {
			lines = append(lines, l)
		}
	}
	return lines[max(len(lines)-runningLines, 0):]
}

// lastScreens returns the text after the last carriage return of each line, as a terminal
// shows progress bars.
func lastScreens(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}
