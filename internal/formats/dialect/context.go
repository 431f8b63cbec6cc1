package dialect

import (
	"strings"

	"firn.dev"
)

// Kinds of what a tool puts before the model itself; see [LineType].
const (
	// KindContext is what it says in the user's name.
	KindContext = "context"
	// KindDeveloper and KindSystem are what it says for itself.
	KindDeveloper = "developer"
	KindSystem    = "system"
)

// spoken are the tags of what a tool says in the user's name and is part of the
// conversation all the same.
var spoken = [...]string{"<user_shell_command>", "<subagent_notification>"}

// ContextOf returns the tool whose own context an entry is: what it may do, where it
// runs, the instructions it found. It puts that before the model anew in every session,
// and another tool has its own. It is empty for all else, also for what a program
// says to the model in its own words, without a tag around it.
func ContextOf(e firn.Entry) Name {
	c, ok := e.Body.(*firn.CustomMessage)
	if !ok || c.Display {
		return ""
	}
	tool, kind, _ := strings.Cut(c.Type, ":")
	text := strings.TrimSpace(firn.JoinText(c.Parts))
	switch kind {
	case KindContext:
		for _, tag := range spoken {
			if strings.HasPrefix(text, tag) {
				return ""
			}
		}
		return Name(tool)
	case KindDeveloper, KindSystem:
		if strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">") {
			return Name(tool)
		}
	}
	return ""
}
