package dialect

import (
	"strings"

	"firn.dev"
)

// Kinds of text that a tool itself adds to the model's context; see [LineType].
const (
	// KindContext is text added in the user role.
	KindContext = "context"
	// KindDeveloper and KindSystem are text added in the developer and the system role.
	KindDeveloper = "developer"
	KindSystem    = "system"
)

// conversationTags mark text that a tool adds in the user role but that belongs to the
// conversation.
var conversationTags = [...]string{"<user_shell_command>", "<subagent_notification>"}

// ContextOf returns the tool that generated an entry as its own context: permissions,
// environment, instructions found. Such context is generated again in every session and
// means nothing to another tool. The name is empty for other entries, including developer
// and system text without a tag around it.
func ContextOf(e firn.Entry) Name {
	c, ok := e.Body.(*firn.CustomMessage)
	if !ok || c.Display {
		return ""
	}
	tool, kind, _ := strings.Cut(c.Type, ":")
	text := strings.TrimSpace(firn.JoinText(c.Parts))
	switch kind {
	case KindContext:
		for _, tag := range conversationTags {
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
