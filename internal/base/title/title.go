// Package title makes a short title of a prompt without asking a model: it keeps the words
// that carry the meaning and drops greetings, polite phrases and stop words. It knows the
// usual ones of English, German, French and Spanish, and the polite phrases of Chinese,
// Japanese and Korean, which are written without spaces between words or with few.
package title

import (
	"slices"
	"strings"
	"unicode"
)

const (
	maxWords = 6
	maxChars = 60
	// maxDense limits a title in a script without spaces.
	maxDense = 24
)

// Of returns a title of at most 60 characters for a prompt. It is empty if the prompt has no
// words.
func Of(prompt string) string {
	best := ""
	for _, sentence := range sentences(prompt) {
		words, content := fieldsOf(sentence)
		if len(words) == 0 {
			continue
		}
		if first, _, ok := strings.Cut(sentence, ", "); ok && content == 1 {
			if clause, n := fieldsOf(first); n == 1 { // which files are here, I wonder
				words = clause
			}
		}
		text := compose(trimPolite(words))
		if best == "" {
			best = text
		}
		if content >= 2 || content == 1 && dense(text) {
			best = text
			break
		}
		if content == 1 && allStop(best) {
			best = text
		}
	}
	return best
}

// maxRead limits how much of a prompt is read, in bytes. The subject comes first.
const maxRead = 4000

// sentences splits a prompt into sentences, without fenced code. If the prompt is nothing but
// code, its lines are returned.
func sentences(prompt string) []string {
	if len(prompt) > maxRead {
		prompt = strings.ToValidUTF8(prompt[:maxRead], "")
	}
	var all, code []string
	fenced := false
	for line := range strings.Lines(prompt) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced {
			code = append(code, trimmed)
			continue
		}
		all = append(all, splitLine(trimmed)...)
	}
	if len(all) == 0 {
		return code
	}
	return all
}

// splitLine splits a line after the punctuation that ends a sentence. A period ends one only
// before a space, so that names of files and versions stay whole.
func splitLine(line string) []string {
	var parts []string
	from := 0
	runes := []rune(line)
	for i, r := range runes {
		last := i == len(runes)-1
		ends := strings.ContainsRune("。！？；", r) || strings.ContainsRune(".!?;:", r) && !last && unicode.IsSpace(runes[i+1])
		if ends && !abbreviated(runes[from:i]) {
			parts = append(parts, string(runes[from:i]))
			from = i + 1
		}
	}
	return append(parts, string(runes[from:]))
}

// abbreviated reports whether a text ends with a single letter, as in "e.g." and "z.B.".
func abbreviated(before []rune) bool {
	n := len(before)
	return n > 0 && n < 3 && unicode.IsLetter(before[n-1]) && before[n-1] < 0x2e80 || n > 1 && unicode.IsLetter(before[n-1]) && strings.ContainsRune(". ", before[n-2]) && before[n-1] < 0x2e80
}

// fieldsOf returns the words of a sentence without the phrases that introduce a request, and
// the number of words that are not stop words.
func fieldsOf(sentence string) (words []string, content int) {
	sentence = trimDense(strings.TrimSpace(sentence))
	for _, w := range strings.FieldsFunc(sentence, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		if w = trimWord(w); w != "" {
			words = append(words, w)
		}
	}
	for _, w := range words {
		if !isStop(w) {
			content++
		}
	}
	return words, content
}

// trimWord removes punctuation around a word, but not what belongs to a name or a path.
func trimWord(w string) string {
	w = strings.TrimRightFunc(w, func(r rune) bool { return unicode.IsPunct(r) && !strings.ContainsRune("/%#*_", r) })
	for _, elision := range [...]string{"m'", "m’", "t'", "t’"} { // m'expliquer
		if rest, ok := strings.CutPrefix(strings.ToLower(w), elision); ok && len(rest) > 3 {
			w = w[len(elision):]
		}
	}
	return strings.TrimLeftFunc(w, func(r rune) bool { return unicode.IsPunct(r) && !strings.ContainsRune("/%#@.-_~", r) })
}

// possessive words belong to the noun after them: My name is Ada.
var possessive = map[string]bool{
	"my": true, "our": true, "his": true, "her": true, "their": true, "mein": true, "meine": true, "unser": true, "unsere": true,
	"mon": true, "ma": true, "mes": true, "notre": true, "nos": true, "mi": true, "mis": true, "nuestro": true, "nuestra": true,
}

// compose joins the words of a title. A sentence that is short enough from its first to its
// last significant word is kept as it is; of a longer one the stop words are dropped too.
func compose(words []string) string {
	span := words
	for len(span) > 0 && isStop(span[0]) && !(len(span) > 1 && possessive[strings.ToLower(span[0])] && !isStop(span[1])) {
		span = span[1:]
	}
	for len(span) > 0 && isStop(span[len(span)-1]) {
		span = span[:len(span)-1]
	}
	if len(span) <= 1 && !dense(strings.Join(span, "")) { // too little without its stop words
		span = words[:min(len(words), maxWords)]
	}
	if len(span) > maxWords+1 || size(span) > maxChars {
		kept := slices.DeleteFunc(slices.Clone(span), isStop)
		if len(kept) > 0 {
			span = kept[:min(len(kept), maxWords)]
		}
	}
	for len(span) > 1 && size(span) > maxChars {
		span = span[:len(span)-1]
	}
	return capital(cut(strings.Join(span, " ")))
}

// trimPolite removes the words that introduce a request, unless nothing else is left.
func trimPolite(words []string) []string {
	rest := words
	for len(rest) > 0 && polite()[strings.ToLower(rest[0])] {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return words
	}
	return rest
}

func size(words []string) int { return len([]rune(strings.Join(words, " "))) }

// cut shortens a title that is a single long word or has no spaces.
func cut(text string) string {
	runes, most := []rune(text), maxChars
	if dense(text) {
		most = maxDense
	}
	if len(runes) <= most {
		return text
	}
	if i := slices.IndexFunc(runes[most/2:most], func(r rune) bool { return strings.ContainsRune("，、,", r) }); i >= 0 {
		return string(runes[:most/2+i])
	}
	return string(runes[:most-1]) + "…"
}

// capital returns a title with a capital letter, unless its first word is a name in lower
// case, such as a path or an identifier.
func capital(text string) string {
	first, _, _ := strings.Cut(text, " ")
	if strings.ContainsAny(first, "./_-#@~0123456789") || strings.IndexFunc(first, unicode.IsUpper) >= 0 {
		return text
	}
	runes := []rune(text)
	if len(runes) > 0 {
		runes[0] = unicode.ToUpper(runes[0])
	}
	return string(runes)
}

func allStop(text string) bool {
	return !slices.ContainsFunc(strings.Fields(text), func(w string) bool { return !isStop(w) })
}

// dense reports whether a text is mostly of a script without spaces between words.
func dense(text string) bool {
	n, all := 0, 0
	for _, r := range text {
		all++
		if isDense(r) {
			n++
		}
	}
	return n*2 > all
}

func isDense(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// trimDense removes the polite phrases around a sentence of a script without spaces, and in
// Korean, whose particles are joined to the words.
func trimDense(sentence string) string {
	if !strings.ContainsFunc(sentence, func(r rune) bool { return isDense(r) || unicode.Is(unicode.Hangul, r) }) {
		return sentence
	}
	for {
		short := strings.TrimFunc(sentence, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) })
		for _, p := range densePrefixes {
			short = strings.TrimPrefix(short, p)
		}
		for _, p := range denseSuffixes {
			short = strings.TrimSuffix(short, p)
		}
		if short == "" || short == sentence {
			return sentence
		}
		sentence = short
	}
}
