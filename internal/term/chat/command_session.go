package chat

import (
	"context"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// The commands that choose a session or change its state.

// newSession switches to a new session, which the next message creates. The previous one
// stays as it is.
func (c *chat) newSession(ctx context.Context, _ string) error {
	if c.planned != nil {
		c.screen.printf("this session is already new")
		return nil
	}
	old := c.id
	if err := planNext(ctx, c, false); err != nil {
		return err
	}
	c.screen.printf("new session; /resume %s goes back", prose.Short(old))
	return nil
}

// resume switches to another session of the same agent: the named one, or one chosen from a
// list.
func (c *chat) resume(ctx context.Context, name string) error {
	if name == "" && c.term != nil {
		return listCommands{c}.sessions(ctx, "")
	}
	if err := needs("resume", name); err != nil {
		return err
	}
	s, err := c.find(ctx, c.name, name)
	if err != nil {
		return err
	}
	return c.switchTo(ctx, s.ID)
}

// switchTo makes another session the current one.
func (c *chat) switchTo(ctx context.Context, id firn.ID) error {
	c.id, c.planned = id, nil
	if err := c.pointKey(ctx); err != nil {
		return err
	}
	return c.greet(ctx)
}

func (c *chat) rename(ctx context.Context, name string) error {
	if err := needs("rename", name); err != nil {
		return err
	}
	title := prose.OneLine(name, 200)
	if err := c.patch(ctx, wire.Patch{Title: &title}); err != nil {
		return err
	}
	c.screen.printf("renamed to “%s”", title)
	return nil
}

// remove hides this session or another one. Its log is kept.
func (c *chat) remove(ctx context.Context, name string) error {
	id := c.id
	if name != "" {
		s, err := c.find(ctx, c.name, name)
		if err != nil {
			return err
		}
		id = s.ID
	}
	done, err := c.client.Remove(ctx, id, wire.Remove{Reason: "/delete"})
	if err != nil {
		return err
	}
	c.screen.printf("hidden %s · %s removed; undo: /restore %s", prose.Short(id), prose.Count(int(done.BytesRemoved), "byte", "bytes"), prose.Short(id))
	if id == c.id {
		return c.newSession(ctx, "")
	}
	return nil
}

// restore brings back a hidden session.
func (c *chat) restore(ctx context.Context, name string) error {
	if err := needs("restore", name); err != nil {
		return err
	}
	s, err := c.find(ctx, c.name, name)
	if err != nil {
		return err
	}
	if s, err = c.client.Restore(ctx, s.ID); err != nil {
		return err
	}
	c.screen.printf("restored %s; to resume it: /resume %s", prose.Short(s.ID), prose.Short(s.ID))
	return nil
}

// pinName is the label that /pin sets. Summaries keep the entries that have it.
const pinName = "pin"

func (c *chat) label(ctx context.Context, rest string) error {
	if err := needs("label", rest); err != nil {
		return err
	}
	name, ref, _ := strings.Cut(rest, " ")
	return c.mark(ctx, prose.OneLine(name, 60), strings.TrimSpace(ref), func(*prose.Message) bool { return true })
}

func (c *chat) pin(ctx context.Context, ref string) error {
	return c.mark(ctx, pinName, ref, func(m *prose.Message) bool { return m.Role == "user" })
}

// mark labels the named entry, or else the last message for which ok returns true.
func (c *chat) mark(ctx context.Context, name, ref string, ok func(*prose.Message) bool) error {
	what := prose.Clean(ref)
	if ref == "" {
		l, err := c.last(ctx, ok)
		if err != nil {
			return err
		}
		ref, what = string(l.ID), gist(l, 60)
	}
	if _, err := c.client.Label(ctx, c.id, wire.Label{Entry: ref, Name: name}); err != nil {
		return err
	}
	if name == pinName {
		c.screen.printf("pinned: %s", what)
	} else {
		c.screen.printf("labeled “%s”: %s", name, what)
	}
	return nil
}

// last returns the last message of the branch for which ok returns true.
func (c *chat) last(ctx context.Context, ok func(*prose.Message) bool) (prose.Line, error) {
	for e, err := range c.client.Entries(ctx, c.id, client.EntryQuery{View: wire.ViewBranch, Back: true}) {
		if err != nil {
			return prose.Line{}, err
		}
		if l, is := prose.ReadLine(e.Line); is && l.Message != nil && e.Out != outHidden && ok(l.Message) {
			return l, nil
		}
	}
	return prose.Line{}, errNoMessage
}
