package mask

import "strings"

// place is the context of a JSON value: the name of its member, or of the array that
// contains it.
type place struct {
	name string
	// element is set if the value is in an array.
	element bool
}

// maskString masks a string in which some secrets are already known.
func (p place) maskString(text string, known []span, nested int) (string, int) {
	if start := strings.TrimLeft(text, " \t\r\n"); nested < maxNested && start != "" && (start[0] == '{' || start[0] == '[') {
		if out, places, ok := maskValue([]byte(text), p.name, nested+1); ok {
			if p.isSecret(text) {
				return Mark, 1
			}
			return string(out), places
		}
	}
	if p.isSecret(text) {
		return Mark, 1
	}
	found := append(find(text), known...)
	if p.name != "" {
		found = append(found, findAfterName(`"`+p.name+`": "`, text, `"`)...)
	}
	return replaceSpans(text, merge(found))
}

// isSecret reports whether the whole text is a secret because of its name.
func (p place) isSecret(text string) bool {
	kind := secretKindOf(p.name)
	if kind == none || kind >= key && len(text) > keyBytes {
		return false
	}
	v := value{to: len(text), quoted: 1}
	return v.plausible(text, kind) && !isDirectory(p.name, text) && !isPlaceholder(text)
}

// hidesNumber reports whether a number in encoded form is a secret.
func (p place) hidesNumber(raw string) bool {
	return secretKindOf(p.name) == password || p.name != "" && len(findAfterName(`"`+p.name+`": `, raw, "")) > 0
}

// headBytes is how much of a string is first searched together with its name. No rule with
// a bounded match looks further.
const headBytes = 8 << 10

// findAfterName finds the secrets of a text that depend on the text before it.
func findAfterName(before, text, after string) []span {
	head := text[:min(len(text), headBytes)]
	found := clipSpans(find(before+head+after), len(before), len(head))
	if n := len(found); len(head) < len(text) && n > 0 && found[n-1].to == len(head) { // the match may be longer
		found = clipSpans(find(before+text+after), len(before), len(text))
	}
	return found
}

// clipSpans returns the spans within a part of a text, relative to its start.
func clipSpans(found []span, from, size int) []span {
	kept := found[:0]
	for _, s := range found {
		s.from, s.to = max(s.from-from, 0), min(s.to-from, size)
		if s.from < s.to {
			kept = append(kept, s)
		}
	}
	return kept
}
