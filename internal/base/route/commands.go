package route

import (
	"path"
	"slices"
	"strings"
)

// CommandPolicy says who may use which commands in messages. The zero value allows all
// commands in direct chats, and in groups those that change neither routing nor model nor
// rights.
type CommandPolicy struct {
	// Direct and Group are the commands of direct chats, and of groups and channels, by
	// name and without the slash; a * stands for any characters. Nil means the standard.
	Direct, Group []string
	// Rules go before: the first one that fits decides.
	Rules []CommandRule
}

// CommandRule fits messages that agree with everything that it names.
type CommandRule struct {
	Channel  string
	ChatType ChatType
	// Senders are names or ids of those who sent the message; none means any.
	Senders []string
	// Commands are those that they may use.
	Commands []string
}

// GroupCommands are the commands that everybody in a group may use unless a policy says
// otherwise.
func GroupCommands() []string { return []string{"help", "status", "usage", "queue", "stop", "compact"} }

// Commander is where a command comes from, and by which names its sender is known.
type Commander struct {
	Channel  string
	ChatType ChatType
	Names    []string
}

// Allows reports whether somebody may use a command.
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
