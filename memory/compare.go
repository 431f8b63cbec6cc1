package memory

import (
	"slices"
	"strings"
)

// relation is how two facts are to each other.
type relation int

const (
	// unrelated facts stand beside each other.
	unrelated relation = iota
	// same facts say the same.
	same
	// contrary facts cannot both be true: the newer one counts.
	contrary
)

// likeSame is how much facts must share to say the same.
const likeSame = 0.75

// relate compares an older fact with a newer one. It is careful: what is not
// plainly the same or contrary stands beside each other.
func relate(older, newer string) relation {
	if sameKey(older) == sameKey(newer) {
		return same
	}
	a, b := terms(older), terms(newer)
	differ := negated(older) != negated(newer) || !slices.Equal(figures(a), figures(b))
	switch {
	case likeness(a, b) >= likeSame && !differ:
		return same
	case replaced(older, newer):
		return contrary
	case negated(older) != negated(newer) && likeness(withoutNegation(a), withoutNegation(b)) >= likeSame:
		return contrary
	case changes(newer) && cover(a, b) >= 0.6:
		return contrary
	}
	return unrelated
}

// negated reports whether a sentence says that something is not so, in the
// languages whose words for it are known.
func negated(text string) bool {
	low := strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	for word := range strings.FieldsFuncSeq(low, func(r rune) bool { return notWord(r) && r != '\'' }) {
		if negations[word] || strings.HasSuffix(word, "n't") || strings.HasPrefix(word, "n'") {
			return true
		}
	}
	return strings.ContainsAny(low, "不没沒未") || strings.Contains(low, "ない") || strings.Contains(low, "ません")
}

// negations are words that say no: English, German, French, Spanish, Italian,
// Portuguese, Dutch, Swedish, Danish, Norwegian, Polish, Russian.
var negations = set("not never no without neither nor cannot " +
	"nicht kein keine keinen keinem keiner nie niemals ohne weder " +
	"ne pas jamais sans aucun aucune ni " +
	"nunca jamás sin ningún ninguna tampoco " +
	"non mai senza nessun nessuna não sem nenhum nenhuma " +
	"niet geen nooit zonder inte aldrig ikke aldri uden uten utan ingen " +
	"nie nigdy bez не нет никогда без")

func withoutNegation(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return negations[w] || w == "nev" || w == "long" || w == "always" || w == "alway" || w == "doesn" || w == "isn" || w == "don" || w == "t"
	})
}

// figures are the words with digits in them, sorted.
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

// changes reports whether a sentence says that something is otherwise now.
func changes(text string) bool {
	low := " " + strings.ToLower(text) + " "
	for _, word := range []string{" no longer ", " not any more ", " anymore ", " any more ", " instead of ", " switched ", " changed to ", " moved from ", " moved to ", " replaced ", " now uses ", " now use ", " from now on "} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// vague are words that many different sentences are about.
var vague = set("user he she it this that they there one thing people everything everybody")

// copulas part what a sentence is about from what it says of it.
var copulas = []string{" is now ", " are now ", " will be ", " is ", " are ", " was ", " were ", " equals ", " = "}

// replaced reports whether two sentences say different things of the same: what
// stands before the verb is the same, what follows is not.
func replaced(older, newer string) bool {
	about, said, ok := predicate(older)
	about2, said2, ok2 := predicate(newer)
	if !ok || !ok2 || !slices.Equal(about, about2) {
		return false
	}
	return likeness(said, said2) < 0.5 || !slices.Equal(figures(said), figures(said2))
}

// predicate parts a sentence at its verb.
func predicate(text string) (about, said []string, ok bool) {
	low := strings.ToLower(text)
	for _, verb := range copulas {
		head, tail, found := strings.Cut(low, verb)
		if !found {
			continue
		}
		about = slices.DeleteFunc(terms(head), func(w string) bool { return vague[w] || vague[w+"e"] })
		slices.Sort(about)
		said = terms(tail)
		return about, said, len(about) > 0 && len(about) <= 6 && len(said) > 0
	}
	return nil, nil, false
}

// newer reports whether a fact was noted no earlier than another.
func newer(f, than Fact) bool {
	at := func(f Fact) string {
		if !f.said.IsZero() {
			return f.said.UTC().Format(dayFormat)
		}
		if f.Day.IsZero() {
			return ""
		}
		return f.Day.Format(dayFormat)
	}
	return at(f) >= at(than)
}

// united is what two facts that say the same become: the newer words, unless the
// older say more, all evidence, and a little more certainty.
func united(older, fresh Fact) Fact {
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
		// A fork has copies of what was said, which nobody said again.
		again = again || !slices.ContainsFunc(f.Sources, func(known Source) bool { return known.Entry == s.Entry })
		f.Sources = append(f.Sources, s)
	}
	if again && f.Confidence > 0 {
		f.Confidence = min(max(f.Confidence, fresh.Confidence)+0.05, 0.99)
	}
	return f
}

// maxSources bounds the evidence that is kept of a fact.
const maxSources = 8
