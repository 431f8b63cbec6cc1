package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
)

// The limits of MEMORY.md; anything beyond is not sent to a model.
const (
	maxIndexLines = 200
	maxIndexBytes = 25_000
)

// pointer matches an index line that points to a note.
var pointer = pattern.New(`^[-*+] +\[([^\]]*)\]\((?:\./)?memory/([^)/]+)\.md\)`)

// pointsAt returns the note that an index line points to.
func pointsAt(line string) (name string, ok bool) {
	m := pointer().FindStringSubmatch(line)
	if m == nil {
		return "", false
	}
	return m[2], true
}

// pointerLine returns the index line of a note.
func pointerLine(n Note) string {
	line := "- [" + strings.NewReplacer("[", "(", "]", ")", "\n", " ").Replace(n.heading()) + "](" + notePath(n.Name) + ")"
	if summary := n.summary(); summary != "" && summary != n.heading() {
		line += " — " + firn.CutText(strings.Join(strings.Fields(plainLine(summary)), " "), 120)
	}
	return line
}

// updateIndex returns the updated index for notes: one line for each named note, none for
// removed ones, and all other text unchanged. If there are too many lines, those of the
// least certain and oldest notes are dropped first; handwritten lines stay.
func updateIndex(index string, notes []Note) string {
	byName := make(map[string]Note)
	for _, n := range notes {
		if _, daily := n.Day(); !daily && n.Name != extractedNote {
			byName[n.Name] = n
		}
	}
	if index == "" && len(byName) == 0 {
		return ""
	}
	if index == "" {
		index = "# Memory\n"
	}
	var lines []string
	seen := make(map[string]bool)
	for line := range strings.SplitSeq(strings.TrimRight(index, "\n"), "\n") {
		if name, ok := pointsAt(line); ok {
			n, there := byName[name]
			if !there || seen[name] {
				continue
			}
			seen[name] = true
			line = pointerLine(n)
		}
		lines = append(lines, line)
	}
	for _, n := range notes {
		if _, ok := byName[n.Name]; ok && !seen[n.Name] {
			if last := len(lines) - 1; !strings.HasPrefix(lines[last], "- ") && lines[last] != "" {
				lines = append(lines, "")
			}
			lines = append(lines, pointerLine(n))
		}
	}
	return strings.Join(fitIndex(lines, byName), "\n") + "\n"
}

// fitIndex drops pointers until there are few enough lines.
func fitIndex(lines []string, notes map[string]Note) []string {
	size := 0
	for _, line := range lines {
		size += len(line) + 1
	}
	for len(lines) > maxIndexLines || size > maxIndexBytes {
		worst := -1
		for i, line := range lines {
			name, ok := pointsAt(line)
			if ok && (worst < 0 || rankedBelow(notes[name], notes[mustPoint(lines[worst])])) {
				worst = i
			}
		}
		if worst < 0 {
			break // the rest is handwritten
		}
		size -= len(lines[worst]) + 1
		lines = slices.Delete(lines, worst, worst+1)
	}
	return lines
}

func mustPoint(line string) string {
	name, _ := pointsAt(line)
	return name
}

// rankedBelow reports whether a should be dropped before b. A note without a confidence is
// handwritten and counts as certain.
func rankedBelow(a, b Note) bool {
	sure := func(n Note) float64 {
		if n.Confidence == 0 {
			return 1
		}
		return n.Confidence
	}
	if sure(a) != sure(b) {
		return sure(a) < sure(b)
	}
	return a.Created.Before(b.Created)
}

// index updates the index of a set as part of a change.
func (d *draft) index(files version) {
	old := files[IndexFile]
	text := updateIndex(old.text, files.notes())
	to := content{text, text != ""}
	if old == to || old.there && strings.TrimSpace(old.text) == strings.TrimSpace(text) {
		return
	}
	gone, came := diffLines(lineList(old.text), lineList(text))
	d.put(IndexFile, old, to, Edit{Do: "index", Old: gone, New: came, Why: "the list was updated from the notes"})
	files[IndexFile] = to
}

// Index returns MEMORY.md as sent to a model: if it is too long, it is cut at the end of a
// line and a notice is added. It is empty if there is none.
func (d *Dir) Index(ctx context.Context) (string, error) {
	files, err := d.read(ctx)
	if err != nil {
		return "", err
	}
	return cutIndex(files[IndexFile].text), nil
}

// cutIndex cuts an index, including the notice, to 200 lines and 25,000 bytes at the end of
// a line.
func cutIndex(text string) string { return CutIndexTo(text, maxIndexBytes) }

// CutIndexTo is [cutIndex] with a lower limit in bytes.
func CutIndexTo(text string, most int) string {
	most = min(most, maxIndexBytes)
	text, _ = firn.CleanText(text)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= maxIndexLines && len(text) <= most {
		return text
	}
	notice := func(shown int) string {
		return fmt.Sprintf("<!-- MEMORY.md truncated: %d of %d lines shown -->", shown, len(lines))
	}
	room := most - len(notice(len(lines))) - 1
	shown := 0
	for shown < min(len(lines), maxIndexLines-1) && room-len(lines[shown])-1 >= 0 {
		room -= len(lines[shown]) + 1
		shown++
	}
	return strings.Join(append(lines[:shown:shown], notice(shown)), "\n") + "\n"
}
