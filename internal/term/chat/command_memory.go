package chat

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/internal/render/prose"
)

// remember adds a note, as the agent itself would.
func (c *chat) remember(ctx context.Context, text string) error {
	if err := needs("remember", text); err != nil {
		return err
	}
	if c.o.Remember == nil {
		return noNotes("note something")
	}
	said, err := c.o.Remember(ctx, c.name, text)
	if err != nil {
		return err
	}
	c.screen.printf("%s", prose.OneLine(said, 200))
	return nil
}

// noNotes returns the error for a chat without memory.
func noNotes(doing string) error {
	return &Problem{Err: fmt.Errorf("%s: there are no notes here: %w", doing, firn.ErrUnsupported), Hint: "say it to the agent, which may have tools for it"}
}

// memory searches the notes, or lists them.
func (c *chat) memory(ctx context.Context, words string) error {
	if c.o.Notes == nil {
		return noNotes("look into the notes")
	}
	hits, err := c.o.Notes(ctx, c.name, words, 10)
	if err != nil {
		return err
	}
	if len(hits) == 0 && words == "" {
		c.screen.printf("there are no notes yet; /remember makes one")
		return nil
	}
	if len(hits) == 0 {
		c.screen.printf("nothing was found in the notes")
		return nil
	}
	c.screen.lines(hitLines(hits))
	return nil
}

// forget removes a note or a fact.
func (c *chat) forget(ctx context.Context, what string) error {
	if err := needs("forget", what); err != nil {
		return err
	}
	if c.o.Forget == nil {
		return noNotes("forget a note")
	}
	said, err := c.o.Forget(ctx, c.name, what)
	if err != nil {
		return err
	}
	c.screen.printf("%s", prose.OneLine(said, 200))
	return nil
}
