package memory

import (
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// language holds the data of a language other than English: common words for detection,
// words for days, and phrases that mark facts.
type language struct {
	// common are words that identify the language.
	common map[string]bool
	// days are relative words for days, with their offsets.
	days map[string]int
	// before is the preposition of a date, unless one of the words in behind precedes it;
	// after one of the words in not, the word is not a day.
	before      string
	behind, not map[string]bool
	// asked are phrases that ask to remember something; phrases mark a fact of a category.
	asked   []string
	phrases map[Category][]string
}

// languages returns the known languages other than English.
var languages = sync.OnceValue(func() []language {
	return []language{
		{
			common: set("der die das den dem und ist sind war wird wir ich ein eine einen nicht zu auf für mit im am bis von vom bei immer"),
			days:   map[string]int{"heute": 0, "morgen": 1, "übermorgen": 2, "gestern": -1, "vorgestern": -2},
			before: "am", behind: set("bis ab seit von vom am für"), not: set("guten jeden am heute gestern"),
			asked: []string{"merk dir, dass ", "merke dir, dass ", "merk dir: ", "merke dir: ", "denk daran, dass ", "vergiss nicht, dass "},
			phrases: map[Category][]string{
				Decision: {"haben entschieden", "haben beschlossen", "einigten uns"}, Constraint: {"niemals", "darf nicht", "dürfen nicht", "auf keinen fall"},
				Preference: {"ich bevorzuge", "ich mag", "ich heiße", "mein name ist", "am liebsten"}, Pattern: {"immer", "grundsätzlich"},
			},
		},
		{
			common: set("le la les des est sont une un et nous je du au aux pour dans sur avec que qui ne pas depuis toujours"),
			days:   map[string]int{"aujourd'hui": 0, "demain": 1, "après-demain": 2, "hier": -1, "avant-hier": -2},
			before: "le", behind: set("pour depuis jusqu'à avant après dès"), not: set("à"),
			asked: []string{"souviens-toi que ", "rappelle-toi que ", "retiens que ", "n'oublie pas que ", "note que ", "notez que "},
			phrases: map[Category][]string{
				Decision: {"avons décidé", "on a décidé", "avons choisi"}, Constraint: {"jamais", "il ne faut pas", "obligatoire"},
				Preference: {"je préfère", "j'aime", "je m'appelle", "mon nom est"}, Pattern: {"toujours", "d'habitude"},
			},
		},
		{
			common: set("el la los las es son una un y en para con que del se lo nos yo no por siempre desde hasta"),
			days:   map[string]int{"hoy": 0, "mañana": 1, "ayer": -1, "anteayer": -2},
			before: "el", behind: set("hasta desde para"), not: set("la esta una cada pasado por buena"),
			asked: []string{"recuerda que ", "recuérdalo: ", "no olvides que ", "ten en cuenta que ", "anota que "},
			phrases: map[Category][]string{
				Decision: {"hemos decidido", "decidimos", "acordamos"}, Constraint: {"nunca", "jamás", "no se debe", "es obligatorio"},
				Preference: {"prefiero", "me gusta", "me llamo", "mi nombre es"}, Pattern: {"siempre", "normalmente"},
			},
		},
	}
})

// english are words that identify English, which has its own rules.
var english = lazySet("the a an and is are was were will be we i it to of for with on at in not that this my our")

// detectLanguage returns the language of a text if it is clearly one of the known ones
// other than English.
func detectLanguage(text string) (language, bool) {
	known := languages()
	counts := make([]int, len(known)+1)
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return notWord(r) && r != '\'' }) {
		for i, l := range known {
			if l.common[word] || l.days[word] != 0 && len(word) > 4 {
				counts[i]++
			}
		}
		if english()[word] {
			counts[len(known)]++
		}
	}
	best, second := -1, 0
	for i, n := range counts {
		switch {
		case best < 0 || n > counts[best]:
			if best >= 0 {
				second = counts[best]
			}
			best = i
		case n > second:
			second = n
		}
	}
	if best == len(known) || counts[best] < 2 || counts[best] == second {
		return language{}, false
	}
	return known[best], true
}

// absolute replaces words for days in a text with dates.
func (l language) absolute(text string, written time.Time) string {
	var b strings.Builder
	last := ""
	for text != "" {
		word, gap := cutWord(text)
		text = text[len(word)+len(gap):]
		low := strings.ToLower(strings.ReplaceAll(word, "’", "'"))
		if low == "mañana" && last == "pasado" { // the day after tomorrow
			rest := strings.TrimRightFunc(b.String(), unicode.IsSpace)
			b.Reset()
			b.WriteString(rest[:len(rest)-len("pasado")] + l.formatDay(2, "", written))
		} else if n, ok := l.days[low]; ok && !l.not[last] && (low == word || last == "" || n != 1) {
			b.WriteString(l.formatDay(n, last, written))
		} else {
			b.WriteString(word)
		}
		b.WriteString(gap)
		if word != "" {
			last = low
		}
		if strings.ContainsAny(gap, ".!?;:") {
			last = ""
		}
	}
	return b.String()
}

// formatDay returns a date to follow the word last.
func (l language) formatDay(n int, last string, written time.Time) string {
	day := written.AddDate(0, 0, n).Format(dayFormat)
	if l.behind[last] {
		return day
	}
	return l.before + " " + day
}

// cutWord splits off the first word of a text and the text up to the next word.
func cutWord(text string) (word, gap string) {
	in := func(r rune) bool { return !notWord(r) || r == '\'' || r == '’' || r == '-' }
	end := strings.IndexFunc(text, func(r rune) bool { return !in(r) })
	if end < 0 {
		return text, ""
	}
	next := strings.IndexFunc(text[end:], in)
	if next < 0 {
		return text[:end], text[end:]
	}
	return text[:end], text[end : end+next]
}

// factIn returns the fact in a sentence that sounds worth keeping, and false otherwise.
func (l language) factIn(sentence string) (Fact, bool) {
	low := strings.ToLower(sentence)
	for _, begin := range l.asked {
		if strings.HasPrefix(low, begin) && len(begin) < len(sentence) {
			return Fact{Category: Project, Text: capital(sentence[len(begin):]), Confidence: 0.6}, true
		}
	}
	for _, category := range []Category{Decision, Constraint, Preference, Pattern} {
		for _, phrase := range l.phrases[category] {
			if at := strings.Index(low, phrase); at >= 0 && (at == 0 || low[at-1] == ' ') && !strings.HasSuffix(low, "?") {
				return Fact{Category: category, Text: sentence, Confidence: 0.6}, true
			}
		}
	}
	return Fact{}, false
}

func capital(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[size:]
}
