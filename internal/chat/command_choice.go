package chat

import (
	"context"
	"fmt"
	"strings"

	"firn"
	"firn/internal/prose"
	"firn/wire"
)

// patch changes the session.
func (c *chat) patch(ctx context.Context, p wire.Patch) error {
	_, err := c.client.Patch(ctx, c.id, p)
	return err
}

// chooseModel chooses who answers in this session from now on.
func (c *chat) chooseModel(ctx context.Context, name string) error {
	if name == "" {
		s, err := c.look(ctx)
		if err != nil {
			return err
		}
		c.screen.say("%s answers; the providers are %s", modelName(s), strings.Join(c.o.Providers, ", "))
		return nil
	}
	if err := c.patch(ctx, wire.Patch{Model: &name}); err != nil {
		return err
	}
	c.screen.say("%s answers in this session from now on", prose.Clean(name))
	return nil
}

// think chooses how hard the model thinks in this session from now on.
func (c *chat) think(ctx context.Context, level string) error {
	if level == "" {
		s, err := c.look(ctx)
		if err != nil {
			return err
		}
		c.screen.say("thinking is %s; the levels are %s", thinkingOf(s), strings.Join(levels, " "))
		return nil
	}
	if err := CheckThinking(level); err != nil {
		return err
	}
	if err := c.patch(ctx, wire.Patch{Thinking: &level}); err != nil {
		return err
	}
	c.screen.say("thinking is %s in this session from now on", level)
	return nil
}

// thinkingOf is how hard the model thinks in a session.
func thinkingOf(s wire.Session) string {
	if s.State == nil || s.State.Thinking == "" {
		return "off"
	}
	return prose.Clean(s.State.Thinking)
}

func (c *chat) verbose(ctx context.Context, on string) error {
	if err := needs("verbose", on); err != nil {
		return err
	}
	if err := c.patch(ctx, wire.Patch{Verbose: &on}); err != nil {
		return err
	}
	c.wordy = on == "on"
	c.screen.say("verbose is %s in this session from now on", on)
	return nil
}

// sends are the words for whether answers may be sent.
var sends = map[string]string{"on": "allow", "off": "deny", "inherit": "inherit"}

// send chooses whether answers of this session may be sent to where its
// messages come from.
func (c *chat) send(ctx context.Context, on string) error {
	if err := needs("send", on); err != nil {
		return err
	}
	policy, ok := sends[on]
	if !ok {
		return fmt.Errorf("%w send policy %q: it is on, off or inherit", firn.ErrInvalid, prose.OneLine(on, 20))
	}
	if err := c.patch(ctx, wire.Patch{Send: &policy}); err != nil {
		return err
	}
	c.screen.say("sending is %s in this session from now on", on)
	return nil
}
