package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/local"
	"firn.dev/wire"
)

// execute runs a command that the user typed after an exclamation mark, and appends it to
// the session with its output, which the model sees with the next message. With two marks
// the model does not see it.
func (c typing) execute(ctx context.Context, typed string) error {
	command, hidden := strings.CutPrefix(typed, "!")
	command = strings.TrimSpace(command)
	if command == "" {
		return &Problem{Err: fmt.Errorf("! needs a command"), Kind: firn.ErrInvalid, Hint: "!ls runs a command and shows its output to the model; !!ls does not show it"}
	}
	return c.runInterruptible(ctx, func(ctx context.Context) error {
		const call = "!"
		what := prose.OneLine(command, 200)
		c.screen.callBegins(call, what)
		done, err := c.o.Local.Run(ctx, command, func(text string) { c.screen.callOutput(call, text) })
		c.screen.callEnds(call, what, executedText(done, err))
		if err != nil {
			return err
		}
		c.showOutput(what, done)
		// What has run is recorded, even if it was stopped.
		return c.appendExecuted(context.WithoutCancel(ctx), command, done, hidden)
	})
}

// executedText describes how a command ended.
func executedText(done local.Executed, err error) string {
	switch {
	case err != nil:
		return "failed"
	case done.Cancelled:
		return "canceled"
	case done.ExitCode == nil:
		return "killed"
	case *done.ExitCode != 0:
		return fmt.Sprintf("exit %d", *done.ExitCode)
	}
	return "ok"
}

// shownOutput is the number of lines shown of a command's output.
const shownOutput = 20

// showOutput shows the output of a command, folded if it is long.
func (c typing) showOutput(what string, done local.Executed) {
	lines := outputLines(done.Output)
	if done.Truncated {
		lines = append([]string{"    … (the beginning is not kept)"}, lines...)
	}
	if f, ok := c.screen.(folder); ok {
		f.fold(what, lines, shownOutput)
		return
	}
	c.screen.lines(lines)
}

// appendExecuted appends a command to the session, as an entry of the role bashExecution.
func (c typing) appendExecuted(ctx context.Context, command string, done local.Executed, hidden bool) error {
	if err := c.ensure(ctx); err != nil {
		return err
	}
	now := c.now()
	type message struct {
		Role      firn.Role `json:"role"`
		Command   string    `json:"command"`
		Output    string    `json:"output"`
		ExitCode  *int      `json:"exitCode,omitempty"`
		Cancelled bool      `json:"cancelled"`
		Truncated bool      `json:"truncated"`
		Timestamp int64     `json:"timestamp"`
		Hidden    bool      `json:"excludeFromContext,omitempty"`
	}
	entry, err := json.Marshal(struct {
		Type    string       `json:"type"`
		ID      firn.EntryID `json:"id"`
		Message message      `json:"message"`
	}{"message", firn.NewEntryID(), message{firn.RoleShell, command, done.Output, done.ExitCode, done.Cancelled, done.Truncated, now.UnixMilli(), hidden}})
	if err != nil {
		return err
	}
	_, err = c.client.Append(ctx, c.id, client.Any, wire.NewEntries{Entries: []json.RawMessage{entry}})
	return err
}
