package cli

import "strings"

// location has the global flags that choose the sessions of a command.
type location struct {
	home    string
	address string
	store   string
	inPlace bool
}

// flags returns the flags as words for a shell, with a space before each; empty if there are
// none.
func (l *location) flags() string {
	var words []string
	for _, f := range []struct{ name, value string }{{"--home", l.home}, {"--gateway", l.address}, {"--store", l.store}} {
		if f.value != "" {
			words = append(words, f.name, f.value)
		}
	}
	if l.inPlace {
		words = append(words, "--in-place")
	}
	if len(words) == 0 {
		return ""
	}
	return " " + quoteAll(words)
}

// again returns a command of firn with the global flags of this one, so that it finds the same
// sessions. A command that has global flags already is returned as it is.
func (l *location) again(command string) string {
	rest, ok := strings.CutPrefix(command, "firn ")
	if !ok || strings.HasPrefix(rest, "--") {
		return command
	}
	return "firn" + l.flags() + " " + rest
}

// undoLine is the start of a line with the command that undoes another one.
const undoLine = "undo: "

// repeatFlags adds the global flags of this command to the commands in lines that begin with
// undoLine.
func (l *location) repeatFlags(text string) string {
	if l.flags() == "" || !strings.Contains(text, undoLine) {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if command, ok := strings.CutPrefix(line, undoLine); ok {
			lines[i] = undoLine + l.again(command)
		}
	}
	return strings.Join(lines, "")
}
