package chat

import (
	"context"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/render/prose"
)

// formatCommands are the commands that pass the session on to other tools.
type formatCommands struct{ *chat }

// export writes this session to a file, as a page or in another tool's format. A single word
// is a format or a file.
func (c formatCommands) export(ctx context.Context, rest string) error {
	if err := needs("export", rest); err != nil {
		return err
	}
	if c.o.Export == nil {
		return c.unsupported("export a session", "run firn cat "+prose.Short(c.id))
	}
	format, file, two := strings.Cut(rest, " ")
	if !two {
		format, file = "", rest
	}
	return c.report(c.o.Export(ctx, c.id, format, strings.TrimSpace(file)))
}

// handoff writes this session into another tool's folder.
func (c formatCommands) handoff(ctx context.Context, tool string) error {
	if err := needs("handoff", tool); err != nil {
		return err
	}
	if c.o.Handoff == nil {
		return c.unsupported("hand off a session", "pi can open firn's session files; to find the file: firn show "+prose.Short(c.id))
	}
	return c.report(c.o.Handoff(ctx, c.id, tool))
}

// report prints the result of an export.
func (c formatCommands) report(text string, err error) error {
	if err == nil {
		c.screen.lines(prose.Lines(text))
	}
	return err
}

// unsupported returns an error for an operation that is not available here, with an
// alternative.
func (c formatCommands) unsupported(what, hint string) error {
	return &Problem{Err: failure.Of(firn.ErrUnsupported, "cannot %s from this chat", what), Hint: hint}
}
