package memory

import (
	"slices"
	"strings"
)

// relation is the relation of two facts.
type relation int

const (
	// unrelated facts are independent.
	unrelated relation = iota
	// same facts have the same meaning.
	same
	// contrary facts cannot both be true: the newer one counts.
	contrary
)

// minSame is the similarity from which facts count as the same.
const minSame = 0.75

// relate compares an older fact with a newer one. It is conservative: facts are unrelated
// unless clearly the same or contrary.
func relate(older, newer string) relation {
	if sameKey(older) == sameKey(newer) {
		return same
	}
	a, b := terms(older), terms(newer)
	differ := negated(older) != negated(newer) || !slices.Equal(figures(a), figures(b))
	switch {
	case likeness(a, b) >= minSame && !differ:
		return same
	case contradicts(older, newer):
		return contrary
	case negated(older) != negated(newer) && likeness(withoutNegation(a), withoutNegation(b)) >= minSame:
		return contrary
	case marksChange(newer) && cover(a, b) >= 0.6:
		return contrary
	}
	return unrelated
}

// negated reports whether a sentence contains a negation in one of the known languages.
func negated(text string) bool {
	low := strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	for word := range strings.FieldsFuncSeq(low, func(r rune) bool { return notWord(r) && r != '\'' }) {
		if negations()[word] || strings.HasSuffix(word, "n't") || strings.HasPrefix(word, "n'") {
			return true
		}
	}
	return strings.ContainsAny(low, "不没沒未") || strings.Contains(low, "ない") || strings.Contains(low, "ません")
}

// negations are negating words: English, German, French, Spanish, Italian, Portuguese,
// Dutch, Swedish, Danish, Norwegian, Polish, Russian.
var negations = lazySet("not never no without neither nor cannot " +
	"nicht kein keine keinen keinem keiner nie niemals ohne weder " +
	"ne pas jamais sans aucun aucune ni " +
	"nunca jamás sin ningún ninguna tampoco " +
	"non mai senza nessun nessuna não sem nenhum nenhuma " +
	"niet geen nooit zonder inte aldrig ikke aldri uden uten utan ingen " +
	"nie nigdy bez не нет никогда без")

func withoutNegation(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return negations()[w] || w == "nev" || w == "long" || w == "always" || w == "alway" || w == "doesn" || w == "isn" || w == "don" || w == "t"
	})
}

// figures returns the words with digits, sorted.
func figures(words []string) []string {
	var all []string
	for _, w := range words {
		if strings.ContainsAny(w, "0123456789") {
			all = append(all, w)
		}
	}
	slices.Sort(all)
	return all
}

// marksChange reports whether a sentence states that something has changed.
func marksChange(text string) bool {
	low := " " + strings.ToLower(text) + " "
	for _, word := range []string{" no longer ", " not any more ", " anymore ", " any more ", " instead of ", " switched ", " changed to ", " moved from ", " moved to ", " replaced ", " now uses ", " now use ", " from now on "} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// vague are subjects that many unrelated sentences share.
var vague = set("user he she it this that they there one thing people everything everybody")

// copulas separate the subject of a sentence from its predicate.
var copulas = []string{" is now ", " are now ", " will be ", " is ", " are ", " was ", " were ", " equals ", " = "}

// contradicts reports whether two sentences have the same subject but different predicates.
func contradicts(older, newer string) bool {
	about, stated, ok := predicate(older)
	about2, stated2, ok2 := predicate(newer)
	if !ok || !ok2 || !slices.Equal(about, about2) {
		return false
	}
	return likeness(stated, stated2) < 0.5 || !slices.Equal(figures(stated), figures(stated2))
}

// predicate splits a sentence at its verb.
func predicate(text string) (about, stated []string, ok bool) {
	low := strings.ToLower(text)
	for _, verb := range copulas {
		head, tail, found := strings.Cut(low, verb)
		if !found {
			continue
		}
		about = slices.DeleteFunc(terms(head), func(w string) bool { return vague[w] || vague[w+"e"] })
		slices.Sort(about)
		stated = terms(tail)
		return about, stated, len(about) > 0 && len(about) <= 6 && len(stated) > 0
	}
	return nil, nil, false
}

// newer reports whether a fact was noted no earlier than another.
func newer(f, than Fact) bool {
	at := func(f Fact) string {
		if !f.written.IsZero() {
			return f.written.UTC().Format(dayFormat)
		}
		if f.Day.IsZero() {
			return ""
		}
		return f.Day.Format(dayFormat)
	}
	return at(f) >= at(than)
}

// mergeFacts merges two facts with the same meaning: the newer text unless the older has
// more detail, all sources, and a slightly higher confidence.
func mergeFacts(older, fresh Fact) Fact {
	f := older
	if len(terms(fresh.Text)) >= len(terms(older.Text)) && fresh.spoken {
		f.Text = fresh.Text
	}
	if f.Category == "" {
		f.Category = fresh.Category
	}
	again := false
	f.Sources = slices.Clone(f.Sources)
	for _, s := range fresh.Sources {
		if slices.Contains(f.Sources, s) || len(f.Sources) >= maxSources {
			continue
		}
		// A fork contains copies of entries, which are not new evidence.
		again = again || !slices.ContainsFunc(f.Sources, func(known Source) bool { return known.Entry == s.Entry })
		f.Sources = append(f.Sources, s)
	}
	if again && f.Confidence > 0 {
		f.Confidence = min(max(f.Confidence, fresh.Confidence)+0.05, 0.99)
	}
	return f
}

// maxSources is the maximum number of sources of a fact.
const maxSources = 8
