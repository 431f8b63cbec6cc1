package route

import (
	"strings"
	"unicode"
)

// Triggers are what somebody says to begin a new session.
type Triggers struct {
	// Words are the triggers; nil means /new and /reset. They count in any case,
	// alone or with white space behind them.
	Words []string
	// Mentions are the agent's names in a group, such as @firn or <@U123>. They
	// are taken off the front, and off the trigger in /new@firn.
	Mentions []string
	// Model says which model a word behind the trigger means, if any; nil means
	// that none is.
	Model func(word string) (model string, ok bool)
}

// Hit is a trigger that was said.
type Hit struct {
	// Word is the trigger as it is set, and Cause what it means.
	Word  string
	Cause Cause
	// Rest is what was said behind it: the first message of the new session.
	Rest string
	// Model was asked for as in /new <model>; it is not part of Rest.
	Model string
}

// Trigger reports whether a text begins with a trigger. It does not ask whether
// the sender may do that.
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

// StripMentions takes the names of an agent off the front of a text, with the
// comma or colon behind them.
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

// cutWord takes a word off the front of a text if the text ends there or goes
// on with white space, or with one of the mentions and then that.
func cutWord(text, word string, mentions []string) (rest string, ok bool) {
	rest, ok = cutFold(text, word)
	if !ok {
		return "", false
	}
	for _, m := range mentions {
		if after, is := cutFold(rest, strings.TrimSpace(m)); is && ends(after) {
			return after, true
		}
	}
	return rest, ends(rest)
}

// ends reports whether no word goes on at the front of a text.
func ends(text string) bool {
	return text == "" || text != strings.TrimLeftFunc(text, unicode.IsSpace)
}

// cutFold is strings.CutPrefix that does not tell cases of ASCII apart.
func cutFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// cutSpace parts a text behind its first word.
func cutSpace(text string) (word, rest string) {
	i := strings.IndexFunc(text, unicode.IsSpace)
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimSpace(text[i:])
}

// Toggles are what is set and counted for a session beside its transcript.
type Toggles struct {
	// What somebody chose for the session.
	Thinking, Verbose, Reasoning, Elevated, TTS, Usage string
	Provider, Model, AuthProfile                       string
	Label                                              string
	// What was settled for the conversation, whichever session it is in.
	Send       Override
	Queue      string
	Activation string
	// What was counted.
	InputTokens, OutputTokens, TotalTokens int64
	Compactions, FlushedAt                 int
}

// Carry returns what of the toggles a new session begins with, however it begins: what
// was chosen for the conversation stays, and counters begin at zero.
func (t Toggles) Carry() Toggles {
	next := Toggles{Send: t.Send, Queue: t.Queue, Activation: t.Activation}
	next.Thinking, next.Verbose, next.Reasoning = t.Thinking, t.Verbose, t.Reasoning
	next.Elevated, next.TTS, next.Usage = t.Elevated, t.TTS, t.Usage
	next.Provider, next.Model, next.AuthProfile = t.Provider, t.Model, t.AuthProfile
	next.Label = t.Label
	return next
}

// Command is something that can be asked of the gateway in a message.
type Command struct {
	// Name is what it is called, without the slash; Aliases are other names.
	Name    string
	Aliases []string
	// Args shows what may stand behind it; empty if nothing may.
	Args string
	// Help says what it does, in a line.
	Help string
}

// Commands lists the commands, in the order in which help shows them. What
// begins a new session is a [Trigger] and not among them.
func Commands() []Command {
	return []Command{
		{"stop", []string{"abort"}, "[anything]", "stop the running turn and forget what waits"},
		{"status", nil, "", "show the session, the model and how full the window is"},
		{"compact", nil, "[hint]", "sum up the older part of the session"},
		{"model", nil, "[model]", "show or choose the model"},
		{"think", []string{"thinking", "t"}, "[level]", "show or choose how hard the model thinks"},
		{"verbose", []string{"v"}, "[on|off]", "show or choose how much of the doings is shown"},
		{"auth", nil, "[profile|default]", "show or choose the credentials that the model is asked with"},
		{"usage", nil, "[anything]", "show what was used"},
		{"send", nil, "[on|off|inherit]", "show or choose whether answers are sent to this chat"},
		{"queue", nil, "[anything]", "show what becomes of messages during a turn, which the settings decide"},
		{"help", []string{"commands"}, "", "list these commands"},
	}
}

// ParseCommand reads a message that is a command: a slash, a name in any case,
// and arguments behind white space or a colon. A name that is not listed, or
// arguments for one that takes none, make an ordinary message.
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

// commandArgs cuts the name of a command off and returns what stands behind it.
func commandArgs(text, name string) (string, bool) {
	rest, ok := cutFold(text, name)
	if !ok {
		return "", false
	}
	if after, colon := strings.CutPrefix(rest, ":"); colon {
		return strings.TrimSpace(after), true
	}
	return strings.TrimSpace(rest), ends(rest)
}
