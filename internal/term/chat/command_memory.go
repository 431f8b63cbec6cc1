package chat

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/internal/render/prose"
)

// remember notes something, as the agent itself would.
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
	c.screen.say("%s", prose.OneLine(said, 200))
	return nil
}

// noNotes says that there is no memory here.
func noNotes(doing string) error {
	return &Problem{Err: fmt.Errorf("%s: there are no notes here: %w", doing, firn.ErrUnsupported), Hint: "say it to the agent, which may have tools for it"}
}

// memory looks for words in what was noted, or lists the notes.
func (c *chat) memory(ctx context.Context, words string) error {
	if c.o.Notes == nil {
		return noNotes("look into the notes")
	}
	hits, err := c.o.Notes(ctx, c.name, words, 10)
	if err != nil {
		return err
	}
	if len(hits) == 0 && words == "" {
		c.screen.say("there are no notes yet; /remember makes one")
		return nil
	}
	if len(hits) == 0 {
		c.screen.say("nothing was found in the notes")
		return nil
	}
	c.screen.lines(hitLines(hits))
	return nil
}

// forget takes a note or a fact away.
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
	c.screen.say("%s", prose.OneLine(said, 200))
	return nil
}
