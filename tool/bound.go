package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"firn.dev"
)

// Limits is the maximum size of a result as shown to a model, over all its text parts.
type Limits struct {
	// Chars is the maximum number of characters; zero means [StandardChars]. Lines is the
	// maximum number of lines; zero means 2,000. Limits below 200 characters and 5 lines
	// are raised to those, because the notice needs space.
	Chars, Lines int
}

// StandardChars is the default limit of a result, in characters.
const StandardChars = 50_000

const (
	defaultLines           = 2_000
	leastChars, leastLines = 200, 5
	// noticeChars and noticeLines are reserved for the notice.
	noticeChars, noticeLines = 100, 3
)

func (l Limits) orDefault() Limits {
	if l.Chars == 0 {
		l.Chars = StandardChars
	}
	if l.Lines == 0 {
		l.Lines = defaultLines
	}
	return Limits{Chars: max(l.Chars, leastChars), Lines: max(l.Lines, leastLines)}
}

// Bound truncates a large result for a model: it keeps the beginning and the end of the
// text, with a notice between them about the omitted amount. It cuts at line ends where
// they are near, otherwise between characters. Other parts are kept. If nothing had to be
// cut, the parts are returned unchanged. The result is within the limits: bounding it again
// cuts nothing.
func Bound(parts []firn.Part, limit Limits) (shown []firn.Part, cut bool) {
	limit = limit.orDefault()
	chars, lines := measure(parts)
	if chars <= limit.Chars && lines <= limit.Lines {
		return parts, false
	}
	room := Limits{Chars: limit.Chars - noticeChars, Lines: limit.Lines - noticeLines}
	half := Limits{Chars: room.Chars / 2, Lines: room.Lines / 2}
	return splice(parts, headEnd(parts, half), tailStart(parts, half), chars, lines), true
}

// measure counts the characters and lines of all text.
func measure(parts []firn.Part) (chars, lines int) {
	for _, part := range parts {
		if t, ok := part.(firn.Text); ok {
			chars += utf8.RuneCountInString(t.Text)
			lines += countLines(t.Text)
		}
	}
	return chars, lines
}

// countLines counts lines; the last one needs no line end.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

// place is a position in the text: a byte offset in one of the parts.
type place struct{ part, at int }

// headEnd returns the place where the kept beginning ends.
func headEnd(parts []firn.Part, room Limits) place {
	for i, part := range parts {
		t, ok := part.(firn.Text)
		if !ok {
			continue
		}
		if n := prefix(t.Text, room); n < len(t.Text) {
			return place{i, n}
		}
		room.Chars -= utf8.RuneCountInString(t.Text)
		room.Lines -= countLines(t.Text)
	}
	return place{len(parts), 0}
}

// tailStart returns the place where the kept end starts.
func tailStart(parts []firn.Part, room Limits) place {
	for i := len(parts) - 1; i >= 0; i-- {
		t, ok := parts[i].(firn.Text)
		if !ok {
			continue
		}
		if n := suffix(t.Text, room); n > 0 {
			return place{i, n}
		}
		room.Chars -= utf8.RuneCountInString(t.Text)
		room.Lines -= countLines(t.Text)
	}
	return place{0, 0}
}

// prefix returns the number of bytes to keep at the beginning of s.
func prefix(s string, room Limits) int {
	if room.Chars <= 0 || room.Lines <= 0 {
		return 0
	}
	chars, lines, border := 0, 0, 0
	for at, r := range s {
		if chars == room.Chars {
			if border > at/2 {
				return border
			}
			return at
		}
		chars++
		if r == '\n' {
			border = at + 1
			if lines++; lines == room.Lines {
				return border
			}
		}
	}
	return len(s)
}

// suffix returns the offset of the kept end of s.
func suffix(s string, room Limits) int {
	if room.Chars <= 0 || room.Lines <= 0 {
		return len(s)
	}
	chars, lines, border := 0, 0, len(s)
	for at := len(s); at > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:at])
		if r == '\n' && at < len(s) {
			border = at
			if lines++; lines == room.Lines {
				return border
			}
		}
		if chars == room.Chars {
			if len(s)-border > (len(s)-at)/2 {
				return border
			}
			return at
		}
		chars++
		at -= size
	}
	return 0
}

// splice joins the kept parts, with a notice at the cut.
func splice(parts []firn.Part, head, tail place, chars, lines int) []firn.Part {
	var shown []firn.Part
	var seam int // the index of the notice, which is filled in at the end
	var before, after string
	for i, part := range parts {
		t, ok := part.(firn.Text)
		switch {
		case !ok || i < head.part || i > tail.part:
			shown = append(shown, part)
		case i == head.part:
			seam, before = len(shown), t.Text[:head.at]
			if i == tail.part {
				after = t.Text[tail.at:]
			}
			shown = append(shown, firn.Text{})
		case i == tail.part && tail.at < len(t.Text):
			shown = append(shown, firn.Text{Text: t.Text[tail.at:]})
		}
	}
	keptChars, keptLines := measure(append(shown, firn.Text{Text: before}, firn.Text{Text: after}))
	notice := fmt.Sprintf("[%s and %s left out here]", count(chars-keptChars, "character"), count(max(lines-keptLines, 0), "line"))
	shown[seam] = firn.Text{Text: onLine(before, notice, after)}
	return shown
}

// onLine puts a notice on its own line.
func onLine(before, notice, after string) string {
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	if after != "" {
		after = "\n" + after
	}
	return before + notice + after
}
