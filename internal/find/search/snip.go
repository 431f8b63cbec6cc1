package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxScanned bounds how much of a text is looked through for a snippet.
const maxScanned = 1 << 20

// Found is where in a text a term is.
type Found struct{ Start, End, Term int }

// Find finds terms in a text, in order.
func Find(text string, terms []Term) []Found {
	if len(terms) == 0 {
		return nil
	}
	if len(text) > maxScanned {
		text = text[:maxScanned]
	}
	var words, extra []Token
	for _, t := range Tokens(text) {
		if t.Extra {
			extra = append(extra, t)
		} else {
			words = append(words, t)
		}
	}
	plain := make([]string, len(words))
	for i, w := range words {
		plain[i] = w.Term
	}
	var found []Found
	e := 0
	for i := range words {
		for ; e < len(extra) && extra[e].Start <= words[i].Start; e++ {
			for n, t := range terms {
				if t.Whole != "" && (extra[e].Term == t.Whole || t.Prefix && strings.HasPrefix(extra[e].Term, t.Whole)) {
					found = add(found, Found{extra[e].Start, extra[e].End, n})
				}
			}
		}
		for n, t := range terms {
			if i+len(t.Parts) <= len(words) && t.at(plain[i:]) {
				found = add(found, Found{words[i].Start, words[i+len(t.Parts)-1].End, n})
			}
		}
	}
	return found
}

// add adds what was found, unless it is within what was found just before.
func add(found []Found, f Found) []Found {
	if n := len(found); n > 0 && found[n-1].Start <= f.Start && found[n-1].End >= f.End {
		return found
	}
	return append(found, f)
}

// Region chooses the piece of a text, of at most so many bytes, in which most
// of the terms are, the first of several. Without any it is the beginning.
func Region(text string, found []Found, most int) (start, end int) {
	if len(text) <= most {
		return 0, len(text)
	}
	best, at, until := 0, 0, 0
	for i := range found {
		seen := make(map[int]bool)
		n, last := 0, found[i].End
		for _, f := range found[i:] {
			if f.End-found[i].Start > most {
				break
			}
			if n++; !seen[f.Term] {
				seen[f.Term] = true
				n += 100 // another term counts more than one again
			}
			last = max(last, f.End)
		}
		if n > best {
			best, at, until = n, found[i].Start, last
		}
		if i > maxStarts {
			break
		}
	}
	if until-at > most {
		return bounds(text, at, at+most)
	}
	// What is left goes before and after, more after.
	room := most - (until - at)
	start = max(0, at-room/3)
	end = min(len(text), start+most)
	start = max(0, end-most)
	return bounds(text, start, end)
}

// maxStarts bounds how many places are tried.
const maxStarts = 500

// bounds moves the ends of a piece to whole characters, and to spaces if there
// are some near.
func bounds(text string, start, end int) (int, int) {
	for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	for end < len(text) && end > start && !utf8.RuneStart(text[end]) {
		end--
	}
	if start > 0 {
		if i := strings.IndexFunc(text[start:min(start+32, end)], unicode.IsSpace); i >= 0 {
			start += i + 1
		}
	}
	return start, end
}

// Snip shows what was found: a piece of the text of at most so many bytes, and
// where in it the terms are. Clean changes the piece before it is shown, such
// as to mask secrets; it sees some more of the text on both sides, so that it
// can tell what is cut.
func Snip(text string, terms []Term, most int, clean func(string) string) (string, [][2]int) {
	const mark = "…"
	text, _, _ = strings.Cut(text, "\x00")
	room := most - 2*len(mark)
	found := Find(text, terms)
	if len(text) <= room && (clean == nil || clean(text) == text) {
		return whole(text, found)
	}
	start, end := Region(text, found, room)
	from, _ := bounds(text, max(0, start-cleanMargin), end)
	from = BlockStart(text, from)
	_, to := bounds(text, start, min(len(text), end+cleanMargin))
	wide := text[from:to]
	if clean != nil {
		wide = clean(wide)
	}
	// What was cleaned may have another length: choose anew in what is left.
	a, b := Region(wide, Find(wide, terms), room)
	piece := strings.TrimSpace(wide[a:b])
	before := from > 0 || strings.TrimSpace(wide[:a]) != ""
	after := to < len(text) || strings.TrimSpace(wide[b:]) != ""
	if before {
		piece = mark + piece
	}
	if after {
		piece += mark
	}
	var matches [][2]int
	for _, f := range Find(piece, terms) {
		matches = append(matches, [2]int{f.Start, f.End})
	}
	return piece, matches
}

// maxBlock bounds how far back it is looked for where a block begins.
const maxBlock = 64 << 10

// BlockStart tells where the block of a key begins that a place in a text is
// within, as its first line says, or else that place: who masks a piece of a long
// key must see that line.
func BlockStart(text string, at int) int {
	from := max(0, at-maxBlock)
	// The place may be within the first line itself.
	before := text[from:min(len(text), at+len(blockBegin)-1)]
	last := strings.LastIndex(before, blockBegin)
	if last < 0 || from+last >= at || strings.Contains(before[last:], blockEnd) {
		return at
	}
	return from + last
}

const blockBegin, blockEnd = "-----BEGIN", "-----END"

// whole shows all of a text.
func whole(text string, found []Found) (string, [][2]int) {
	piece := strings.TrimSpace(text)
	skipped := strings.Index(text, piece)
	var matches [][2]int
	for _, f := range found {
		matches = append(matches, [2]int{f.Start - skipped, f.End - skipped})
	}
	return piece, matches
}

// cleanMargin is how much of a text on both sides of a piece is cleaned with it.
const cleanMargin = 2048
