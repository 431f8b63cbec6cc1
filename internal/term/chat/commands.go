package chat

import (
	"context"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/typo"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// command is a slash command.
type command struct {
	name string
	// args describes the arguments, and help the effect.
	args, help string
	// run runs the command. Rest is the text after the name.
	run func(c *chat, ctx context.Context, rest string) error
}

// commands returns all commands in the order of the help.
func commands() []command {
	return []command{
		{"help", "", "this list", (*chat).help},
		{"new", "", "begin a new session; the old one is kept", (*chat).newSession},
		{"resume", "SESSION", "go on with another session: an id or its beginning, a title, @key; /switch is the same", (*chat).resume},
		{"sessions", "", "list the latest sessions; at a terminal, choose one", (*chat).sessions},
		{"agent", "[NAME]", "choose which agent answers here from now on; default is the session's own", (*chat).chooseAgent},
		{"agents", "", "list the sub-agents of this session", (*chat).agents},
		{"delete", "[SESSION]", "hide this session, or another; nothing is erased", (*chat).remove},
		{"restore", "SESSION", "bring a session back that was hidden", (*chat).restore},
		{"rename", "TITLE", "name this session", (*chat).rename},
		{"history", "[N]", "show the last N messages (10), also those that a summary stands for", (*chat).history},
		{"search", "WORDS", "look for words in the notes and in everything that was said", (*chat).searchCommand},
		{"memory", "[WORDS]", "look for words in the notes, or list them", (*chat).memory},
		{"remember", "TEXT", "note something for all sessions", (*chat).remember},
		{"forget", "NOTE", "take a note back", (*chat).forget},
		{"retry", "", "answer what was not answered", (*chat).retry},
		{"rewind", "[N|ENTRY] [--summary]", "go back N turns (1), or to an entry; what is left stays in the log", (*chat).rewind},
		{"fork", "[ENTRY]", "go on in a new session, from here or from an entry", (*chat).fork},
		{"tree", "", "draw the branches of this session", (*chat).tree},
		{"label", "NAME [ENTRY]", "name the last message, or an entry", (*chat).label},
		{"pin", "[ENTRY]", "keep your last message, or an entry, in every summary, word for word", (*chat).pin},
		{"compact", "[HINT]", "let a summary stand for all but the latest messages", (*chat).compact},
		{"uncompact", "", "take the last compaction back", (*chat).uncompact},
		{"compactions", "", "list the compactions of this branch", (*chat).compactions},
		{"window", "", "show what the model is sent, and what not and why", (*chat).window},
		{"export", "[FORMAT] FILE", "write this session to a file, as it is or in the format of another tool", (*chat).export},
		{"handoff", "TOOL", "go on with this session in another tool", (*chat).handoff},
		{"usage", "", "show what this session used", (*chat).usage},
		{"status", "", "show where you are", (*chat).status},
		{"model", "[PROVIDER/MODEL]", "choose who answers in this session", (*chat).chooseModel},
		{"think", "[LEVEL]", "choose how hard the model thinks in this session", (*chat).think},
		{"auth", "[PROFILE|default]", "choose the credentials that the model is asked with in this session", (*chat).auth},
		{"send", "on|off|inherit", "choose whether answers are sent to where messages come from", (*chat).send},
		{"verbose", "on|off", "be told more of what happens beside the answers", (*chat).verbose},
		{"stop", "", "stop the answer that is being given, as Ctrl-C does", (*chat).stop},
		{"quit", "", "end the chat, as Ctrl-D does; everything is saved", (*chat).quit},
	}
}

// otherNames maps aliases to commands.
var otherNames = map[string]string{"exit": "quit", "q": "quit", "?": "help", "ls": "sessions", "thinking": "think", "clear": "new", "switch": "resume"}

// command runs a typed command.
func (c *chat) command(ctx context.Context, typed string) error {
	name, rest, _ := strings.Cut(typed, " ")
	if other, ok := otherNames[name]; ok {
		name = other
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			return c.runInterruptible(ctx, func(ctx context.Context) error { return cmd.runIn(ctx, c, strings.TrimSpace(rest)) })
		}
	}
	hint := "/help lists the commands; a message that begins with a slash is typed with two"
	if near := typo.Nearest(name, commandNames(), 2); near != "" {
		hint = "did you mean /" + near + "? " + hint
	}
	return &Problem{Err: fmt.Errorf("there is no command /%s", prose.OneLine(name, 40)), Hint: hint, Kind: firn.ErrInvalid}
}

// needs returns an error if a required argument is missing.
func needs(name, rest string) error {
	if rest != "" {
		return nil
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			return &Problem{Err: fmt.Errorf("/%s needs more: /%s %s", name, name, cmd.args), Kind: firn.ErrInvalid, Hint: "it does this: " + cmd.help}
		}
	}
	return nil
}

func (c *chat) help(context.Context, string) error {
	rows := make([][]string, 0, len(commands()))
	for _, cmd := range commands() {
		rows = append(rows, []string{"  /" + strings.TrimSpace(cmd.name+" "+cmd.args), cmd.help})
	}
	c.screen.lines(append(prose.Table(rows),
		"  Anything else is said to the agent. A line that ends with \\ goes on in the next one, as one does with Alt-Enter.",
		"  An entry is named by its id or the beginning of it, its label, HEAD, HEAD~n or #n."))
	return nil
}

// retry answers the last unanswered message. It calls runTurn directly, since commands
// already run interruptibly.
func (c *chat) retry(ctx context.Context, _ string) error {
	return c.runTurn(ctx, wire.Turn{})
}

func (c *chat) stop(context.Context, string) error {
	c.screen.printf("nothing is running")
	return nil
}

func (c *chat) quit(context.Context, string) error {
	c.over = true
	return nil
}
