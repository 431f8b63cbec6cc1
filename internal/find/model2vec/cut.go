package model2vec

import (
	"strings"

	"firn.dev"
)

// normalize applies the normalizers to a part of a text. longest is the length of its
// longest form. What is too long after a step is cut.
func (t *tokenizer) normalize(text string) (normal string, longest int) {
	most := grownStep(len(text))
	longest = len(text)
	for _, f := range t.normalizers {
		text = firn.CutText(f(text), most)
		longest = max(longest, len(text))
	}
	return text, longest
}

// split applies the pre-tokenizers to a part of a text. longest is the greatest length of
// its parts together. Those that are too long after a step are cut.
func (t *tokenizer) split(text string) (parts []string, longest int) {
	most := grownStep(len(text))
	parts, longest = []string{text}, len(text)
	for _, f := range t.splitters {
		var length int
		parts, length = cutParts(f(parts), most)
		longest = max(longest, length)
	}
	return parts, longest
}

// cutParts returns the first parts that have most bytes together, and their length. An empty
// part counts as one byte.
func cutParts(parts []string, most int) ([]string, int) {
	length := 0
	for i, part := range parts {
		if length += max(len(part), 1); length > most {
			return parts[:i], length - max(len(part), 1)
		}
	}
	return parts, length
}

// cutter splits a text into tokens. It stops when the text has grown too much.
type cutter struct {
	*tokenizer
	all []int32
	// normalizing and splitting are the bytes left for the normalizers and for the
	// pre-tokenizers, tokens is the number of tokens left.
	normalizing, splitting, tokens int
}

// cutText returns the numbers of the tokens of a text, at most [grownText]. Only the first
// [maxText] bytes count.
func (t *tokenizer) cutText(text string) []int32 {
	text = strings.ToValidUTF8(firn.CutText(text, maxText), "\uFFFD")
	most := grownText(len(text))
	c := &cutter{tokenizer: t, normalizing: most, splitting: most, tokens: most}
	c.cut(t.before, text, c.cutRaw)
	return c.all[:min(len(c.all), most)]
}

// cutRaw appends the tokens of a part of a text without added tokens.
func (c *cutter) cutRaw(part string) {
	if c.normalizing <= 0 {
		return
	}
	text, longest := c.normalize(part)
	c.normalizing -= longest
	c.cut(c.after, text, c.cutNormal)
}

// cutNormal appends the tokens of a normalized part of a text without added tokens.
func (c *cutter) cutNormal(part string) {
	if c.splitting <= 0 {
		return
	}
	words, longest := c.split(part)
	c.splitting -= longest
	for _, word := range words {
		if c.full() {
			return
		}
		c.all = c.model.append(c.all, word)
	}
}

func (c *cutter) full() bool { return len(c.all) >= c.tokens }

// cut appends the added tokens of a text, and calls rest with what is between them.
func (c *cutter) cut(a *added, text string, rest func(string)) {
	for text != "" && !c.full() {
		from, to, id, ok := a.next(text)
		if !ok {
			rest(text)
			return
		}
		if from > 0 {
			rest(text[:from])
		}
		c.all = append(c.all, id)
		text = text[to:]
	}
}
