// Package mask removes secrets from displayed text: keys, tokens and passwords that can be
// recognized by their form or name.
//
// It uses the forms of common keys, from its own rules and the gitleaks rule file, each
// with keywords that are searched first, and the names that secrets are usually assigned
// to. So ordinary text costs little. Secrets are also found if they contain invisible
// characters or escapes. The package is meant for text shown in passing, such as search
// snippets, and for exports; transcripts are not changed. A secret without a recognizable
// form or name, such as a password in a sentence, is not found.
package mask

import (
	"slices"
	"strings"
)

// Mark replaces a secret.
const Mark = "[secret]"

// span is the byte range of a secret in a text.
type span struct{ from, to int }

// Text returns the text with every secret replaced by [Mark].
func Text(text string) string {
	out, _ := Count(text)
	return out
}

// Count is like [Text] and also returns the number of secrets.
func Count(text string) (masked string, places int) {
	return replaceSpans(text, find(text))
}

// replaceSpans replaces spans of a text with [Mark] and returns their number.
func replaceSpans(text string, found []span) (masked string, places int) {
	if len(found) == 0 {
		return text, 0
	}
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for _, s := range found {
		b.WriteString(text[at:s.from])
		b.WriteString(Mark)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String(), len(found)
}

// find returns the secrets of a text in order, without overlaps. A text with escapes or
// invisible characters is also searched in decoded form.
func find(text string) []span {
	found := search(text, byPair())
	if f, ok := unfold(text); ok {
		for _, s := range search(f.text, byPair()) {
			found = append(found, span{f.at[s.from], f.at[s.to]})
		}
	}
	return merge(found)
}

// search returns the secrets of a text without decoding it.
func search(text string, t *triggers) []span {
	var found []span
	take := func(from, to int) {
		if from < to && !isPlaceholder(text[from:to]) {
			found = append(found, span{from, to})
		}
	}
	t.findForms(text, take)
	assignments(text, take)
	addresses(text, take)
	return found
}

// merge sorts spans and joins overlapping ones.
func merge(found []span) []span {
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	kept := found[:0]
	for _, s := range found {
		if n := len(kept); n > 0 && s.from < kept[n-1].to {
			kept[n-1].to = max(kept[n-1].to, s.to)
			continue
		}
		kept = append(kept, s)
	}
	return kept
}

// addresses takes the passwords in URLs: scheme://name:password@host.
func addresses(text string, take func(from, to int)) {
	const mark = "://"
	for at := 0; ; {
		i := strings.Index(text[at:], mark)
		if i < 0 {
			return
		}
		scheme := at + i
		at = scheme + len(mark)
		if scheme == 0 || !letter(text[scheme-1]) && !digit(text[scheme-1]) {
			continue
		}
		end := at
		for end < len(text) && end-at < 1024 && !strings.ContainsRune(" \t\r\n/?#\"'`<>", rune(text[end])) {
			end++
		}
		who := text[at:end]
		last, colon := strings.LastIndexByte(who, '@'), strings.IndexByte(who, ':')
		if colon >= 0 && colon+2 < last {
			take(at+colon+1, at+last)
		}
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
