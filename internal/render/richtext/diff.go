package richtext

import (
	"html"
	"strings"
	"unicode"

	"firn.dev/internal/base/linediff"
)

// Marks at the beginning of a line of a [Diff].
const (
	// DiffFile starts a file; the rest of the line is its name.
	DiffFile = "F"
	// DiffSkip separates distant parts of a file; the rest of the line says where it is.
	DiffSkip = "@"
	// DiffSame, DiffOld and DiffNew are a line in both versions, and in one of them.
	DiffSame = " "
	DiffOld  = "-"
	DiffNew  = "+"
)

const (
	// wordBytes is the longest line in which changed words are marked, wordLines the
	// largest number of lines of one diff.
	wordBytes = 2000
	wordLines = 4000
	// leastAlike is the share of a line, in percent, that must be unchanged. In less
	// similar lines the marks would be noise.
	leastAlike = 35
)

// Diff renders a diff, each of whose lines begins with one of the marks above. Changed
// words within a changed line are marked.
func Diff(text string) string {
	d := differ{words: wordLines}
	lines := linediff.Lines(visible(text))
	for i := 0; i < len(lines); {
		if lines[i][:1] != DiffOld {
			d.line(lines[i])
			i++
			continue
		}
		olds := prefixed(lines[i:], DiffOld)
		news := prefixed(lines[i+len(olds):], DiffNew)
		d.change(olds, news)
		i += len(olds) + len(news)
	}
	d.leave()
	return `<div class="diff">` + d.out.String() + "</div>"
}

// prefixed returns the lines at the beginning that have a mark.
func prefixed(lines []string, mark string) []string {
	n := 0
	for n < len(lines) && strings.HasPrefix(lines[n], mark) {
		n++
	}
	return lines[:n]
}

type differ struct {
	out strings.Builder
	// open is set within the lines of a file; words is the number of lines that may still
	// get marks.
	open  bool
	words int
}

func (d *differ) enter() {
	if !d.open {
		d.out.WriteString(`<pre class="diff-body">`)
		d.open = true
	}
}

func (d *differ) leave() {
	if d.open {
		d.out.WriteString("</pre>")
		d.open = false
	}
}

// line writes a line that is not part of a replacement.
func (d *differ) line(line string) {
	body := html.EscapeString(strings.TrimRight(line[1:], "\r\n"))
	switch line[:1] {
	case DiffFile:
		d.leave()
		d.out.WriteString(`<p class="file-name">` + body + "</p>")
		return
	case DiffSkip:
		body = `<span class="dg">⋯` + body + "</span>"
	case DiffNew:
		body = `<ins class="dl">+` + body + "\n</ins>"
	default:
		body = `<span class="dl"> ` + body + "\n</span>"
	}
	d.enter()
	d.out.WriteString(body)
}

// change writes old lines and the new ones in their place. The first old line is compared
// with the first new one and so on.
func (d *differ) change(olds, news []string) {
	d.enter()
	o, n := make([]string, len(olds)), make([]string, len(news))
	for i := range olds {
		o[i] = html.EscapeString(strings.TrimRight(olds[i][1:], "\r\n"))
	}
	for i := range news {
		n[i] = html.EscapeString(strings.TrimRight(news[i][1:], "\r\n"))
	}
	for i := 0; i < min(len(o), len(n)) && d.words > 0; i++ {
		d.words--
		if a, b, ok := wordMarks(strings.TrimRight(olds[i][1:], "\r\n"), strings.TrimRight(news[i][1:], "\r\n")); ok {
			o[i], n[i] = a, b
		}
	}
	for _, line := range o {
		d.out.WriteString(`<del class="dl">-` + line + "\n</del>")
	}
	for _, line := range n {
		d.out.WriteString(`<ins class="dl">+` + line + "\n</ins>")
	}
}

// wordMarks returns two versions of a line as HTML with the changed words marked. It
// reports false if the lines are too long or have too little in common.
func wordMarks(before, after string) (a, b string, ok bool) {
	if len(before) > wordBytes || len(after) > wordBytes {
		return "", "", false
	}
	x, y := words(before), words(after)
	hunks := linediff.Hunks(x, y)
	same, at := 0, 0
	for _, h := range hunks {
		same += len(strings.TrimSpace(strings.Join(x[at:h.OldStart], "")))
		at = h.OldEnd
	}
	same += len(strings.TrimSpace(strings.Join(x[at:], "")))
	if same*100 < leastAlike*max(len(strings.TrimSpace(before)), len(strings.TrimSpace(after)), 1) {
		return "", "", false
	}
	var left, right strings.Builder
	i, j := 0, 0
	for _, h := range hunks {
		writeWords(&left, x[i:h.OldStart], x[h.OldStart:h.OldEnd])
		writeWords(&right, y[j:h.NewStart], y[h.NewStart:h.NewEnd])
		i, j = h.OldEnd, h.NewEnd
	}
	writeWords(&left, x[i:], nil)
	writeWords(&right, y[j:], nil)
	return left.String(), right.String(), true
}

// writeWords writes unchanged words and the changed ones after them.
func writeWords(b *strings.Builder, same, changed []string) {
	b.WriteString(html.EscapeString(strings.Join(same, "")))
	if len(changed) > 0 {
		b.WriteString("<mark>" + html.EscapeString(strings.Join(changed, "")) + "</mark>")
	}
}

// words splits a line into words, runs of spaces, and single other characters.
func words(line string) []string {
	var all []string
	start, kind := 0, -1
	for i, r := range line {
		k := 2
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			k = 0
		case unicode.IsSpace(r):
			k = 1
		}
		if i > start && (k != kind || k == 2) {
			all = append(all, line[start:i])
			start = i
		}
		kind = k
	}
	if start < len(line) {
		all = append(all, line[start:])
	}
	return all
}
