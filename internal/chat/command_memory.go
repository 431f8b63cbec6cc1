package chat

import (
	"context"
	"fmt"

	"firn"
	"firn/internal/prose"
)

// remember notes something, as the agent itself would.
func (c *chat) remember(ctx context.Context, text string) error {
	if err := needs("remember", text); err != nil {
		return err
	}
	if c.o.Remember == nil {
		return &Problem{Err: fmt.Errorf("note something: the gateway is in another process: %w", firn.ErrUnsupported), Hint: "say it to the agent, which can take notes itself"}
	}
	said, err := c.o.Remember(ctx, c.name, text)
	if err != nil {
		return err
	}
	c.screen.say("%s", prose.OneLine(said, 200))
	return nil
}

// memory looks for words in what was noted.
func (c *chat) memory(ctx context.Context, words string) error {
	if words == "" {
		return c.later("list the notes", "/memory WORDS looks for some")
	}
	if c.o.Notes == nil {
		return &Problem{Err: fmt.Errorf("look into the notes: the gateway is in another process: %w", firn.ErrUnsupported), Hint: "/search looks into the latest sessions; the agent can look into its notes itself"}
	}
	hits, err := c.o.Notes(ctx, c.name, words, 10)
	if err != nil {
		return err
	}
	if len(hits) == 0 {
		c.screen.say("nothing was found in the notes")
		return nil
	}
	c.screen.lines(hitLines(hits))
	return nil
}

// forget cannot be done yet.
func (c *chat) forget(context.Context, string) error {
	return c.later("forget a note", "notes are Markdown files in agents/"+prose.Clean(c.name)+"/workspace of the home, and can be edited there")
}
