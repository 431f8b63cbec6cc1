package offline

import (
	"regexp"
	"strings"

	"firn.dev/internal/base/pattern"
)

// The patterns in match.go match a whole message. Those here find a request inside a
// sentence, such as "I was wondering which files are here, can you look?". They are tried only
// when no pattern matched the whole message, and only for short messages, because long ones
// are mostly pasted text.

// maxSentence limits the messages that are searched for a request, in bytes.
const maxSentence = 400

var (
	abilityWords = pattern.New(`(?i)\bwhat (?:all |else |exactly |kinds? of things |sort of things |things )*(?:can|could|do) you (?:even |actually |really |all )*do\b|\bwhat (?:are you (?:able to|capable of|good (?:at|for))|is firn|can i (?:ask|do|say))\b|\b(?:your|of) (?:abilities|capabilities|skills|commands|features)\b|\bhow (?:do|can|should) i (?:use|talk to) (?:you|this|firn)\b|\bwho (?:are|am i talking to) you\b|\bhow can you help\b|` +
		`\bwas kannst du\b|\bwas kann man (?:hier|dich)|\bwas können sie\b|\bqu(?:'|’)?e?st[- ]ce que tu (?:peux|sais) faire|\bque (?:peux|sais)[- ]tu faire|\bqu[eé] (?:puedes|sabes) hacer`)
	fileWords = pattern.New(`(?i)\b(?:which|what|list|show|see|see all|print) (?:me )?(?:all )?(?:of )?(?:the |my |our |these |those |your )?(?:files?|documents|folders?|director(?:y|ies))\b|\bfiles? (?:do|can|could|did) (?:i|you|we) (?:have|see)\b|\bfiles? (?:are|is) (?:there|here|in)\b|\bwhat(?:'s|’s| is) in (?:here|this (?:folder|directory|project|repo(?:sitory)?))\b|` +
		`\bwelche dateien\b|\bwas für dateien\b|\bquels? (?:sont les )?fichiers?\b|\b(?:qu[eé]|cu[aá]les son los) (?:archivos|ficheros)\b`)
	inDirectory = pattern.New(`(?i)\b(?:in|of|under|inside|im|dans|en) (?:the |my )?(?:folder |directory |ordner |dossier |carpeta )?` + pathWord)

	summarizeWords = pattern.New(`(?i)\b(?:summari[sz]e|summary|summari[sz]ing|sum(?:ming)? up|recap|overview of|gist of|tl;?dr|fasse|fass|zusammen|zusammenfassung|résume[rz]?|résumé|resume|resumen?|resumir)\b|\bwhat(?:'s|’s| is| does)? .{0,80}\b(?:about|say in short|in short)\b`)
	searchWords    = pattern.New(`(?i)\b(?:search(?:ing)?|grep(?:ping)?|look(?:ing)?|scan(?:ning)?|hunt)(?: (?:the|these|my|all|our|through|in|files?|code|project|workspace|here|around|everything))* for (?:the (?:word|text|string|term) |any |all |every |mentions? of |occurrences? of |uses? of )*` + quotedWord + `|\b(?:where|which files?) (?:is|are|do(?:es)?|(?:the )?(?:word|text)|mentions?|contains?|uses?) (?:the (?:word|text|string) |we (?:use|mention) )?` + quotedWord + ` (?:used|mentioned|defined|appear|appears|occur|occurs)\b|\bsuche? (?:bitte )?nach ` + quotedWord + `|\b(?:cherche[rz]?|busca[r]?) ` + quotedWord)
	readWords      = pattern.New(`(?i)\b(?:read|open|show|display|print|view|cat|look (?:at|into)|take a look at|what(?:'s|’s| is) (?:in|inside)|lies|zeig|lis|montre|ouvre|lee|muestra|abre)\b`)
	timeWords      = pattern.New(`(?i)\b(?:what|which|tell me|know|say|give me)\b.{0,40}\b(?:time|day|date|weekday|week)\b.{0,12}\b(?:it is|is it|is today|today|now|right now|currently)\b|\b(?:current|exact|present|local|today(?:'s|’s)) (?:time|date|day)\b|\bwhat(?:'s|’s| is) (?:the )?(?:time|date|day)\b|\bwhat day is (?:it|today)\b|\b(?:what )?time is it\b|\b(?:wie spät|wieviel uhr|wie viel uhr|welcher tag|welches datum)\b|\bquelle heure\b|\bquel jour\b|\bqu[eé] (?:hora|d[ií]a|fecha)\b`)
	timeZone       = pattern.New(`(?i)\bin ([A-Z][a-z]+/[A-Za-z_]+|UTC|GMT)\b`)

	sumWords = pattern.New(`(?i)\b(?:what|how much|calculate|compute|evaluate|work out|add up|sum|result|equals?|makes?|math|tell me|know|wieviel|wie viel|was (?:ist|sind|ergibt)|rechne|combien|calcule|cu[aá]nto|calcula)\b|=`)
	sumInner = pattern.New(`(?i)[-+(]*(?:\d[\d,]*(?:\.\d+)?|\.\d+)\)*(?:\s*(?:\*\*|[-+*/^%×÷x]|% of|percent of|times|plus|minus|divided by|multiplied by|mod|to the power of|mal|durch|fois|por|más)\s*[-+(]*(?:\d[\d,]*(?:\.\d+)?|\.\d+)\)*)+`)
	isoDate  = pattern.New(`^\d{4}-\d{1,2}-\d{1,2}$|^\d{1,2}/\d{1,2}/\d{2,4}$`)

	saidWords = pattern.New(`(?i)\bwhat (?:did|have|had|was|were) (?:i|we|you) (?:just |already |both )*(?:say|said|saying|ask|asked|asking|tell|told|talk|talked|talking|discuss|discussed|discussing|do|done)\b(?: (?:to |with )?(?:you|me|each other))?(?: about)?(?: so far| before| earlier| until now| up to now| today| just now)?[ ,.?!]*$|\b(?:was haben wir|was habe ich) (?:bisher |schon )?(?:besprochen|gesagt)\b|\bde quoi (?:a-t-on|avons-nous) parlé\b|\bde qu[eé] hemos hablado\b`)
)

// inSentence answers a request inside a sentence.
func inSentence(c *conversation) (reply, bool) {
	if len(c.last) > maxSentence {
		return reply{}, false
	}
	if abilityWords().MatchString(c.last) {
		return c.aboutMe(), true
	}
	if w, ok := findRequest(c.last); ok {
		if !c.offers(w.tool) {
			return reply{thought: "A tool is missing.", text: notOffered("the tool "+w.tool, w.tool)}, true
		}
		return c.call("This asks for "+w.tool+".", w), true
	}
	return reply{}, false
}

// saidSoFar answers a question about the whole conversation.
func saidSoFar(c *conversation) (reply, bool) {
	if len(c.last) > maxSentence || !saidWords().MatchString(c.last) {
		return reply{}, false
	}
	return c.recapSoFar(), true
}

// findRequest finds a request for a tool inside a sentence.
func findRequest(text string) (wanted, bool) {
	for _, find := range []func(text string) (wanted, bool){findDate, findTime, findSummary, findSearch, findListing, findReading, findSum} {
		if w, ok := find(text); ok {
			return w, true
		}
	}
	return wanted{}, false
}

func findTime(text string) (wanted, bool) {
	if !timeWords().MatchString(text) {
		return wanted{}, false
	}
	w := wanted{tool: "now"}
	if zone := timeZone().FindStringSubmatch(text); zone != nil {
		w.args = args{{"zone", zone[1]}}
	}
	return w, true
}

// findSummary finds a request to summarize the file that the sentence names.
func findSummary(text string) (wanted, bool) { return findFile(summarizeWords(), text) }

// findReading finds a request to read the file that the sentence names.
func findReading(text string) (wanted, bool) { return findFile(readWords(), text) }

func findFile(words *regexp.Regexp, text string) (wanted, bool) {
	path := pathIn(text)
	return wanted{tool: "read_file", args: args{{"path", path}}}, path != "" && words.MatchString(text)
}

// pathIn returns the word of a sentence that is clearly the path of a file. It is empty if
// there is none, or more than one.
func pathIn(text string) (path string) {
	for _, word := range strings.Fields(text) {
		word = strings.TrimPrefix(strings.Trim(word, "\"'`“”‘’(),;:!?<>¿¡*"), "@")
		if strings.HasSuffix(word, ".") && word != "." && word != ".." {
			word = strings.TrimRight(word, ".")
		}
		if word == "." || word == ".." || strings.HasSuffix(word, "/") || !looksLikePath(word) || abbreviation[strings.ToLower(word)] {
			continue
		}
		if strings.Trim(word, "0123456789./%+*-") == "" { // a number, a date or a sum
			continue
		}
		if path != "" && path != word {
			return ""
		}
		path = word
	}
	return path
}

// abbreviation holds words with a dot or slash that are no paths.
var abbreviation = wordSet("e.g i.e etc and/or w/o n/a a.m p.m z.b d.h u.s p.ex he/she")

func findSearch(text string) (wanted, bool) {
	groups := searchWords().FindStringSubmatch(text)
	if groups == nil {
		return wanted{}, false
	}
	what := strings.TrimRight(firstOf(groups, 1), "?!.,;:")
	if what == "" || stopWords[strings.ToLower(what)] {
		return wanted{}, false
	}
	w := wanted{tool: "grep", args: args{{"pattern", regexp.QuoteMeta(what)}}}
	_, rest, _ := strings.Cut(text, what)
	if path := pathIn(rest); path != "" {
		w.args = append(w.args, [2]string{"path", path})
	}
	return w, true
}

func findListing(text string) (wanted, bool) {
	at := fileWords().FindStringIndex(text)
	if at == nil {
		return wanted{}, false
	}
	path := "."
	for _, groups := range inDirectory().FindAllStringSubmatch(text[at[0]:], -1) {
		if dir := trimPath(firstOf(groups, 1)); strings.Contains(dir, "/") {
			path = dir
			break
		}
	}
	return wanted{tool: "list_dir", args: args{{"path", path}}}, true
}

func findSum(text string) (wanted, bool) {
	if !sumWords().MatchString(text) {
		return wanted{}, false
	}
	found := strings.TrimSpace(sumInner().FindString(text))
	if found == "" || isoDate().MatchString(found) {
		return wanted{}, false
	}
	found = spokenElsewhere.Replace(found)
	sum := expression(strings.ReplaceAll(found, ",", ""))
	return wanted{tool: "calc", args: args{{"expression", sum}}}, operator().MatchString(sum) && balanced(sum)
}

// spokenElsewhere replaces arithmetic operators that are spelled out in other languages.
var spokenElsewhere = strings.NewReplacer(" percent of ", "% of ", " mal ", "*", " durch ", "/", " fois ", "*", " por ", "*", " más ", "+")

// balanced reports whether all parentheses of an expression are closed.
func balanced(text string) bool {
	depth := 0
	for _, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}
