package chat

import (
	"context"
	"fmt"
	"slices"
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
		{"help", "", "list the commands", (*chat).help},
		{"new", "", "start a new session; the old one is kept", (*chat).newSession},
		{"resume", "SESSION", "resume another session: an id, title or @key; alias /switch", (*chat).resume},
		{"sessions", "", "list the latest sessions; at a terminal, choose one", in(listCommands.sessions)},
		{"agent", "[NAME]", "choose the agent that answers; default is the session's own", in(choiceCommands.chooseAgent)},
		{"agents", "", "list the sub-agents of this session", in(showCommands.agents)},
		{"delete", "[SESSION]", "hide this session or another; nothing is erased", (*chat).remove},
		{"restore", "SESSION", "restore a hidden session", (*chat).restore},
		{"rename", "TITLE", "rename this session", (*chat).rename},
		{"history", "[N]", "show the last N messages (10), including summarized ones", in(showCommands.history)},
		{"copy", "", "copy the last answer to the terminal's clipboard", in(showCommands.copy)},
		{"search", "WORDS", "search notes and messages", in(showCommands.searchCommand)},
		{"memory", "[WORDS]", "search notes, or list them", in(memoryCommands.memory)},
		{"remember", "TEXT", "save a note for all sessions", in(memoryCommands.remember)},
		{"forget", "NOTE", "remove a note", in(memoryCommands.forget)},
		{"retry", "", "answer the last message, if it is unanswered", (*chat).retry},
		{"rewind", "[N|ENTRY] [--files] [--summary]", "choose where to go back to; --files restores files too", in(branchCommands.rewind)},
		{"undo", "", "take back the last turn, with the files that it changed", in(fileCommands.undo)},
		{"diff", "[PATH]", "show what this session changed in files", in(fileCommands.diff)},
		{"fork", "[ENTRY]", "continue in a new session, from here or an entry", in(branchCommands.fork)},
		{"tree", "", "draw the branches of this session", in(branchCommands.tree)},
		{"label", "NAME [ENTRY]", "label the last message, or an entry", (*chat).label},
		{"pin", "[ENTRY]", "keep your last message, or an entry, in every summary", (*chat).pin},
		{"compact", "[HINT]", "summarize everything but the latest messages", in(branchCommands.compact)},
		{"uncompact", "", "undo the last compaction", in(branchCommands.uncompact)},
		{"compactions", "", "list the compactions of this branch", in(branchCommands.compactions)},
		{"window", "", "show what is sent to the model, what is not, and why", in(showCommands.window)},
		{"export", "[FORMAT] [FILE]", "export this session as html, md, json, jsonl or for a tool", in(formatCommands.export)},
		{"handoff", "TOOL", "continue this session in another tool", in(formatCommands.handoff)},
		{"usage", "", "show the token usage of this session", in(showCommands.usage)},
		{"status", "", "show the status of this chat", in(showCommands.status)},
		{"model", "[NAME] [--project|--all]", "choose the model of this session, or of new chats too", in(choiceCommands.chooseModel)},
		{"think", "[LEVEL]", "choose the thinking level for this session", in(choiceCommands.think)},
		{"auth", "[PROFILE|default]", "choose the provider credentials for this session", in(choiceCommands.auth)},
		{"send", "on|off|inherit", "choose whether answers are delivered to the channel", in(choiceCommands.send)},
		{"verbose", "on|off", "choose how much detail is shown", in(choiceCommands.verbose)},
		{"stop", "", "stop the running answer, as Ctrl-C does", (*chat).stop},
		{"quit", "", "end the chat, as Ctrl-D does; everything is saved", (*chat).quit},
	}
}

// in returns a command of a group of commands.
func in[G ~struct{ *chat }](run func(group G, ctx context.Context, rest string) error) func(*chat, context.Context, string) error {
	return func(c *chat, ctx context.Context, rest string) error { return run(G(struct{ *chat }{c}), ctx, rest) }
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
	hint := "/help lists the commands; to send a leading slash, type two"
	if near := typo.Nearest(name, commandNames(), 2); near != "" {
		hint = "did you mean /" + near + "? " + hint
	}
	return &Problem{Err: fmt.Errorf("unknown command /%s", prose.OneLine(name, 40)), Hint: hint, Kind: firn.ErrInvalid}
}

// IsCommand reports whether a text begins with the name of a command of the chat.
func IsCommand(text string) bool {
	typed, ok := strings.CutPrefix(text, "/")
	name, _, _ := strings.Cut(typed, " ")
	return ok && name != "" && (otherNames[name] != "" || slices.Contains(commandNames(), name))
}

// needs returns an error if a required argument is missing.
func needs(name, rest string) error {
	if rest != "" {
		return nil
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			return &Problem{Err: fmt.Errorf("/%s needs an argument: /%s %s", name, name, cmd.args), Kind: firn.ErrInvalid, Hint: "/" + name + ": " + cmd.help}
		}
	}
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
