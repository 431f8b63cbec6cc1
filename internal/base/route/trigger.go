package route

import (
	"strings"
	"unicode"
)

// Triggers are the words that start a new session.
type Triggers struct {
	// Words are the triggers; nil means /new and /reset. They are case-insensitive and must
	// be followed by white space or the end of the text.
	Words []string
	// Mentions are the agent's names in a group, such as @firn or <@U123>. They are removed
	// from the start of the text, and from the trigger in /new@firn.
	Mentions []string
	// Model returns the model that the word after the trigger means, if any; nil means
	// none.
	Model func(word string) (model string, ok bool)
}

// Hit is a trigger found in a message.
type Hit struct {
	// Word is the trigger as configured, and Cause its meaning.
	Word  string
	Cause Cause
	// Rest is the text after it: the first message of the new session.
	Rest string
	// Model is the requested model, as in /new <model>; it is not part of Rest.
	Model string
}

// Trigger reports whether a text starts with a trigger. It does not check whether the
// sender may use it.
func Trigger(text string, t Triggers) (Hit, bool) {
	words := t.Words
	if words == nil {
		words = []string{"/new", "/reset"}
	}
	text = StripMentions(text, t.Mentions)
	best := -1
	var hit Hit
	for _, word := range words {
		word = strings.TrimSpace(word)
		rest, ok := cutWord(text, word, t.Mentions)
		if ok && word != "" && len(word) > best {
			best, hit = len(word), Hit{Word: word, Cause: triggerCause(word), Rest: strings.TrimSpace(rest)}
		}
	}
	if best < 0 {
		return Hit{}, false
	}
	if t.Model != nil {
		word, rest := cutSpace(hit.Rest)
		if model, ok := t.Model(word); ok && word != "" {
			hit.Model, hit.Rest = model, rest
		}
	}
	return hit, true
}

func triggerCause(word string) Cause {
	switch strings.ToLower(word) {
	case "/new":
		return CauseNew
	case "/reset":
		return CauseReset
	}
	return CauseTrigger
}

// StripMentions removes the names of an agent from the start of a text, with the comma or
// colon after them.
func StripMentions(text string, mentions []string) string {
	text = strings.TrimSpace(text)
	for {
		rest, ok := cutMention(text, mentions)
		if !ok {
			return text
		}
		text = rest
	}
}

func cutMention(text string, mentions []string) (string, bool) {
	for _, m := range mentions {
		m = strings.TrimSpace(m)
		rest, ok := cutFold(text, m)
		if !ok || m == "" {
			continue
		}
		rest = strings.TrimLeft(rest, ",:")
		if trimmed := strings.TrimSpace(rest); trimmed == "" || trimmed != rest {
			return trimmed, true
		}
	}
	return text, false
}

// cutWord removes a word from the start of a text if it is followed by the end or white
// space, optionally after one of the mentions.
func cutWord(text, word string, mentions []string) (rest string, ok bool) {
	rest, ok = cutFold(text, word)
	if !ok {
		return "", false
	}
	for _, m := range mentions {
		if after, is := cutFold(rest, strings.TrimSpace(m)); is && endsWord(after) {
			return after, true
		}
	}
	return rest, endsWord(rest)
}

// endsWord reports whether text is empty or starts with white space.
func endsWord(text string) bool {
	return text == "" || text != strings.TrimLeftFunc(text, unicode.IsSpace)
}

// cutFold is strings.CutPrefix, ignoring the case of ASCII letters.
func cutFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// cutSpace splits a text after its first word.
func cutSpace(text string) (word, rest string) {
	i := strings.IndexFunc(text, unicode.IsSpace)
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimSpace(text[i:])
}

// Toggles are settings and counters of a session outside its transcript.
type Toggles struct {
	// The choices for the session.
	Thinking, Verbose, Reasoning, Elevated, TTS, Usage string
	Provider, Model, AuthProfile                       string
	Label                                              string
	// The settings of the conversation, in all its sessions.
	Send       Override
	Queue      string
	Activation string
	// The counters.
	InputTokens, OutputTokens, TotalTokens int64
	Compactions, FlushedAt                 int
}

// Carry returns the toggles for a new session: the choices are kept, and the counters start
// at zero.
func (t Toggles) Carry() Toggles {
	next := Toggles{Send: t.Send, Queue: t.Queue, Activation: t.Activation}
	next.Thinking, next.Verbose, next.Reasoning = t.Thinking, t.Verbose, t.Reasoning
	next.Elevated, next.TTS, next.Usage = t.Elevated, t.TTS, t.Usage
	next.Provider, next.Model, next.AuthProfile = t.Provider, t.Model, t.AuthProfile
	next.Label = t.Label
	return next
}

// Command is a command to the gateway in a message.
type Command struct {
	// Name is its name without the slash; Aliases are other names.
	Name    string
	Aliases []string
	// Args describes its arguments; empty if it takes none.
	Args string
	// Help describes it in one line.
	Help string
}

// Commands lists the commands, in the order in which help shows them. Words that start a
// new session are [Triggers] and not included.
func Commands() []Command {
	return []Command{
		{"stop", []string{"abort"}, "[anything]", "stop the running turn and drop queued messages"},
		{"status", nil, "", "show the session, the model and how full the window is"},
		{"compact", nil, "[hint]", "summarize the older part of the session"},
		{"model", nil, "[model]", "show or choose the model"},
		{"think", []string{"thinking", "t"}, "[level]", "show or set the thinking level"},
		{"verbose", []string{"v"}, "[on|off]", "show or set how much detail is shown"},
		{"auth", nil, "[profile|default]", "show or choose the API credentials"},
		{"usage", nil, "[anything]", "show token usage and cost"},
		{"send", nil, "[on|off|inherit]", "show or set whether answers are sent to this chat"},
		{"queue", nil, "[anything]", "show how messages that arrive during a turn are handled (a setting)"},
		{"help", []string{"commands"}, "", "list these commands"},
	}
}

// ParseCommand parses a command: a slash, a name in any case, and arguments after white
// space or a colon. An unknown name, or arguments for a command that takes none, make an
// ordinary message.
func ParseCommand(text string) (name, args string, ok bool) {
	after, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return "", "", false
	}
	for _, c := range Commands() {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			args, ok := commandArgs(after, name)
			if ok && (args == "" || c.Args != "") {
				return c.Name, args, true
			}
		}
	}
	return "", "", false
}

// commandArgs removes the name of a command and returns its arguments.
func commandArgs(text, name string) (string, bool) {
	rest, ok := cutFold(text, name)
	if !ok {
		return "", false
	}
	if after, colon := strings.CutPrefix(rest, ":"); colon {
		return strings.TrimSpace(after), true
	}
	return strings.TrimSpace(rest), endsWord(rest)
}
