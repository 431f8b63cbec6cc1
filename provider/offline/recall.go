package offline

import (
	"strings"

	"firn.dev/internal/base/pattern"
	"firn.dev/internal/find/digest"
)

// remark is a sentence and its speaker.
type remark struct {
	by   speaker
	text string
}

// attributed returns the quoted sentence with its speaker.
func (r remark) attributed() string {
	switch r.by {
	case byModel:
		return "I said: " + quote(r.text)
	case bySummary:
		return "the summary of what came before says: " + quote(r.text)
	case byNote:
		return "a note says: " + quote(r.text)
	}
	return "you said: " + quote(r.text)
}

// sentence returns attributed with a capital letter.
func (r remark) sentence() string {
	text := r.attributed()
	return strings.ToUpper(text[:1]) + text[1:]
}

// remarks returns the statements before the last message, in order. Questions are left out.
func (c *conversation) remarks() []remark {
	var all []remark
	for i, h := range c.utterances {
		if i == len(c.utterances)-1 && h.by == byUser {
			break
		}
		if h.by == bySummary {
			h.text = exchanges().ReplaceAllString(h.text, "")
		}
		if h.by == byNote {
			h.text = marks().ReplaceAllString(h.text, "")
		}
		for s := range digest.Sentences(h.text) {
			if s = plain(s); s != "" && !isQuestion(s) && !strings.HasPrefix(s, "#") && !strings.HasPrefix(s, "<") {
				all = append(all, remark{h.by, s})
			}
		}
	}
	return all
}

// exchanges matches the summary lines that contain a question and its answer. Their
// sentences cannot be attributed to a speaker.
var exchanges = pattern.New(`(?m)^- Asked: .*$`)

// marks matches the lines that name the source of a recalled text. They carry no content,
// but may contain the words of a title.
var marks = pattern.New(`(?m)^\[[0-9]+\] (?:said in session|note) .*$`)

// plain removes list and summary markers from a sentence.
func plain(s string) string {
	s = strings.TrimLeft(s, "-*• ")
	for _, prefix := range [...]string{"The user said: ", "User: ", "user: ", "Was planned: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return s
}

// isBoilerplate reports whether a sentence of the model is one of its fixed phrases, or is
// quoted from another conversation.
func isBoilerplate(r remark) bool {
	return r.by == byNote && strings.HasPrefix(r.text, "assistant: ") || r.by == byModel && (strings.Contains(whoami, r.text) || strings.Contains(r.text, "“") || strings.Contains(cannotAnswer, r.text) || strings.HasPrefix(r.text, "The nearest thing said before:"))
}

// findStatement finds the latest sentence that contains all words of a question. Sentences
// of this conversation precede notes, and those of the model come last.
func (c *conversation) findStatement(words string, by ...speaker) (remark, bool) {
	want := stems(words)
	if len(want) == 0 {
		return remark{}, false
	}
	best, found := remark{}, false
	for _, r := range c.remarks() {
		if !among(r.by, by) || isBoilerplate(r) || shared(want, stems(r.text)) < len(want) {
			continue
		}
		if !found || r.by.priority() <= best.by.priority() {
			best, found = r, true
		}
	}
	return best, found
}

// priority returns the rank of a speaker; lower ranks are preferred.
func (s speaker) priority() int {
	switch s {
	case byNote:
		return 1
	case byModel:
		return 2
	}
	return 0
}

func among(by speaker, these []speaker) bool {
	for _, s := range these {
		if s == by {
			return true
		}
	}
	return false
}

// all speakers except the model, which only quotes
var others = []speaker{byUser, bySummary, byNote}

// related finds the earlier sentence that shares the most words with a text: at least two,
// or one for a short text.
func (c *conversation) related(text string) (remark, bool) {
	want := stems(text)
	need := min(2, len(want))
	best, most := remark{}, 0
	for _, r := range c.remarks() {
		if n := shared(want, stems(r.text)); n >= need && n >= max(most, 1) && r.by != byModel {
			best, most = r, n
		}
	}
	return best, most > 0
}

// recollection answers questions about an earlier statement: from the conversation if
// possible, otherwise with the search tool.
func recollection(c *conversation) (reply, bool) {
	groups := recallPattern().FindStringSubmatch(c.last)
	if groups == nil {
		return reply{}, false
	}
	who, topic := strings.ToLower(groups[1]), strings.TrimSpace(groups[2])
	by := others
	switch who {
	case "i":
		by = []speaker{byUser, bySummary, byNote}
	case "you":
		by = []speaker{byModel, byUser, bySummary, byNote}
	case "we":
		by = []speaker{byUser, byModel, bySummary, byNote}
	}
	if found := c.quotesAbout(topic, by); len(found) > 0 {
		return reply{thought: "Said before.", text: strings.Join(found, "\n")}, true
	}
	if found := c.questionsAbout(topic); len(found) > 0 && who != "you" {
		return reply{thought: "Asked before.", text: strings.Join(found, "\n")}, true
	}
	return c.search(topic), true
}

// questionsAbout quotes the latest questions of the user that have all words of a topic, in
// order.
func (c *conversation) questionsAbout(topic string) (found []string) {
	want := stems(topic)
	if len(want) == 0 || len(c.userMessages) == 0 {
		return nil
	}
	for _, asked := range c.userMessages[:len(c.userMessages)-1] {
		if isQuestion(asked) && shared(want, stems(asked)) >= len(want) {
			found = append(found, "You asked: "+quote(asked))
		}
	}
	return found[max(0, len(found)-maxQuotes):]
}

// maxQuotes limits the number of quoted sentences.
const maxQuotes = 3

// quotesAbout quotes the latest sentences about a topic, in order: those with all of its
// words, otherwise those with any.
func (c *conversation) quotesAbout(topic string, by []speaker) []string {
	want := stems(topic)
	if len(want) == 0 {
		return nil
	}
	for _, need := range []int{len(want), (len(want) + 1) / 2} {
		var found []string
		for _, r := range c.remarks() {
			if among(r.by, by) && !isBoilerplate(r) && shared(want, stems(r.text)) >= need {
				found = append(found, r.sentence())
			}
		}
		if len(found) > 0 {
			return found[max(0, len(found)-maxQuotes):]
		}
	}
	return nil
}

// search calls the search tool for a topic, or answers that no such tool is available.
func (c *conversation) search(topic string) reply {
	if c.offers("recall") {
		return c.call("Not said here; searching what is kept.", wanted{tool: "recall", args: args{{"query", excerpt(topic, 200)}}})
	}
	return reply{thought: "Not said here.", text: "I find nothing about " + quote(topic) + " in what I can see of this conversation."}
}

var (
	aboutUserPattern = pattern.New(`(?i)^(?:and |so |please |tell me |do you know )*(?:what|who|when|where|which|how (?:old|many|much|long))\b.*\b(?:my|mine|our|i|we|me)\b.*$`)
	namePattern      = pattern.New(`(?i)\b(?:my name is|call me|i am called|i'm called|i’m called|my name's|my name’s) +([\p{L}][\p{L}'’.\-]*(?-i: [\p{Lu}][\p{L}'’.\-]*)?)`)
	askName          = pattern.New(`(?i)^(?:and |so |please |tell me |do you know )*(?:what(?:'s|’s| is| was)? my name(?: is| was)?|who am i|how am i called|what am i called)[ ?!.]*$`)
	factQuestion     = pattern.New(`(?i)^(?:and |so |please |tell me |do you know )*(?:what|who|when|where|which|how (?:old|many|much|long|big|far))(?:'s|’s)? +(.+?)[ ?!.]*$`)
)

// aboutUser answers questions about the user from the user's own statements.
func aboutUser(c *conversation) (reply, bool) {
	if askName().MatchString(c.last) {
		return c.name(), true
	}
	if !aboutUserPattern().MatchString(c.last) {
		return reply{}, false
	}
	topic := strings.Join(wordsOf(factQuestion().ReplaceAllString(c.last, "$1")), " ")
	if topic == "" {
		return reply{}, false
	}
	if r, ok := c.findStatement(topic, others...); ok {
		return reply{thought: "Said before.", text: r.sentence()}, true
	}
	if c.offers("recall") {
		return c.search(topic), true
	}
	return reply{thought: "Not told.", text: "You have not told me, as far as I can see. I looked for: " + topic + "."}, true
}

// name answers with the user's name, as last stated.
func (c *conversation) name() reply {
	for _, by := range [][]speaker{{byUser}, {bySummary, byNote}} {
		remarks := c.remarks()
		for i := len(remarks) - 1; i >= 0; i-- {
			r := remarks[i]
			if groups := namePattern().FindStringSubmatch(r.text); groups != nil && among(r.by, by) {
				return reply{thought: "A name.", text: "Your name is " + strings.TrimRight(groups[1], ".'’-") + ". " + r.sentence()}
			}
		}
	}
	if c.offers("recall") {
		return c.search("my name is")
	}
	return reply{thought: "No name.", text: "You have not told me your name in what I can see of this conversation."}
}

// knownFact answers a question with an earlier sentence that contains all of its words.
func knownFact(c *conversation) (reply, bool) {
	groups := factQuestion().FindStringSubmatch(c.last)
	if groups == nil {
		return reply{}, false
	}
	r, ok := c.findStatement(groups[1], byUser, byModel, bySummary, byNote)
	if !ok {
		return reply{}, false
	}
	return reply{thought: "Said before.", text: r.sentence()}, true
}
