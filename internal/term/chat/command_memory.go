package chat

import (
	"context"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/render/prose"
)

// memoryCommands are the commands of notes.
type memoryCommands struct{ *chat }

// remember adds a note, as the agent itself would.
func (c memoryCommands) remember(ctx context.Context, text string) error {
	if err := needs("remember", text); err != nil {
		return err
	}
	if c.o.Remember == nil {
		return noNotes("save a note")
	}
	reply, err := c.o.Remember(ctx, c.name, text)
	if err != nil {
		return err
	}
	c.screen.printf("%s", prose.OneLine(reply, 200))
	return nil
}

// noNotes returns the error for a chat without memory.
func noNotes(doing string) error {
	return &Problem{Err: failure.Of(firn.ErrUnsupported, "cannot %s: this chat has no memory", doing), Hint: "ask the agent; it may have tools for it"}
}

// memory searches the notes, or lists them.
func (c memoryCommands) memory(ctx context.Context, words string) error {
	if c.o.Notes == nil {
		return noNotes("search the notes")
	}
	hits, err := c.o.Notes(ctx, c.name, words, 10)
	if err != nil {
		return err
	}
	if len(hits) == 0 && words == "" {
		c.screen.printf("no notes yet; to add one: /remember TEXT")
		return nil
	}
	if len(hits) == 0 {
		c.screen.printf("no matching notes")
		return nil
	}
	c.screen.lines(hitLines(hits))
	return nil
}

// forget removes a note or a fact.
func (c memoryCommands) forget(ctx context.Context, what string) error {
	if err := needs("forget", what); err != nil {
		return err
	}
	if c.o.Forget == nil {
		return noNotes("remove a note")
	}
	reply, err := c.o.Forget(ctx, c.name, what)
	if err != nil {
		return err
	}
	c.screen.printf("%s", prose.OneLine(reply, 200))
	return nil
}
