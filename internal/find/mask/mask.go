// Package mask takes secrets out of text that is shown: keys, tokens and
// passwords, as far as they can be told by their form.
//
// It knows the forms of common keys, some of its own and those of the rule file of
// gitleaks, each with a word that must be there before the form is looked for, and
// it knows what names are given to secrets where something is assigned to a name.
// So ordinary text costs little. A secret is found also if characters nobody sees
// stand in it, or if it is spelt with escapes. It is for what is shown in passing,
// like the snippets of a search, and for what is given away; the transcript keeps
// what it has. What has no form of its own and no name, such as a password in a
// sentence, it cannot know.
package mask

import (
	"slices"
	"strings"
)

// Mark is what stands in the place of a secret.
const Mark = "[secret]"

// span is where a secret stands in a text.
type span struct{ from, to int }

// Text returns the text with every secret replaced by [Mark].
func Text(text string) string {
	out, _ := Count(text)
	return out
}

// Count is [Text], and says how many secrets there were.
func Count(text string) (masked string, places int) {
	return replaced(text, find(text))
}

// replaced is a text with [Mark] for each of some spans, and how many those are.
func replaced(text string, found []span) (masked string, places int) {
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

// find returns where the secrets of a text stand, in order and apart from each
// other. A text that hides some of its characters is also read as it is meant.
func find(text string) []span {
	found := search(text, byPair())
	if f, ok := unfold(text); ok {
		for _, s := range search(f.text, byPair()) {
			found = append(found, span{f.at[s.from], f.at[s.to]})
		}
	}
	return merge(found)
}

// search looks for secrets in a text as it stands.
func search(text string, t *triggers) []span {
	var found []span
	take := func(from, to int) {
		if from < to && !harmless(text[from:to]) {
			found = append(found, span{from, to})
		}
	}
	t.forms(text, take)
	assignments(text, take)
	addresses(text, take)
	return found
}

// merge sorts spans, and joins those that overlap.
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

// addresses takes the passwords in addresses: scheme://name:password@host.
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
