package offline

import (
	"strings"

	"firn/internal/digest"
	"firn/internal/pattern"
)

// remark is a sentence that was said, and by whom.
type remark struct {
	by   speaker
	text string
}

// attributed quotes the sentence and says who said it.
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

// sentence is attributed with a capital letter.
func (r remark) sentence() string {
	text := r.attributed()
	return strings.ToUpper(text[:1]) + text[1:]
}

// remarks are the sentences that were said before the last message, in order:
// those that tell something, not those that ask.
func (c *conversation) remarks() []remark {
	var all []remark
	for i, h := range c.heard {
		if i == len(c.heard)-1 && h.by == byUser {
			break
		}
		if h.by == bySummary {
			h.text = exchanges.ReplaceAllString(h.text, "")
		}
		if h.by == byNote {
			h.text = marks.ReplaceAllString(h.text, "")
		}
		for s := range digest.Sentences(h.text) {
			if s = plain(s); s != "" && !isQuestion(s) && !strings.HasPrefix(s, "#") && !strings.HasPrefix(s, "<") {
				all = append(all, remark{h.by, s})
			}
		}
	}
	return all
}

// exchanges are the lines of our summaries that tell of a question and its
// answer in one: who said what cannot be told from their sentences.
var exchanges = pattern.New(`(?m)^- Asked: .*$`)

// marks are the lines that tell where what was recalled comes from. They say nothing,
// but may have the words of a title.
var marks = pattern.New(`(?m)^\[[0-9]+\] (?:said in session|note) .*$`)

// plain takes the marks of a list or a summary off a sentence.
func plain(s string) string {
	s = strings.TrimLeft(s, "-*• ")
	for _, prefix := range [...]string{"The user said: ", "User: ", "user: ", "Was planned: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return s
}

// ours reports whether a sentence of the model is only what it always says, or is one
// that it said in another conversation, of which a note tells.
func ours(r remark) bool {
	return r.by == byNote && strings.HasPrefix(r.text, "assistant: ") || r.by == byModel && (strings.Contains(whoami, r.text) || strings.Contains(r.text, "“") || strings.HasPrefix(r.text, tookWords))
}

// telling finds the latest sentence with all the words of a question: one of this
// conversation before a note, which may tell of another, and the model's last.
func (c *conversation) telling(words string, by ...speaker) (remark, bool) {
	want := stems(words)
	if len(want) == 0 {
		return remark{}, false
	}
	best, found := remark{}, false
	for _, r := range c.remarks() {
		if !among(r.by, by) || ours(r) || shared(want, stems(r.text)) < len(want) {
			continue
		}
		if !found || r.by.behind() <= best.by.behind() {
			best, found = r, true
		}
	}
	return best, found
}

// behind is how many others are listened to before a speaker.
func (s speaker) behind() int {
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

// everybody but the model, which only quotes.
var others = []speaker{byUser, bySummary, byNote}

// related finds the earlier sentence that has most words in common with a
// text, at least two, or one of a short text.
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

// recollection answers what was said about something: from the conversation if
// it can, else with the tool that searches what is kept.
func recollection(c *conversation) (reply, bool) {
	groups := recallPattern.FindStringSubmatch(c.last)
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
	if found := c.allAbout(topic, by); len(found) > 0 {
		return reply{thought: "Said before.", text: strings.Join(found, "\n")}, true
	}
	return c.search(topic), true
}

// maxQuotes bounds how many sentences are quoted.
const maxQuotes = 3

// allAbout quotes the latest sentences about a topic, in order: those with all
// of its words, else those with any.
func (c *conversation) allAbout(topic string, by []speaker) []string {
	want := stems(topic)
	if len(want) == 0 {
		return nil
	}
	for _, need := range []int{len(want), (len(want) + 1) / 2} {
		var found []string
		for _, r := range c.remarks() {
			if among(r.by, by) && !ours(r) && shared(want, stems(r.text)) >= need {
				found = append(found, r.sentence())
			}
		}
		if len(found) > 0 {
			return found[max(0, len(found)-maxQuotes):]
		}
	}
	return nil
}

// search looks for a topic in what is kept, or says that there is no way to.
func (c *conversation) search(topic string) reply {
	if c.offers("recall") {
		return c.call("Not said here; searching what is kept.", wanted{"recall", args{{"query", excerpt(topic, 200)}}})
	}
	return reply{thought: "Not said here.", text: "I find nothing about " + quote(topic) + " in what I can see of this conversation."}
}

var (
	aboutUserPattern = pattern.New(`(?i)^(?:and |so |please |tell me |do you know )*(?:what|who|when|where|which|how (?:old|many|much|long))\b.*\b(?:my|mine|our|i|we|me)\b.*$`)
	namePattern      = pattern.New(`(?i)\b(?:my name is|call me|i am called|i'm called|i’m called|my name's|my name’s) +([\p{L}][\p{L}'’.\-]*(?-i: [\p{Lu}][\p{L}'’.\-]*)?)`)
	askName          = pattern.New(`(?i)^(?:and |so |please |tell me |do you know )*(?:what(?:'s|’s| is| was)? my name(?: is| was)?|who am i|how am i called|what am i called)[ ?!.]*$`)
	factQuestion     = pattern.New(`(?i)^(?:and |so |please |tell me |do you know )*(?:what|who|when|where|which|how (?:old|many|much|long|big|far))(?:'s|’s)? +(.+?)[ ?!.]*$`)
)

// aboutUser answers what the user told of themselves.
func aboutUser(c *conversation) (reply, bool) {
	if askName.MatchString(c.last) {
		return c.name(), true
	}
	if !aboutUserPattern.MatchString(c.last) {
		return reply{}, false
	}
	topic := strings.Join(wordsOf(factQuestion.ReplaceAllString(c.last, "$1")), " ")
	if topic == "" {
		return reply{}, false
	}
	if r, ok := c.telling(topic, others...); ok {
		return reply{thought: "Said before.", text: r.sentence()}, true
	}
	if c.offers("recall") {
		return c.search(topic), true
	}
	return reply{thought: "Not told.", text: "You have not told me, as far as I can see. I looked for: " + topic + "."}, true
}

// name tells the user's name: what they said last of it.
func (c *conversation) name() reply {
	for _, by := range [][]speaker{{byUser}, {bySummary, byNote}} {
		remarks := c.remarks()
		for i := len(remarks) - 1; i >= 0; i-- {
			r := remarks[i]
			if groups := namePattern.FindStringSubmatch(r.text); groups != nil && among(r.by, by) {
				return reply{thought: "A name.", text: "Your name is " + strings.TrimRight(groups[1], ".'’-") + ". " + r.sentence()}
			}
		}
	}
	if c.offers("recall") {
		return c.search("my name is")
	}
	return reply{thought: "No name.", text: "You have not told me your name in what I can see of this conversation."}
}

// knownFact answers a question with a sentence that was said before and has
// all of its words. Without one it is not for us to know.
func knownFact(c *conversation) (reply, bool) {
	groups := factQuestion.FindStringSubmatch(c.last)
	if groups == nil {
		return reply{}, false
	}
	r, ok := c.telling(groups[1], byUser, byModel, bySummary, byNote)
	if !ok {
		return reply{}, false
	}
	return reply{thought: "Said before.", text: r.sentence()}, true
}
