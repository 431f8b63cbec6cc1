package chat

import (
	"context"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/render/prose"
)

// nativeFormat is firn's own.
const nativeFormat = "native"

// export writes this session to a file, in the format of another tool.
func (c *chat) export(ctx context.Context, rest string) error {
	if err := needs("export", rest); err != nil {
		return err
	}
	if c.o.Export == nil {
		return c.later("export a session", "firn cat "+prose.Short(c.id)+" prints it")
	}
	format, file, two := strings.Cut(rest, " ")
	if !two {
		format, file = nativeFormat, rest
	}
	return c.report(c.o.Export(ctx, c.id, format, strings.TrimSpace(file)))
}

// handoff writes this session into the folder of another tool.
func (c *chat) handoff(ctx context.Context, tool string) error {
	if err := needs("handoff", tool); err != nil {
		return err
	}
	if c.o.Handoff == nil {
		return c.later("hand a session to another tool", "session files of firn open in pi as they are: firn show "+prose.Short(c.id)+" tells which")
	}
	return c.report(c.o.Handoff(ctx, c.id, tool))
}

// report shows what came of something.
func (c *chat) report(text string, err error) error {
	if err == nil {
		c.screen.lines(prose.Lines(text))
	}
	return err
}

// later says that something cannot be done from here yet, and what can.
func (c *chat) later(what, hint string) error {
	return &Problem{Err: fmt.Errorf("%s: the chat cannot do that yet: %w", what, firn.ErrUnsupported), Hint: hint}
}
