package route

import (
	"path"
	"slices"
	"strings"
)

// CommandPolicy controls the use of commands in messages. The zero value allows all
// commands in direct chats, and in groups those that change neither routing nor model nor
// permissions.
type CommandPolicy struct {
	// Direct and Group are the allowed commands in direct chats, and in groups and
	// channels, by name without the slash; * matches any characters. Nil means the default.
	Direct, Group []string
	// Rules take precedence: the first one that matches decides.
	Rules []CommandRule
}

// CommandRule matches messages that match all its fields.
type CommandRule struct {
	Channel  string
	ChatType ChatType
	// Senders are names or IDs of senders; empty means any.
	Senders []string
	// Commands are the allowed commands.
	Commands []string
}

// GroupCommands returns the default commands for groups.
func GroupCommands() []string { return []string{"help", "status", "usage", "queue", "stop", "compact"} }

// Commander is the origin of a command and the names of its sender.
type Commander struct {
	Channel  string
	ChatType ChatType
	Names    []string
}

// Allows reports whether by may use a command.
func (p CommandPolicy) Allows(command string, by Commander) bool {
	may := p.Direct
	if may == nil {
		may = []string{"*"}
	}
	if by.ChatType == ChatGroup || by.ChatType == ChatChannel {
		if may = p.Group; may == nil {
			may = GroupCommands()
		}
	}
	for _, r := range p.Rules {
		if r.fits(by) {
			may = r.Commands
			break
		}
	}
	command = strings.ToLower(strings.TrimPrefix(command, "/"))
	return slices.ContainsFunc(may, func(pattern string) bool {
		ok, err := path.Match(strings.ToLower(strings.TrimPrefix(strings.TrimSpace(pattern), "/")), command)
		return ok && err == nil
	})
}

func (r CommandRule) fits(by Commander) bool {
	if r.Channel != "" && !strings.EqualFold(strings.TrimSpace(r.Channel), by.Channel) {
		return false
	}
	if r.ChatType != "" && (SendRule{ChatType: r.ChatType}).chatType() != by.ChatType {
		return false
	}
	return len(r.Senders) == 0 || slices.ContainsFunc(r.Senders, func(s string) bool {
		return slices.ContainsFunc(by.Names, func(name string) bool { return name != "" && strings.EqualFold(strings.TrimSpace(s), name) })
	})
}
