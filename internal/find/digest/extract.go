package digest

import (
	"fmt"
	"strings"

	"firn.dev"
)

// Extract makes a summary of a conversation without a model. It has the same sections that
// a model is asked for, if they are not empty: Goal, Constraints & Preferences, Progress,
// Key Decisions, Next Steps and Critical Context. Items of the previous summary come first,
// and duplicates are removed. If the summary is too long, the oldest items are dropped
// first, and the goal and the constraints last. Plans are marked as past plans, so that the
// summary does not read as instructions.
//
// The result is valid UTF-8 with at most maxChars characters.
func Extract(previous string, lines []Line, maxChars int) string {
	if maxChars <= 0 {
		return ""
	}
	c := collector{}
	c.merge(previous)
	c.collect(lines)
	return c.outline.write(maxChars)
}

// collector sorts the contents of a conversation into an outline.
type collector struct {
	outline outline
	cues    cues
	names   names
	// age counts the lines processed.
	age int
	// open is the latest request without an answer.
	open, answer string
	asks         int
	// plans are the indexes of the plans in the latest answer.
	plans []int
	// failures are the indexes of failed calls in the section blocked.
	failures map[string]int
}

func (c *collector) collect(lines []Line) {
	results := matchResults(lines)
	c.failures = make(map[string]int)
	for i, l := range lines {
		c.age++
		switch {
		case l.Kind == Speech && l.Role == firn.RoleUser:
			c.addQuestion(l.Text)
		case l.Kind == Speech && l.Role == firn.RoleAssistant:
			c.addAnswer(l.Text)
		case l.Kind == Call && results[i] >= 0:
			c.addCall(l, &lines[results[i]])
		case l.Kind == Call:
			c.addCall(l, nil)
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

// addQuestion adds a message of the user: the first one is the goal, and all may contain
// rules, decisions and facts.
func (c *collector) addQuestion(text string) {
	text = UserText(text)
	if !hasWord(text) {
		return
	}
	c.closeAsk()
	c.names.count(text)
	if c.outline[goal].empty() && !isSmallTalk(text) {
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
		first = text // the whole text is code
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

// addAnswer adds a message of the assistant: completed work, decisions, plans and problems.
func (c *collector) addAnswer(text string) {
	c.plans = c.plans[:0]
	c.names.count(text)
	first := ""
	for s := range Sentences(text) {
		if first == "" || len(first) < shortWord {
			first = s // skips exclamations such as "Perfect!"
		}
		c.modelSentence(s)
	}
	if c.open != "" && first != "" {
		c.answer = tidy(first, askChars)
	}
}

// shortWord is the length in bytes below which a sentence is considered an exclamation.
const shortWord = 12

// modelSentence adds a sentence of the assistant. It skips introductions ("Now let's
// build:") and table rows.
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

// closeAsk adds the open request with the latest answer to it.
func (c *collector) closeAsk() {
	if c.open == "" {
		return
	}
	text := "Asked: " + c.open
	if c.answer != "" {
		text += " — answered: " + c.answer
	}
	if c.asks++; !isSmallTalk(c.open) && (c.asks > 1 || c.answer != "") { // the first one is already the goal
		c.outline[context].add(text, c.age)
	}
	c.open, c.answer = "", ""
}

// isSmallTalk reports whether a text contains no request.
func isSmallTalk(text string) bool {
	if len(text) > 40 {
		return false
	}
	if strings.HasPrefix(text, "/") && !strings.Contains(text, " ") {
		return true // a command
	}
	switch foldText(text) {
	case "hi", "hello", "hey", "hithere", "hellothere", "goodmorning", "goodevening", "thanks", "thankyou", "ok", "okay", "yes", "no", "continue", "test", "great", "perfect", "hallo", "danke", "hola", "gracias", "salut", "bonjour", "merci":
		return true
	}
	return false
}

// fallbackGoal uses the first text as the goal of a conversation without requests.
func (c *collector) fallbackGoal(lines []Line) {
	for _, l := range lines {
		if l.Kind == Speech && hasWord(l.Text) && l.Role != firn.RoleSystem {
			c.outline[goal].add(tidy(l.Text, goalChars), c.age)
			return
		}
	}
}

// addCall adds a call: a command, changed files or another call. Reading a file is skipped.
// A failure is removed when the same call succeeds later, and a plan when a call follows
// it, since that was the plan.
func (c *collector) addCall(l Line, result *Line) {
	for _, at := range c.plans {
		c.outline[next].items[at].text = ""
	}
	c.plans = c.plans[:0]
	what := describe(l)
	if what == "" {
		return
	}
	if result != nil && result.IsError {
		c.failures[what] = c.outline[blocked].add(attempt(what)+" failed: "+errorLine(result.Text), c.age)
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

// attempt changes a description to the form for a failed attempt.
func attempt(what string) string {
	for did, doing := range map[string]string{"Ran ": "Running ", "Changed ": "Changing ", "Called ": "Calling "} {
		if rest, ok := strings.CutPrefix(what, did); ok {
			return doing + rest
		}
	}
	return what
}

// describe returns a short description of a call; empty if it only reads.
func describe(l Line) string {
	paths, verb := filesOfCall(l)
	switch {
	case verb == reading:
		return ""
	case verb == changing && len(paths) > 0:
		return "Changed " + tidy(strings.Join(paths, ", "), itemChars/2)
	}
	if command := readArguments(l.Text).command; command != "" {
		return "Ran `" + tidy(withoutCD(command), itemChars/3) + "`"
	}
	return "Called " + tidy(formatCall(l, itemChars/4), itemChars/3)
}

// withoutCD removes a leading change of directory from a command.
func withoutCD(command string) string {
	if strings.HasPrefix(command, "cd ") {
		if dir, rest, ok := strings.Cut(command, " && "); ok && len(dir) < 300 {
			return rest
		}
	}
	return command
}

// firstLine returns the first line of a text that contains a word.
func firstLine(text string) string {
	for line := range strings.SplitSeq(firstRunes(text, lookChars), "\n") {
		if hasWord(line) {
			return line
		}
	}
	return ""
}

// errorLine returns the most informative line of a failure: the first that mentions an
// error, or else the first.
func errorLine(text string) string {
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
