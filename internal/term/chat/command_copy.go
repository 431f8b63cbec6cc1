package chat

import (
	"context"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// maxCopied is the size of an answer that is copied. Terminals ignore longer sequences; most
// take about 100 kB, as base64.
const maxCopied = 74 << 10

// copy puts the text of the last answer on the clipboard of the terminal, as it was written:
// with its Markdown and without line breaks of the screen.
func (c showCommands) copy(ctx context.Context, _ string) error {
	if c.term == nil {
		return &Problem{Err: failure.Of(firn.ErrUnsupported, "there is no terminal whose clipboard could be used"), Hint: "firn cat prints the session"}
	}
	text, err := c.lastAnswer(ctx)
	if err != nil {
		return err
	}
	if text == "" {
		c.screen.printf("there is no answer to copy")
		return nil
	}
	if len(text) > maxCopied {
		return &Problem{Err: failure.Of(firn.ErrTooLarge, "the answer is %s; terminals copy at most %s", prose.Size(int64(len(text))), prose.Size(maxCopied)), Hint: "/export markdown FILE"}
	}
	c.term.Copy(text)
	c.screen.printf("copied %s; if it does not paste, allow OSC 52 in the terminal", prose.Plural(len([]rune(text)), "character"))
	return nil
}

// lastAnswer returns the text of the latest answer that has one.
func (c showCommands) lastAnswer(ctx context.Context) (string, error) {
	for e, err := range c.client.Entries(ctx, c.id, client.EntryQuery{View: wire.ViewBranch, Back: true}) {
		if err != nil {
			return "", err
		}
		l, ok := prose.ReadLine(e.Line)
		if !ok || e.Out == outHidden || l.Message == nil || l.Message.Role != string(firn.RoleAssistant) {
			continue
		}
		if text := strings.TrimSpace(l.Message.Text()); text != "" {
			return text, nil
		}
	}
	return "", nil
}
