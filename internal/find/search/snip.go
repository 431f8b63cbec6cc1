package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxScanned is how much of a text is scanned for a snippet, in bytes.
const maxScanned = 1 << 20

// Found is the byte range of a term in a text.
type Found struct{ Start, End, Term int }

// Find returns the occurrences of terms in a text, in order.
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

// add adds an occurrence, unless it is contained in the preceding one.
func add(found []Found, f Found) []Found {
	if n := len(found); n > 0 && found[n-1].Start <= f.Start && found[n-1].End >= f.End {
		return found
	}
	return append(found, f)
}

// Region returns the range of a text, of at most most bytes, that contains most of the
// terms, the first of several. Without matches it is the beginning.
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
				n += 100 // a new term counts more than a repeated one
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
	// Divide the remaining space, more of it after the match.
	room := most - (until - at)
	start = max(0, at-room/3)
	end = min(len(text), start+most)
	start = max(0, end-most)
	return bounds(text, start, end)
}

// maxStarts is the maximum number of ranges tried.
const maxStarts = 500

// bounds moves the ends of a range to character boundaries, and to spaces if they are near.
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

// Excerpt returns an excerpt of the text of at most most bytes, and the byte ranges of the
// terms in it. clean modifies the excerpt, for example to mask secrets; it is called with
// additional text on both sides, so that it recognizes truncated secrets.
func Excerpt(text string, terms []Term, most int, clean func(string) string) (string, [][2]int) {
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
	// The cleaned text may have another length: choose the range again.
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

// maxBlock is how far back BlockStart searches.
const maxBlock = 64 << 10

// BlockStart returns the start of the PEM block that contains the offset at, or at itself.
// A function that masks part of a long key needs its first line.
func BlockStart(text string, at int) int {
	from := max(0, at-maxBlock)
	// The offset may be within the first line itself.
	before := text[from:min(len(text), at+len(blockBegin)-1)]
	last := strings.LastIndex(before, blockBegin)
	if last < 0 || from+last >= at || strings.Contains(before[last:], blockEnd) {
		return at
	}
	return from + last
}

const blockBegin, blockEnd = "-----BEGIN", "-----END"

// whole returns the whole text as the excerpt.
func whole(text string, found []Found) (string, [][2]int) {
	piece := strings.TrimSpace(text)
	skipped := strings.Index(text, piece)
	var matches [][2]int
	for _, f := range found {
		matches = append(matches, [2]int{f.Start - skipped, f.End - skipped})
	}
	return piece, matches
}

// cleanMargin is the number of bytes on both sides of an excerpt that are passed to clean.
const cleanMargin = 2048
