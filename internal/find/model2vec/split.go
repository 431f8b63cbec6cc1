package model2vec

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"firn.dev/internal/base/pattern"
)

func whole(parts []string) []string { return parts }

// addSplitter adds the steps of a pre-tokenizer.
func (b *builder) addSplitter(data json.RawMessage) {
	c := b.component(data)
	if c == nil {
		return
	}
	if c.Type == "Sequence" {
		b.depth++
		for _, one := range c.Splitters {
			b.addSplitter(one)
		}
		b.depth--
		return
	}
	b.splitters = append(b.splitters, b.splitter(c))
}

// splitter returns the function of a pre-tokenizer that is no sequence. It splits parts of a
// text.
func (b *builder) splitter(c *component) func([]string) []string {
	switch c.Type {
	case "BertPreTokenizer":
		return func(parts []string) []string { return each(each(parts, strings.Fields), isolatePunctuation) }
	case "WhitespaceSplit":
		return func(parts []string) []string { return each(parts, strings.Fields) }
	case "Whitespace":
		return func(parts []string) []string { return each(parts, wordsAndSigns) }
	case "Punctuation":
		return c.byRune(isPunctuation)
	case "Digits":
		if c.Individual {
			c.Behavior = "Isolated"
		} else {
			c.Behavior = "Contiguous"
		}
		return c.byRune(unicode.IsNumber)
	case "CharDelimiterSplit":
		return c.byRune(func(r rune) bool { return strings.ContainsRune(c.Delimiter, r) }, "Removed")
	case "Metaspace":
		return c.metaspace()
	case "ByteLevel":
		return c.byteLevel()
	case "Split":
		return b.bySplit(c)
	}
	b.fail("the pre-tokenizer %.40q is not supported", c.Type)
	return whole
}

// each splits each part.
func each(parts []string, split func(string) []string) []string {
	var all []string
	for _, part := range parts {
		all = append(all, split(part)...)
	}
	return all
}

func isPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7f && !isWordRune(r) || r == '_'
	}
	return unicode.IsPunct(r)
}

func isWordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Pc, r)
}

func isolatePunctuation(text string) []string { return cutRunes(text, isPunctuation, "Isolated") }

// wordsAndSigns splits a text into words and groups of other characters, without spaces.
func wordsAndSigns(text string) []string {
	var all []string
	for _, part := range strings.Fields(text) {
		all = append(all, cutRunes(part, isWordRune, "Contiguous")...)
	}
	return all
}

// byRune returns a splitter at characters. The usual behavior is to isolate them.
func (c *component) byRune(at func(rune) bool, usual ...string) func([]string) []string {
	behavior := c.Behavior
	switch {
	case len(usual) > 0:
		behavior = usual[0]
	case behavior == "":
		behavior = "Isolated"
	}
	return func(parts []string) []string {
		return each(parts, func(text string) []string { return cutRunes(text, at, behavior) })
	}
}

// cutRunes splits a text at characters.
func cutRunes(text string, at func(rune) bool, behavior string) []string {
	var places [][]int
	for i, r := range text {
		if at(r) {
			places = append(places, []int{i, i + utf8.RuneLen(r)})
		}
	}
	return cutAt(text, places, behavior)
}

// cutAt splits a text at places. The behavior says what becomes of the text there: it is
// removed, a part of its own, or a part of what is before or after it.
func cutAt(text string, places [][]int, behavior string) []string {
	var all []string
	take := func(from, to int) {
		if from < to {
			all = append(all, text[from:to])
		}
	}
	start := 0
	for i := 0; i < len(places); i++ {
		from, to := places[i][0], places[i][1]
		if from < start || from == to {
			continue
		}
		switch behavior {
		case "Removed":
			take(start, from)
			start = to
		case "MergedWithPrevious":
			take(start, to)
			start = to
		case "MergedWithNext":
			take(start, from)
			start = from
		case "Contiguous":
			take(start, from)
			for i+1 < len(places) && places[i+1][0] == to {
				i++
				to = places[i][1]
			}
			take(from, to)
			start = to
		default: // Isolated
			take(start, from)
			take(from, to)
			start = to
		}
	}
	take(start, len(text))
	return all
}

// bySplit returns a splitter at a text or a regular expression.
func (b *builder) bySplit(c *component) func([]string) []string {
	p, err := b.finder(c.Pattern)
	if err != nil {
		b.fail("the pre-tokenizer Split is not supported: %w", err)
		return whole
	}
	return func(parts []string) []string {
		return each(parts, func(text string) []string {
			places := p.places(text)
			if c.Invert {
				places = between(text, places)
			}
			return cutAt(text, places, c.Behavior)
		})
	}
}

// between returns the places between others.
func between(text string, places [][]int) [][]int {
	var all [][]int
	start := 0
	for _, p := range append(places, []int{len(text), len(text)}) {
		if p[0] > start {
			all = append(all, []int{start, p[0]})
		}
		start = p[1]
	}
	return all
}

// metaspace returns the splitter of SentencePiece, which marks the beginnings of words.
func (c *component) metaspace() func([]string) []string {
	mark := c.Replacement
	if mark == "" {
		mark = "▁"
	}
	prepend := is(c.PrefixSpace, true) && c.Scheme != "never"
	return func(parts []string) []string {
		var all []string
		left := grownParts(parts)
		for i, text := range parts {
			if left <= 0 {
				break
			}
			text = literal(" ").replace(text, mark)
			if prepend && !strings.HasPrefix(text, mark) && (i == 0 || c.Scheme != "first") {
				text = mark + text
			}
			left -= len(text)
			if is(c.Split, true) {
				all = append(all, cutAt(text, literal(mark).places(text), "MergedWithNext")...)
			} else {
				all = append(all, text)
			}
		}
		return all
	}
}

// byteRunes are the characters that stand for bytes in ByteLevel vocabularies: printable
// bytes for themselves, the others from U+0100 on.
var byteRunes = func() (all [256]rune) {
	next := rune(256)
	for b := range all {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			all[b] = rune(b)
			continue
		}
		all[b] = next
		next++
	}
	return all
}()

// byteWords are the words of ByteLevel without its lookahead: spaces before a word belong
// together except for the last, which is part of the word.
var byteWords = pattern.New(`'(?:s|t|re|ve|m|ll|d)| ?\pL+| ?\pN+| ?[^\s\pZ\pL\pN]+|[\s\pZ]+`)

// byteLevel returns the splitter of GPT-2, which writes bytes as characters.
func (c *component) byteLevel() func([]string) []string {
	return func(parts []string) []string {
		var all []string
		left := grownParts(parts)
		for _, text := range parts {
			if left <= 0 {
				break
			}
			if is(c.PrefixSpace, true) && !strings.HasPrefix(text, " ") {
				text = " " + text
			}
			left -= len(text)
			words := []string{text}
			if is(c.UseRegex, true) {
				words = splitByteWords(text)
			}
			for _, word := range words {
				all = append(all, bytesAsRunes(word))
			}
		}
		return all
	}
}

func bytesAsRunes(word string) string {
	var out strings.Builder
	for i := range len(word) {
		out.WriteRune(byteRunes[word[i]])
	}
	return out.String()
}

// splitByteWords splits a text as GPT-2 does.
func splitByteWords(text string) []string {
	var all []string
	for text != "" {
		n := len(byteWords().FindString(text))
		if n == 0 {
			n = len(text)
		}
		// The last of several spaces before a word begins the word.
		if word := text[:n]; n < len(text) && strings.TrimSpace(word) == "" && utf8.RuneCountInString(word) > 1 {
			_, last := utf8.DecodeLastRuneInString(word)
			n -= last
		}
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}
