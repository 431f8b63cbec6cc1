package search

import "bytes"

// minStem is the minimum length of a stem.
const minStem = 3

// stemLen returns the length of a folded word without its English ending: plurals, tenses
// and derived nouns. The stemmer is light: it may conflate words that only look alike, but
// rarely separates forms of the same word. Words with other characters than a to z are not
// changed.
func stemLen(w []byte) int {
	if len(w) <= minStem || !letters(w) {
		return len(w)
	}
	n := plural(w)
	n = verb(w[:n])
	for _, long := range [...]string{"ational", "ation", "ator", "ment", "ness", "ion", "ate", "ly"} {
		if rest := n - len(long); rest >= minStem+1 && bytes.HasSuffix(w[:n], []byte(long)) {
			if long == "ion" && w[rest-1] != 't' && w[rest-1] != 's' {
				continue
			}
			n = rest
			break
		}
	}
	if n > minStem && w[n-1] == 'e' {
		n--
	}
	return n
}

func letters(w []byte) bool {
	for _, c := range w {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// plural removes the s of plurals and verbs.
func plural(w []byte) int {
	n := len(w)
	switch {
	case w[n-1] != 's' || ends(w, "ss") || ends(w, "us") || ends(w, "is"):
		return n
	case ends(w, "ies") && n > 4:
		return n - 2 // the i replaces a y
	case ends(w, "sses") || ends(w, "ches") || ends(w, "shes") || ends(w, "xes") || ends(w, "zes"):
		return n - 2
	}
	return n - 1
}

// verb removes ed and ing, and one of two equal consonants before them.
func verb(w []byte) int {
	n := len(w)
	switch {
	case ends(w, "ied") && n > 4:
		return n - 2
	case ends(w, "eed"):
		return n - 1
	case ends(w, "ing") && hasVowel(w[:n-3]):
		n -= 3
	case ends(w, "ed") && hasVowel(w[:n-2]):
		n -= 2
	default:
		return n
	}
	if n < minStem {
		return len(w)
	}
	if c := w[n-1]; n > minStem && c == w[n-2] && !vowel(c) && c != 'l' && c != 's' && c != 'z' {
		n--
	}
	return n
}

// endsInY reports whether a stem ends in a y that becomes an i in other forms: try, tries,
// tried.
func endsInY(stem, word []byte) bool {
	n := len(stem)
	return n == len(word) && n > 2 && stem[n-1] == 'y' && !vowel(stem[n-2]) && letters(word)
}

func ends(w []byte, suffix string) bool { return bytes.HasSuffix(w, []byte(suffix)) }

func vowel(c byte) bool { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' }

func hasVowel(w []byte) bool {
	for _, c := range w {
		if vowel(c) || c == 'y' {
			return true
		}
	}
	return false
}
