package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/sentfiles"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
	"firn.dev/internal/term/local"
	"firn.dev/wire"
)

// keyHelp lists the keys of the input line, for /help.
var keyHelp = []string{
	"  Enter sends; Ctrl-J, Shift-Enter, Alt-Enter or a trailing \\ starts a new line.",
	"  / opens the menu of commands, @ completes files and sends them.",
	"  !COMMAND runs a command and shows it to the model; !! does not show it.",
	"  Ctrl-G edits the message in $VISUAL or $EDITOR; Ctrl-V pastes an image.",
	"  Ctrl-O shows folded output. Ctrl-R searches the history.",
	"  Esc or Ctrl-C stops an answer; Esc Esc at an empty prompt rewinds.",
	"  exit, quit or Ctrl-D ends the chat. Anything else goes to the agent.",
}

// typing is the part of a chat that handles the input line.
type typing struct{ *chat }

// leaves reports whether a line ends the chat without being a command.
func leaves(text string) bool { return text == "exit" || text == "quit" }

// lineEvent handles an event of the input line that is not a line or an interrupt. It
// returns false for other events.
func (c typing) lineEvent(ctx context.Context, e line.Event) bool {
	switch e.Kind {
	case line.OpenEditor:
		c.openEditor(ctx)
	case line.PasteImage:
		c.pasteImage(ctx)
	default:
		return false
	}
	return true
}

// escapeIdle handles Escape while nothing runs. It returns true if the user wants to rewind.
func (c typing) escapeIdle(e line.Event) bool {
	if e.Text != "" || c.planned != nil {
		return false
	}
	if e.Again && c.escaped {
		c.escaped = false
		return true
	}
	c.escaped = true
	c.term.Hint("Esc again goes back to an earlier message")
	return false
}

// openEditor edits the input line in the user's editor.
func (c typing) openEditor(ctx context.Context) {
	if c.term == nil {
		return
	}
	in, ok1 := c.o.Stdin.(*os.File)
	out, ok2 := c.o.Stderr.(*os.File)
	if !ok1 || !ok2 {
		c.term.Hint("an editor needs a terminal")
		return
	}
	if !c.o.Local.HasEditor() {
		c.term.Hint(local.ErrNoEditor.Error() + "; set one to edit messages with it")
		return
	}
	err := c.term.Edit(func(text string) (string, error) { return c.o.Local.Edit(ctx, text, in, out) })
	for drained := false; !drained; { // Ctrl-C was for the editor
		select {
		case <-c.o.Presses:
		default:
			drained = true
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		c.term.Hint(prose.OneLine(err.Error(), 200))
	}
}

// rewindRows is the number of messages in the picker.
const rewindRows = 100

// pickRewind lets the user choose a message to go back to, and whether files are restored
// too. The text of the message is put into the input line.
func (c branchCommands) pickRewind(ctx context.Context) error {
	messages, err := c.userMessages(ctx)
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		return errNoMessage
	}
	rows := make([]string, len(messages))
	for i, l := range messages {
		rows[i] = prose.OneLine(sentfiles.Remove(l.Message.Text()), 200)
	}
	picked := c.term.Pick(ctx, line.Choice{Title: "go back to before", Rows: rows})
	if picked < 0 {
		return ctx.Err()
	}
	how, err := c.pickWhat(ctx)
	if err != nil || how < 0 {
		return err
	}
	flags := []string{"", " --files", " --files-only"}[how]
	if err := c.rewind(ctx, fmt.Sprint(picked+1)+flags); err != nil {
		return err
	}
	if how < 2 {
		c.term.Fill(sentfiles.Remove(messages[picked].Message.Text()))
	}
	return nil
}

// pickWhat asks what to rewind, if the session has changed files. It returns -1 if nothing
// was chosen.
func (c branchCommands) pickWhat(ctx context.Context) (int, error) {
	steps, err := c.client.Files.Changes(ctx, c.id, false)
	if err != nil || len(steps) == 0 {
		return 0, ctx.Err() // without a record of changes only the conversation can be rewound
	}
	return c.term.Pick(ctx, line.Choice{Title: "rewind", Rows: []string{"the conversation", "the conversation and files", "files only"}}), ctx.Err()
}

// userMessages returns the user's messages on the branch, newest first.
func (c branchCommands) userMessages(ctx context.Context) ([]prose.Line, error) {
	var messages []prose.Line
	for e, err := range c.client.Entries(ctx, c.id, client.EntryQuery{View: wire.ViewBranch, Back: true}) {
		if err != nil {
			return nil, err
		}
		if l, ok := prose.ReadLine(e.Line); ok && l.Message != nil && l.Message.Role == string(firn.RoleUser) {
			messages = append(messages, l)
		}
		if len(messages) == rewindRows {
			break
		}
	}
	return messages, nil
}

// handleTyped handles a typed line that is not a command or a message. It returns false for
// others.
func (c typing) handleTyped(ctx context.Context, text string) (bool, error) {
	if leaves(text) {
		c.over = true
		return true, nil
	}
	if rest, ok := strings.CutPrefix(text, "!"); ok && c.o.Terminal.In {
		return true, c.execute(ctx, rest)
	}
	return false, nil
}
