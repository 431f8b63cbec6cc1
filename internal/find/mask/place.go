package mask

import "strings"

// place is where a value of JSON stands, which tells what it is: what its member
// is called, or the array that it is an element of.
type place struct {
	name string
	// element says that it stands in an array.
	element bool
}

// within masks a string, of which some parts are known to be secrets.
func (p place) within(text string, known []span, nested int) (string, int) {
	if start := strings.TrimLeft(text, " \t\r\n"); nested < maxNested && start != "" && (start[0] == '{' || start[0] == '[') {
		if out, places, ok := rewritten([]byte(text), p.name, nested+1); ok {
			if p.assigns(text) {
				return Mark, 1
			}
			return string(out), places
		}
	}
	if p.assigns(text) {
		return Mark, 1
	}
	found := append(find(text), known...)
	if p.name != "" {
		found = append(found, behind(`"`+p.name+`": "`, text, `"`)...)
	}
	return replaced(text, merge(found))
}

// assigns reports whether a whole text is a secret because of its name.
func (p place) assigns(text string) bool {
	kind := sortOf(p.name)
	if kind == none || kind >= key && len(text) > keyBytes {
		return false
	}
	v := value{to: len(text), quoted: 1}
	return v.convincing(text, kind) && !folder(p.name, text) && !harmless(text)
}

// hides reports whether a number or a truth, as it is written, is a secret.
func (p place) hides(raw string) bool {
	return sortOf(p.name) == password || p.name != "" && len(behind(`"`+p.name+`": `, raw, "")) > 0
}

// headBytes is how much of a string is read with its name at first: more than any
// rule looks at that does not go on to the end of it.
const headBytes = 8 << 10

// behind finds the secrets of a text that are such for what stands before it.
func behind(before, text, after string) []span {
	head := text[:min(len(text), headBytes)]
	found := inside(find(before+head+after), len(before), len(head))
	if n := len(found); len(head) < len(text) && n > 0 && found[n-1].to == len(head) { // it may go on
		found = inside(find(before+text+after), len(before), len(text))
	}
	return found
}

// inside is what of some spans is in a part of a text, by where it is there.
func inside(found []span, from, size int) []span {
	kept := found[:0]
	for _, s := range found {
		s.from, s.to = max(s.from-from, 0), min(s.to-from, size)
		if s.from < s.to {
			kept = append(kept, s)
		}
	}
	return kept
}
