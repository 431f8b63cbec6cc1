package digest

import (
	"fmt"
	"strings"

	"firn.dev"
)

// Extract makes a summary of a conversation without a model. It has the
// sections that a model is asked for: Goal, Constraints & Preferences,
// Progress, Key Decisions, Next Steps and Critical Context, those that have
// something in them. Facts of the previous summary stand first, nothing stands
// twice, and what does not fit goes by age, the oldest first; the goal and the
// constraints stay longest. What was planned is told as something that was
// planned: a summary gives no orders.
//
// The summary is never longer than maxChars characters, and valid UTF-8.
func Extract(previous string, lines []Line, maxChars int) string {
	if maxChars <= 0 {
		return ""
	}
	c := collector{}
	c.merge(previous)
	c.collect(lines)
	return c.outline.write(maxChars)
}

// collector sorts what it finds in a conversation into an outline.
type collector struct {
	outline outline
	cues    cues
	names   names
	// age counts what was looked at.
	age int
	// open is the latest ask that has no answer yet.
	open, answer string
	asks         int
	// plans are the places of what the latest answer planned.
	plans []int
	// failures are the places of failed calls among what is blocked.
	failures map[string]int
}

func (c *collector) collect(lines []Line) {
	results := pairs(lines)
	c.failures = make(map[string]int)
	for i, l := range lines {
		c.age++
		switch {
		case l.Kind == Said && l.Role == firn.RoleUser:
			c.ask(l.Text)
		case l.Kind == Said && l.Role == firn.RoleAssistant:
			c.answered(l.Text)
		case l.Kind == Call && results[i] >= 0:
			c.call(l, &lines[results[i]])
		case l.Kind == Call:
			c.call(l, nil)
		}
	}
	c.closeAsk()
	if c.outline[goal].empty() {
		c.fallbackGoal(lines)
	}
	read, changed := Files(lines)
	c.outline[context].mergeList(listChanged, changed, c.age)
	c.outline[context].mergeList(listRead, read, c.age)
	c.outline[context].mergeList(listNames, c.names.most(maxNames), c.age)
}

// ask takes what the user said: the first is the goal, all may hold rules,
// decisions and facts.
func (c *collector) ask(text string) {
	text = Genuine(text)
	if !wordy(text) {
		return
	}
	c.closeAsk()
	c.names.count(text)
	if c.outline[goal].empty() && !idle(text) {
		c.outline[goal].add(tidy(text, goalChars), c.age)
	}
	first, last := "", ""
	for s := range Sentences(text) {
		if first == "" {
			first = s
		}
		last = s
		c.userSentence(s)
	}
	if first == "" {
		first = text // all of it is code
	}
	c.open = tidy(first, askChars)
	if last != first && last != "" {
		c.open = tidy(first, askChars/2) + " … " + tidy(last, askChars/2)
	}
}

func (c *collector) userSentence(s string) {
	found := c.cues.find(s)
	switch {
	case found&(rule|personal) != 0:
		c.outline[constraints].add(tidy(s, itemChars), c.age)
	case found&decision != 0:
		c.outline[decisions].add(tidy(s, itemChars), c.age)
	case found&fact != 0:
		c.outline[context].add("User: "+tidy(s, itemChars), c.age)
	}
}

// answered takes what the assistant said: what it did, decided, planned and
// could not do.
func (c *collector) answered(text string) {
	c.plans = c.plans[:0]
	c.names.count(text)
	first := ""
	for s := range Sentences(text) {
		if first == "" || len(first) < shortWord {
			first = s // not "Perfect!"
		}
		c.modelSentence(s)
	}
	if c.open != "" && first != "" {
		c.answer = tidy(first, askChars)
	}
}

// shortWord is how many bytes say nothing yet.
const shortWord = 12

// modelSentence sorts a sentence of the assistant. One that only leads to what
// follows it ("Now let's build:") and a row of a table tell nothing.
func (c *collector) modelSentence(s string) {
	if strings.HasSuffix(strings.TrimRight(s, "* "), ":") || strings.HasPrefix(s, "|") {
		return
	}
	found := c.cues.find(s)
	text := func() string { return tidy(unnumbered(s), itemChars) }
	switch {
	case found&decision != 0:
		c.outline[decisions].add(text(), c.age)
	case found&done != 0 && c.cues.find(firstRunes(s, 60))&done != 0:
		c.outline[doneItems].add(text(), c.age)
	case found&plan != 0:
		c.plans = append(c.plans, c.outline[next].add(prefixed(planned, text()), c.age))
	case found&trouble != 0:
		c.outline[blocked].add(text(), c.age)
	}
}

// closeAsk notes the ask that was open, and the latest answer to it.
func (c *collector) closeAsk() {
	if c.open == "" {
		return
	}
	text := "Asked: " + c.open
	if c.answer != "" {
		text += " — answered: " + c.answer
	}
	if c.asks++; !idle(c.open) && (c.asks > 1 || c.answer != "") { // the first one is the goal already
		c.outline[context].add(text, c.age)
	}
	c.open, c.answer = "", ""
}

// idle reports whether a text asks for nothing yet.
func idle(text string) bool {
	if len(text) > 40 {
		return false
	}
	if strings.HasPrefix(text, "/") && !strings.Contains(text, " ") {
		return true // a command
	}
	switch folded(text) {
	case "hi", "hello", "hey", "hithere", "hellothere", "goodmorning", "goodevening", "thanks", "thankyou", "ok", "okay", "yes", "no", "continue", "test", "great", "perfect", "hallo", "danke", "hola", "gracias", "salut", "bonjour", "merci":
		return true
	}
	return false
}

// fallbackGoal is for conversations in which nobody asked for anything: the
// first thing that was said.
func (c *collector) fallbackGoal(lines []Line) {
	for _, l := range lines {
		if l.Kind == Said && wordy(l.Text) && l.Role != firn.RoleSystem {
			c.outline[goal].add(tidy(l.Text, goalChars), c.age)
			return
		}
	}
}

// call takes what was done: commands, changed files and other calls. Reading a
// file is not worth a line. A failure is forgotten when the same call
// succeeds later, and a plan when a call follows it: that was the plan.
func (c *collector) call(l Line, result *Line) {
	for _, at := range c.plans {
		c.outline[next].items[at].text = ""
	}
	c.plans = c.plans[:0]
	what := describe(l)
	if what == "" {
		return
	}
	if result != nil && result.IsError {
		c.failures[what] = c.outline[blocked].add(attempt(what)+" failed: "+telling(result.Text), c.age)
		return
	}
	if at, was := c.failures[what]; was {
		c.outline[blocked].items[at].text = ""
		delete(c.failures, what)
	}
	switch {
	case result == nil:
		what += " (no result)"
	case strings.HasPrefix(what, "Changed "):
	default:
		if line := firstLine(result.Text); line != "" && !strings.HasPrefix(line, "(no ") {
			what += ": " + tidy(line, resultLineChars)
		}
	}
	c.outline[doneItems].add(what, c.age)
}

// attempt says of what was done that it was tried.
func attempt(what string) string {
	for did, doing := range map[string]string{"Ran ": "Running ", "Changed ": "Changing ", "Called ": "Calling "} {
		if rest, ok := strings.CutPrefix(what, did); ok {
			return doing + rest
		}
	}
	return what
}

// describe says in a few words what a call did, empty if it only read.
func describe(l Line) string {
	paths, verb := touched(l)
	switch {
	case verb == reading:
		return ""
	case verb == changing && len(paths) > 0:
		return "Changed " + tidy(strings.Join(paths, ", "), itemChars/2)
	}
	if command := readArguments(l.Text).command; command != "" {
		return "Ran `" + tidy(withoutCD(command), itemChars/3) + "`"
	}
	return "Called " + tidy(spellCall(l, itemChars/4), itemChars/3)
}

// withoutCD takes the change of directory off a command.
func withoutCD(command string) string {
	if strings.HasPrefix(command, "cd ") {
		if dir, rest, ok := strings.Cut(command, " && "); ok && len(dir) < 300 {
			return rest
		}
	}
	return command
}

// firstLine is the first line of a text that has a word in it.
func firstLine(text string) string {
	for line := range strings.SplitSeq(firstRunes(text, lookChars), "\n") {
		if wordy(line) {
			return line
		}
	}
	return ""
}

// telling is the line of a failure that says most: the first that speaks of
// an error, else the first.
func telling(text string) string {
	look := firstRunes(text, lookChars)
	if len(text) > 2*len(look) {
		look += "\n" + text[len(text)-runesFromEnd(text, lookChars):]
	}
	for line := range strings.SplitSeq(look, "\n") {
		low := strings.ToLower(line)
		if strings.Contains(low, "error") || strings.Contains(low, "fail") || strings.Contains(low, "panic") || strings.Contains(low, "not found") {
			return fmt.Sprintf("%q", tidy(line, resultLineChars))
		}
	}
	if line := firstLine(text); line != "" {
		return fmt.Sprintf("%q", tidy(line, resultLineChars))
	}
	return "it said nothing"
}
