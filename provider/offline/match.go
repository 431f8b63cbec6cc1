package offline

import (
	"regexp"
	"strings"
	"time"

	"firn.dev/internal/base/pattern"
)

// A matcher converts a request to a tool call. It returns false if it does not apply.
type matcher func(c *conversation, ask string) (wanted, bool)

// matchers are tried in this order.
var matchers = []matcher{matchNow, matchCalc, matchEdit, matchShell, matchWrite, matchRemember, matchList, matchGrep, matchRead}

// polite matches the phrases that may introduce a request.
const polite = `(?is)^(?:please |can you |could you |would you |will you |hey,? |ok,? |and |then |now |also )*`

// pathWord matches a path: quoted, or a single word.
const pathWord = "(?:\"([^\"\n]+)\"|`([^`\n]+)`|'([^'\n]+)'|(\\S+))"

// quotedWord matches a quoted text, or a single word.
const quotedWord = "(?:\"([^\"]*)\"|`([^`]*)`|“([^”]*)”|(\\S+))"

var (
	nowPattern = pattern.New(polite + `(?:what(?:'s|’s| is)? (?:the )?(?:current |exact )?(?:local )?(?:time|date|day)(?: and (?:the )?(?:time|date))?(?: is it| is today| today| now)?|` +
		`(?:tell me|give me|show me|say) (?:the )?(?:current )?(?:time|date|day)|what day is (?:it|today)|what(?:'s|’s| is) today(?:'s date|’s date)?|(?:the )?(?:current )?(?:time|date)|how late is it)` +
		`(?: right now| now| today| please)?(?: in ([a-z_/+\-:0-9]+(?: [a-z]+)?))?(?: please)?[ ?!.]*$`)

	calcPattern = pattern.New(polite + `(?:calc(?:ulate)?|compute|evaluate|work out)[: ]+(.+?)[ ?!.=]*$`)
	sumPattern  = pattern.New(polite + `(?:what(?:'s|’s| is)|how much is|tell me)? *([-+(]*[0-9.][-+*/^%×÷().,0-9 ]*(?:(?:x|times|plus|minus|divided by|multiplied by|mod|of|to the power of)[-+*/^%×÷().,0-9 ]+)*)[ ?=]*$`)
	funcPattern = pattern.New(polite + `(?:what(?:'s|’s| is)|how much is)? *((?:sqrt|abs|min|max|round|floor|ceil|exp|ln|log|sin|cos|tan)\(.+?)[ ?=]*$`)
	operator    = pattern.New(`[0-9)] *(?:\*\*|[-+*/^%]) *[-+(]*[0-9.]`)

	writePattern    = pattern.New(polite + `(?:write|save|put|store)(?: down)? (.+?) (?:in)?to (?:the |a )?(?:new )?(?:file )?(?:named |called )?` + pathWord + `[ ?!.]*$`)
	editPattern     = pattern.New(polite + `(?:replace|change) ` + quotedWord + ` (?:with|by|to) ` + quotedWord + ` in (?:the )?(?:file )?` + pathWord + `[ ?!.]*$`)
	shellPattern    = pattern.New(polite + "(?:run|execute)(?: the command)?(?::? `([^`]+)`[ ?!.]*|: *([^`]+?) *)$")
	rememberPattern = pattern.New(polite + `(?:remember|note|memori[sz]e|keep in mind|do not forget|don't forget|don’t forget|make a note|take a note|write down)(?:,)?(?: that| this| of this)?[:,]? +(.+)$`)

	listPattern = pattern.New(polite + `(?:(?:ls|dir|list)(?: me)?(?: all)?(?: the| my)?(?: files| directory| folder| dir| contents?)*|show(?: me)?(?: all)?(?: the| my)? (?:files|directory|folder)|` +
		`(?:what|which) files (?:are|do you see)(?: there| here)?|what(?:'s|’s| is) in(?: the| this| my)? (?:folder|directory|workspace))(?: (?:in|of|under|at|from))?(?: the)?(?: (?:directory|folder))?(?: ` + pathWord + `)?(?: (?:directory|folder))?[ ?!.]*$`)

	grepCommand = pattern.New(`^grep +` + pathWord + `(?: +` + pathWord + `)? *$`)
	grepPattern = pattern.New(polite + `(?:search|find|grep|look|scan)(?: for)? (?:the word |the text |the string |all |every )?` + pathWord + `(?: (?:in|through|across|within|under) (?:the |all |all the |my |these )?(?:files?|folder|directory|code|workspace)?(?: in| of| under)? ?` + pathWord + `?)?[ ?!.]*$`)

	readPattern = pattern.New(polite + `(?:read|open|cat|show|display|print|view)(?: me)?(?: the)?(?: contents? of)?(?: the)?( file)? ` + pathWord + `(?: to me| for me| please)?[ ?!.]*$`)
	isInPattern = pattern.New(polite + `what(?:'s|’s| is| stands)(?: written)? (?:in|inside)(?: the)?( file)? ` + pathWord + `[ ?!.]*$`)
	saysPattern = pattern.New(polite + `what does(?: the)?( file)? ` + pathWord + ` (?:contain|say|hold)[ ?!.]*$`)

	recallPattern = pattern.New(polite + `(?:(?:recall|look up|do you (?:still )?remember|can you (?:recall|remember))(?: what (?:i|we|you) (?:said|told you|decided|wrote) about| that| anything about)?|` +
		`what (?:did|do|have|had) (i|we|you) (?:say|said|tell you|told you|talk(?:ed)? about|decided?|know|remember|write|written)(?: about| on| of| regarding)?|` +
		`search (?:our|my|the|past|old|earlier) (?:\w+ )?(?:conversations?|sessions?|history|chats?|memory|notes) for|remind me (?:of|about|what)) +(.+?)[ ?!.]*$`)
)

// firstOf returns the first group that matched, starting at from.
func firstOf(groups []string, from int) string {
	for _, g := range groups[from:] {
		if g != "" {
			return g
		}
	}
	return ""
}

func matchNow(_ *conversation, ask string) (wanted, bool) {
	groups := nowPattern().FindStringSubmatch(ask)
	if groups == nil {
		return wanted{}, false
	}
	w := wanted{tool: "now"}
	if dateAnswer(ask, time.Time{}) != "" { // "in two weeks" is no zone
		return w, true
	}
	if groups[1] != "" { // the tool rejects an invalid zone; the local time would be a wrong answer
		w.args = args{{"zone", groups[1]}}
	}
	return w, true
}

func matchEdit(_ *conversation, ask string) (wanted, bool) {
	groups := editPattern().FindStringSubmatch(ask)
	if groups == nil {
		return wanted{}, false
	}
	path := trimPath(firstOf(groups, 9))
	edit := args{{"old_text", firstOf(groups[:5], 1)}, {"new_text", firstOf(groups[:9], 5)}}
	return wanted{tool: "edit_file", args: args{{"path", path}}, edit: edit}, path != ""
}

func matchShell(_ *conversation, ask string) (wanted, bool) {
	groups := shellPattern().FindStringSubmatch(ask)
	if groups == nil {
		return wanted{}, false
	}
	return wanted{tool: "shell", args: args{{"command", firstOf(groups, 1)}}}, true
}

func matchCalc(_ *conversation, ask string) (wanted, bool) {
	for _, one := range []func() *regexp.Regexp{calcPattern, funcPattern} {
		if groups := one().FindStringSubmatch(ask); groups != nil {
			return wanted{tool: "calc", args: args{{"expression", expression(groups[1])}}}, true
		}
	}
	groups := sumPattern().FindStringSubmatch(ask)
	if groups == nil {
		return wanted{}, false
	}
	sum := expression(groups[1])
	return wanted{tool: "calc", args: args{{"expression", sum}}}, operator().MatchString(sum)
}

// spoken replaces spelled-out arithmetic operators.
var spoken = strings.NewReplacer("% of ", "/100*", " times ", "*", " multiplied by ", "*", " plus ", "+", " minus ", "-", " divided by ", "/", " mod ", "%", " to the power of ", "^",
	" x ", "*", "×", "*", "÷", "/")

func expression(text string) string {
	return strings.TrimSpace(strings.TrimRight(spoken.Replace(strings.TrimSpace(text)), "=?. "))
}

// looksLikePath reports whether a word is clearly a path.
func looksLikePath(word string) bool {
	if strings.Contains(word, "://") || len(word) > 300 {
		return false
	}
	dot := strings.LastIndexByte(word, '.')
	return strings.Contains(word, "/") || dot >= 0 && dot+1 < len(word) && word[dot+1] != '.' && !strings.ContainsAny(word[dot+1:], " ") ||
		word == "." || word == ".." || wellKnown[word]
}

// wellKnown are common files without an extension.
var wellKnown = wordSet("Makefile LICENSE README Dockerfile CHANGELOG go.mod")

// trimPath removes the punctuation at the end of a sentence.
func trimPath(path string) string {
	if path == "." || path == ".." {
		return path
	}
	return strings.TrimPrefix(strings.TrimRight(path, "?!,;:"), "@") // @ sends a file with a message
}

func matchRead(_ *conversation, ask string) (wanted, bool) {
	for _, one := range []func() *regexp.Regexp{readPattern, isInPattern, saysPattern} {
		groups := one().FindStringSubmatch(ask)
		if groups == nil {
			continue
		}
		path := trimPath(firstOf(groups, 2))
		if groups[1] != "" || looksLikePath(path) {
			return wanted{tool: "read_file", args: args{{"path", path}}}, path != ""
		}
	}
	return wanted{}, false
}

func matchList(_ *conversation, ask string) (wanted, bool) {
	groups := listPattern().FindStringSubmatch(ask)
	if groups == nil {
		return wanted{}, false
	}
	path := trimPath(firstOf(groups, 1))
	explicit := strings.Contains(strings.ToLower(ask), "file") || strings.Contains(strings.ToLower(ask), "director") || strings.Contains(strings.ToLower(ask), "folder")
	if strings.HasPrefix(path, "-") {
		path = "" // options of a command
	}
	switch strings.ToLower(path) {
	case "", "here", "there", "it", "workspace":
		path = "."
	default:
		if !explicit && !looksLikePath(path) && !strings.HasPrefix(strings.ToLower(ask), "ls ") {
			return wanted{}, false // "list three colors"
		}
	}
	return wanted{tool: "list_dir", args: args{{"path", path}}}, true
}

func matchGrep(_ *conversation, ask string) (wanted, bool) {
	groups := grepCommand().FindStringSubmatch(ask)
	if groups == nil {
		groups = grepPattern().FindStringSubmatch(ask)
	}
	if groups == nil {
		return wanted{}, false
	}
	low := strings.ToLower(ask)
	path := trimPath(firstOf(groups, 5))
	explicit := strings.Contains(low, "grep") || strings.Contains(low, " file") || strings.Contains(low, " folder") || strings.Contains(low, " code") ||
		strings.Contains(low, " director") || strings.Contains(low, " workspace")
	if !explicit && !looksLikePath(path) {
		return wanted{}, false
	}
	pattern := firstOf(groups[:5], 1)
	if !strings.Contains(low, "grep") {
		pattern = regexp.QuoteMeta(pattern) // a word to search for, not a regular expression
	}
	w := wanted{tool: "grep", args: args{{"pattern", pattern}}}
	if path != "" {
		w.args = append(w.args, [2]string{"path", path})
	}
	return w, pattern != "" && pattern != "files"
}

func matchWrite(c *conversation, ask string) (wanted, bool) {
	groups := writePattern().FindStringSubmatch(ask)
	if groups == nil {
		return wanted{}, false
	}
	path := trimPath(firstOf(groups, 2))
	if !looksLikePath(path) && !strings.Contains(strings.ToLower(ask), "file ") {
		return wanted{}, false // "write a letter to Ada"
	}
	content := unquote(groups[1])
	switch strings.ToLower(content) {
	case "it", "that", "this", "the answer", "your answer", "the last answer", "your last answer", "the result":
		content = c.lastAnswer()
	}
	return wanted{tool: "write_file", args: args{{"path", path}, {"content", content}}}, content != ""
}

// unquote removes quotation marks around the whole text.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	for _, marks := range [...][2]string{{`"`, `"`}, {"'", "'"}, {"`", "`"}, {"“", "”"}} {
		if len(text) >= len(marks[0])+len(marks[1]) && strings.HasPrefix(text, marks[0]) && strings.HasSuffix(text, marks[1]) {
			return text[len(marks[0]) : len(text)-len(marks[1])]
		}
	}
	return text
}

// lastAnswer returns the model's last answer.
func (c *conversation) lastAnswer() string {
	for i := len(c.utterances) - 1; i >= 0; i-- {
		if c.utterances[i].by == byModel {
			return c.utterances[i].text
		}
	}
	return ""
}

func matchRemember(_ *conversation, ask string) (wanted, bool) {
	groups := rememberPattern().FindStringSubmatch(ask)
	if groups == nil || isQuestion(ask) {
		return wanted{}, false
	}
	return wanted{tool: "remember", args: args{{"text", strings.TrimSpace(groups[1])}}}, true
}

// maxAsk limits how much of a message is matched against the patterns.
const maxAsk = 8000

// clauseEnd separates several requests in one message.
var clauseEnd = pattern.New(`(?i)(?:\s*;\s*|,?\s+and then\s+|,?\s+then\s+|,?\s+and\s+|,\s+|\.\s+|\?\s+|\n+)`)

// maxCalls limits the calls of one answer.
const maxCalls = 8

// requests returns the calls that a message asks for. A message is split into several
// requests only if each of them matches; otherwise it is treated as one.
func (c *conversation) requests(ask string) []wanted {
	if len(ask) > maxAsk {
		return nil
	}
	var calls []wanted
	for _, clause := range clauseEnd().Split(strings.TrimSpace(ask), -1) {
		if strings.TrimSpace(clause) == "" {
			continue
		}
		w, ok := c.request(clause)
		if path := trimPath(strings.Trim(clause, " .")); !ok && len(calls) > 0 && calls[len(calls)-1].tool == "read_file" &&
			looksLikePath(path) && !strings.Contains(path, " ") {
			w, ok = wanted{tool: "read_file", args: args{{"path", path}}}, true // read a.txt and b.txt
		}
		if !ok || len(calls) == maxCalls {
			calls = nil
			break
		}
		calls = append(calls, w)
	}
	if len(calls) > 0 {
		return calls
	}
	if w, ok := c.request(ask); ok {
		return []wanted{w}
	}
	return nil
}

func (c *conversation) request(ask string) (wanted, bool) {
	ask = strings.TrimSpace(ask)
	for _, match := range matchers {
		if w, ok := match(c, ask); ok {
			return w, true
		}
	}
	return wanted{}, false
}
