package chat

import (
	"context"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// The commands that choose a session, or change what is kept of one.

// newSession begins another session; the one before stays as it is.
func (c *chat) newSession(ctx context.Context, _ string) error {
	old := c.id
	if err := c.fresh(ctx); err != nil {
		return err
	}
	c.screen.say("new session %s; /resume %s goes back", prose.Short(c.id), prose.Short(old))
	return nil
}

// resume goes on with another session of the same agent: the one that is named,
// or that is chosen from a list.
func (c *chat) resume(ctx context.Context, name string) error {
	if name == "" && c.term != nil {
		return c.sessions(ctx, "")
	}
	if err := needs("resume", name); err != nil {
		return err
	}
	s, err := c.find(ctx, c.name, name)
	if err != nil {
		return err
	}
	return c.goOn(ctx, s.ID)
}

// goOn goes on with another session.
func (c *chat) goOn(ctx context.Context, id firn.ID) error {
	c.id = id
	if err := c.point(ctx); err != nil {
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
	c.screen.say("this session is “%s” now", title)
	return nil
}

// remove hides this session, or another one; what was said in it stays.
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
	c.screen.say("hidden %s · %s removed; /restore %s undoes it", prose.Short(id), prose.Count(int(done.BytesRemoved), "byte", "bytes"), prose.Short(id))
	if id == c.id {
		return c.newSession(ctx, "")
	}
	return nil
}

// restore brings a session back that was hidden.
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
	c.screen.say("restored %s; /resume %s goes on with it", prose.Short(s.ID), prose.Short(s.ID))
	return nil
}

// pinName is the label of what is kept in every summary.
const pinName = "pin"

func (c *chat) label(ctx context.Context, rest string) error {
	if err := needs("label", rest); err != nil {
		return err
	}
	name, ref, _ := strings.Cut(rest, " ")
	return c.mark(ctx, prose.OneLine(name, 60), strings.TrimSpace(ref), func(*prose.Said) bool { return true })
}

func (c *chat) pin(ctx context.Context, ref string) error {
	return c.mark(ctx, pinName, ref, func(m *prose.Said) bool { return m.Role == "user" })
}

// mark gives a label to an entry that is named, or else to the last message
// for which ok holds.
func (c *chat) mark(ctx context.Context, name, ref string, ok func(*prose.Said) bool) error {
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
	c.screen.say("%s is on %s", name, what)
	return nil
}

// last is the last message of the branch for which ok holds.
func (c *chat) last(ctx context.Context, ok func(*prose.Said) bool) (prose.Line, error) {
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
