package route

import "strings"

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
		{"verbose", []string{"v"}, "[on|off|full]", "show or choose how much of the doings is shown"},
		{"usage", nil, "[off|tokens|full]", "show or choose what is told of the cost"},
		{"send", nil, "[on|off|inherit]", "show or choose whether answers are sent to this chat"},
		{"queue", nil, "[mode] [debounce:1s] [cap:20] [drop:old|new|summarize]", "show or choose what becomes of messages during a turn"},
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
