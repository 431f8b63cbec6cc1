package model2vec

import (
	"slices"
	"unicode/utf8"
)

// lexicon is a set of texts with numbers that finds those at the beginning of another text.
type lexicon struct {
	ids map[string]int32
	// lengths are the lengths of the texts that begin with a byte, shortest first.
	lengths [256][]int
}

func newLexicon(n int) *lexicon { return &lexicon{ids: make(map[string]int32, n)} }

// add adds a text. prepare must be called after the last one.
func (l *lexicon) add(text string, id int32) {
	if text == "" {
		return
	}
	l.ids[text] = id
	if of := &l.lengths[text[0]]; !slices.Contains(*of, len(text)) {
		*of = append(*of, len(text))
	}
}

func (l *lexicon) prepare() {
	for i := range l.lengths {
		slices.Sort(l.lengths[i])
	}
}

// longest returns the longest text at the beginning of another one, and its number.
func (l *lexicon) longest(text string) (length int, id int32, ok bool) {
	if text == "" {
		return 0, 0, false
	}
	for _, n := range slices.Backward(l.lengths[text[0]]) {
		if n <= len(text) {
			if id, ok = l.ids[text[:n]]; ok {
				return n, id, true
			}
		}
	}
	return 0, 0, false
}

// wordPiece splits a word into the longest tokens from its beginning.
type wordPiece struct {
	// starts are the tokens at the beginning of a word, rest the others, without their prefix.
	starts, rest *lexicon
	unknown      int32
	// most is the number of characters of a word above which it is unknown.
	most int
}

func (w *wordPiece) append(dst []int32, word string) []int32 {
	from := len(dst)
	if utf8.RuneCountInString(word) > w.most {
		return append(dst, w.unknown)
	}
	in := w.starts
	for word != "" {
		n, id, ok := in.longest(word)
		if !ok {
			return append(dst[:from], w.unknown)
		}
		dst = append(dst, id)
		word, in = word[n:], w.rest
	}
	return dst
}

// unigram splits a word into the tokens with the greatest sum of scores.
type unigram struct {
	*lexicon
	scores  []float64
	unknown int32
	// lowest is the lowest score of a token.
	lowest float64
	// bytes are the tokens of bytes, for unknown characters; nil if there are none.
	bytes *[256]int32
}

// unknownPenalty is subtracted from the lowest score of a token for an unknown character.
const unknownPenalty = 10

// step is the best way to a place in a word.
type step struct {
	from  int
	id    int32
	score float64
}

func (u *unigram) append(dst []int32, word string) []int32 {
	best := make([]step, len(word)+1)
	for i := range best {
		best[i].from = -1
	}
	best[0].from = 0
	reach := func(from, to int, id int32, score float64) {
		if s := &best[to]; s.from < 0 || score > s.score {
			*s = step{from, id, score}
		}
	}
	for i := 0; i < len(word); {
		_, size := utf8.DecodeRuneInString(word[i:])
		single, here := false, best[i].score
		for _, n := range u.lengths[word[i]] {
			if n > len(word)-i {
				break
			}
			if id, ok := u.ids[word[i:i+n]]; ok {
				reach(i, i+n, id, here+u.scores[id])
				single = single || n == size
			}
		}
		if !single {
			reach(i, i+size, u.unknown, here+u.lowest-unknownPenalty)
		}
		i += size
	}
	return u.walk(dst, word, best)
}

// walk appends the tokens of the best way. Unknown characters in a row are one token, or
// that of each of their bytes.
func (u *unigram) walk(dst []int32, word string, best []step) []int32 {
	first, unknown := len(dst), false
	for end := len(word); end > 0; end = best[end].from {
		s := best[end]
		switch {
		case s.id == u.unknown && u.bytes != nil:
			for i := end - 1; i >= s.from; i-- {
				dst = append(dst, u.bytes[word[i]])
			}
		case s.id != u.unknown || !unknown:
			dst = append(dst, s.id)
		}
		unknown = s.id == u.unknown
	}
	slices.Reverse(dst[first:])
	return dst
}

// bytePair splits a word into characters and joins pairs of them, those learned first first.
type bytePair struct {
	ids            map[string]int32
	merges         map[[2]int32]merge
	unknown        int32
	prefix, suffix string
	bytes          *[256]int32
	// whole is true if words that are tokens are not split.
	whole, fuse bool
}

// merge is the token of a pair, and how early it was learned.
type merge struct{ rank, id int32 }

// none is the number of no token.
const none = -1

func (b *bytePair) append(dst []int32, word string) []int32 {
	if id, ok := b.ids[word]; ok && b.whole {
		return append(dst, id)
	}
	parts := b.characters(word)
	for len(parts) > maxWord { // no real word
		dst = b.join(dst, parts[:maxWord])
		parts = parts[maxWord:]
	}
	return b.join(dst, parts)
}

// maxWord is the number of characters that are joined at a time.
const maxWord = 500

// join appends characters, joined as far as possible.
func (b *bytePair) join(dst, parts []int32) []int32 {
	for len(parts) > 1 {
		at, first := -1, merge{}
		for i := range len(parts) - 1 {
			if m, ok := b.merges[[2]int32{parts[i], parts[i+1]}]; ok && (at < 0 || m.rank < first.rank) {
				at, first = i, m
			}
		}
		if at < 0 {
			break
		}
		parts[at] = first.id
		parts = slices.Delete(parts, at+1, at+2)
	}
	return append(dst, parts...)
}

// characters returns the tokens of the characters of a word.
func (b *bytePair) characters(word string) []int32 {
	parts := make([]int32, 0, len(word))
	unknown := false
	for i := 0; i < len(word) && len(parts) < maxGrown; {
		_, size := utf8.DecodeRuneInString(word[i:])
		text := word[i : i+size]
		if i > 0 {
			text = b.prefix + text
		}
		if i += size; i == len(word) {
			text += b.suffix
		}
		id, ok := b.ids[text]
		switch {
		case ok:
			parts = append(parts, id)
		case b.bytes != nil:
			for k := range len(text) {
				parts = append(parts, b.bytes[text[k]])
			}
		case b.unknown != none && !(unknown && b.fuse):
			parts = append(parts, b.unknown)
		}
		unknown = !ok && b.bytes == nil
	}
	return parts
}
