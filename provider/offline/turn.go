package offline

import (
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/find/digest"
)

// A try answers one kind of message, or returns false.
type try func(c *conversation) (reply, bool)

// tries are made in this order.
var tries = []try{nothing, greeting, about, secrecy, tools, ordinal, recap, saidSoFar, recollection, inSentence, aboutUser, knownFact, statement}

// turn answers the user, or continues after tool results.
func (c *conversation) turn() reply {
	if len(c.outcomes) > 0 {
		return c.report()
	}
	for _, try := range tries {
		if r, ok := try(c); ok {
			return r
		}
	}
	return c.fallback()
}

// nothing answers messages without words.
func nothing(c *conversation) (reply, bool) {
	if c.last != "" {
		return reply{}, false
	}
	return reply{thought: "No words.", text: "I found no words of yours to answer: as firn's offline model I read text only."}, true
}

var (
	greetingPattern = pattern.New(`(?i)^(?:hi|hello|hey|hallo|hola|salut|bonjour|moin|good (?:morning|afternoon|evening|day)|how are you(?: doing)?)(?: there| you| firn| all| everyone)?(?:,? how are you(?: doing| today)?)?[ !.?]*$`)
	thanksPattern   = pattern.New(`(?i)^(?:ok(?:ay)?,? )?(?:thanks|thank you|thx|cheers|danke|merci|gracias)(?: .{0,20})?[ !.]*$`)
	aboutPattern    = pattern.New(`(?i)^(?:help|/?help me|what (?:can|do) you do|how (?:do|can) i use you|who are you|what are you|what(?:'s|’s| is) your name|what model (?:are you|is this)|are you (?:an? )?(?:ai|real|model|bot|human|llm|chatgpt|gpt|claude).*|what can i (?:ask|do)(?: here)?)[ ?!.]*$`)
)

// whoami is the model's description of itself.
const whoami = "I am firn's offline model. I match words; I do not reason, learn or use the network."

// cannotAnswer is the answer to everything that no pattern matches.
const cannotAnswer = "I can't answer that. I'm the built-in word matcher, so that you can try firn without a key. /model picks a real model."

func greeting(c *conversation) (reply, bool) {
	switch {
	case greetingPattern().MatchString(c.last):
		return reply{thought: "A greeting.", text: "Hello! " + whoami + " What you say is kept all the same. Ask me what I can do."}, true
	case thanksPattern().MatchString(c.last):
		return reply{thought: "Thanks.", text: "You are welcome."}, true
	}
	return reply{}, false
}

// abilities has an example request for each tool.
var abilities = []struct{ tool, example string }{
	{"now", "“what time is it” (now)"},
	{"calc", "“what is 12*7” (calc)"},
	{"read_file", "“read notes.txt”, “summarize notes.txt” (read_file)"},
	{"list_dir", "“which files are here” (list_dir)"},
	{"grep", "“search for TODO” (grep)"},
	{"write_file", "“write hello to hello.txt” (write_file)"},
	{"edit_file", "“replace tea with coffee in notes.txt” (edit_file)"},
	{"shell", "“run: make test” (shell)"},
	{"remember", "“remember that I like tea” (remember)"},
	{"recall", "“recall the budget” (recall)"},
}

func about(c *conversation) (reply, bool) {
	if !aboutPattern().MatchString(c.last) {
		return reply{}, false
	}
	return c.aboutMe(), true
}

// aboutMe lists what the model can do with the tools it is offered.
func (c *conversation) aboutMe() reply {
	var b strings.Builder
	b.WriteString(whoami + "\n\nWhat I can do:\n" +
		"- quote this conversation: “what is my name”, “what did I say about the budget”, “what was my first question”, “summarize”\n")
	for _, a := range abilities {
		if c.offers(a.tool) {
			b.WriteString("- use a tool: " + a.example + "\n")
		}
	}
	b.WriteString("- shorten a long conversation by picking sentences out of it\n\n" +
		"/model picks a real model: one of Anthropic, OpenAI or another provider, or one of Ollama or LM Studio on this machine. " +
		"The conversation continues with it.")
	return reply{thought: "A question about me.", text: b.String()}
}

// tools calls the requested tools, if they are available.
func tools(c *conversation) (reply, bool) {
	calls := c.requests(c.last)
	if len(calls) == 0 {
		return reply{}, false
	}
	var names, missing, lacking []string
	for _, w := range calls {
		names = append(names, w.tool)
		if !c.offers(w.tool) {
			missing, lacking = append(missing, "the tool "+w.tool), append(lacking, w.tool)
		}
	}
	if len(calls) == 1 && len(missing) == 1 && calls[0].tool == "remember" {
		return reply{thought: "No tool for notes.", text: "I have no tool for notes here, so it is kept in this conversation only: " + quote(c.last)}, true
	}
	if len(missing) > 0 {
		return reply{thought: "A tool is missing.", text: notOffered(list(missing), lacking...)}, true
	}
	return c.call("This asks for "+list(names)+".", calls...), true
}

// notOffered is the answer to a request for tools that are not offered, with the flag of
// firn chat that offers them.
func notOffered(what string, tools ...string) string {
	text := fmt.Sprintf("That needs %s, which I am not offered here.", what)
	switch {
	case slices.Contains(tools, "shell"):
		return text + " firn chat --allow-shell offers it."
	case slices.Contains(tools, "write_file"), slices.Contains(tools, "edit_file"):
		return text + " firn chat --workspace . offers it."
	}
	return text
}

var (
	ordinalPattern = pattern.New(`(?i)^what (?:was|is|were) (?:my|the) (very first|first|last|previous|latest) (?:question|message|request|thing i (?:said|asked)|ask)[ ?!.]*$`)
	didAskPattern  = pattern.New(`(?i)^what did i (?:ask|say)(?: you)? (first|last|before|at first|previously)[ ?!.]*$`)
	countPattern   = pattern.New(`(?i)^how many (?:messages|questions|times|turns)\b.*$`)
	wholePattern   = pattern.New(`(?i)^(?:please |can you |could you )?(?:(?:summari[sz]e|sum up|recap)(?: (?:this|our|the|it|that|all|everything|what we (?:said|did|discussed)|so far|conversation|chat|talk|session|up))*|what (?:have|did) we (?:talked?|discuss(?:ed)?|done|do|said|say)(?: about)?(?: so far| until now| today)?|what happened so far)[ ?!.]*$`)
)

// ordinal answers which question was first or last, and how many there were.
func ordinal(c *conversation) (reply, bool) {
	earlier := c.userMessages[:len(c.userMessages)-1]
	since := ""
	if c.compacted {
		since = " (counted since the summary that stands for what came before)"
	}
	if countPattern().MatchString(c.last) {
		answers := 0
		for _, h := range c.utterances {
			if h.by == byModel {
				answers++
			}
		}
		return reply{thought: "Counting.", text: fmt.Sprintf("You sent %s, this one included, and got %s%s.", counted(len(c.userMessages), "message"), counted(answers, "answer"), since)}, true
	}
	groups := ordinalPattern().FindStringSubmatch(c.last)
	if groups == nil {
		groups = didAskPattern().FindStringSubmatch(c.last)
	}
	if groups == nil {
		return reply{}, false
	}
	if len(earlier) == 0 {
		return reply{thought: "The first message.", text: "This is your first message in what I can see" + since + "."}, true
	}
	if strings.Contains(strings.ToLower(groups[1]), "first") {
		return reply{thought: "The first message.", text: "Your first message was: " + quote(earlier[0]) + since}, true
	}
	return reply{thought: "The message before.", text: "Your message before this one was: " + quote(earlier[len(earlier)-1])}, true
}

// maxRecap limits the length of a recap, in characters.
const maxRecap = 1500

// recap summarizes the conversation so far.
func recap(c *conversation) (reply, bool) {
	if !wholePattern().MatchString(c.last) {
		return reply{}, false
	}
	return c.recapSoFar(), true
}

func (c *conversation) recapSoFar() reply {
	previous := ""
	if len(c.utterances) > 0 && c.utterances[0].by == bySummary {
		previous = c.utterances[0].text
	}
	lines := c.lines
	if n := len(lines); n > 0 {
		lines = lines[:n-1] // the request for the summary
	}
	text := digest.Extract(previous, lines, maxRecap)
	if text == "" {
		return reply{thought: "Nothing to sum up.", text: "Nothing was said before this."}
	}
	return reply{thought: "Picking sentences.", text: "What was said so far, in sentences picked from it:\n\n" + text}
}

// statement acknowledges a statement of the user.
func statement(c *conversation) (reply, bool) {
	if asks(c.last) {
		return reply{}, false
	}
	line := digest.Line{Role: firn.RoleUser, Kind: digest.Speech, Text: c.last}
	notes := digest.Notes([]digest.Line{line})
	if len(notes) == 0 && !factPattern().MatchString(c.last) {
		return reply{}, false
	}
	fact := c.last
	if len(notes) > 0 {
		fact = notes[0]
	}
	return reply{thought: "A statement.", text: "I have that now: " + quote(fact) + " Ask me about it and I will quote it."}, true
}

// factPattern matches a sentence that states a fact.
var factPattern = pattern.New(`(?i)^(?:i'm|i’m|i am) [^?]+$|^(?:the|my|our|his|her|their|its|this|i|we|it|there|[A-Z]\w+)\b[^?]{0,80}\b(?:is|are|was|were|am|has|have|costs?|lives?|live|means?)\b [^?]+$`)

// fallback answers everything else, with a related earlier sentence if there is one.
func (c *conversation) fallback() reply {
	text := cannotAnswer
	if related, ok := c.related(c.last); ok {
		text += "\n\nThe nearest thing said before: " + related.attributed()
	}
	return reply{thought: "Nothing matched.", text: text}
}
