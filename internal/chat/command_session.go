package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"firn"
	"firn/store"
	"firn/window"
)

func (c *chat) newSession(ctx context.Context, _ string) error {
	old := c.id
	if err := c.fresh(ctx); err != nil {
		return err
	}
	c.screen.say("new session %s; /resume %s goes back", short(c.id), short(old))
	return nil
}

// resume goes on with another session of the same agent.
func (c *chat) resume(ctx context.Context, name string) error {
	if err := needs("resume", name); err != nil {
		return err
	}
	info, err := find(ctx, c.st, c.name, name)
	if err != nil {
		return err
	}
	if err := c.move(ctx, info.ID); err != nil {
		return err
	}
	return c.greet(ctx)
}

// listed is how many sessions are listed.
const listed = 20

func (c *chat) sessions(ctx context.Context, _ string) error {
	var infos []store.Info
	more := false
	for info, err := range c.st.List(ctx, store.Query{Agent: c.name, Limit: listed + 1}) {
		if err != nil {
			return err
		}
		if more = len(infos) == listed; !more {
			infos = append(infos, info)
		}
	}
	rows := [][]string{{"  ID", "TITLE", "KEY", "SIZE", "UPDATED"}}
	for _, info := range infos {
		mark := "  "
		if info.ID == c.id {
			mark = "● "
		}
		title := info.Title
		if title == "" {
			title = info.Prompt
		}
		if info.Fault != "" {
			title = "cannot be read: " + info.Fault
		}
		rows = append(rows, []string{mark + unique(info.ID, infos), oneLine(title, 48), oneLine(info.Key, 32), size(info.Bytes), ago(info.Updated, c.now())})
	}
	lines := table(rows)
	if more {
		lines = append(lines, fmt.Sprintf("  the latest %d; there are more", listed))
	}
	c.screen.lines(lines)
	return nil
}

// unique is the beginning of an id that no other of them has.
func unique(id firn.ID, among []store.Info) string {
	n := shortLen
	for _, other := range among {
		for n < len(id) && other.ID != id && strings.HasPrefix(string(other.ID), string(id)[:n]) {
			n++
		}
	}
	return firn.CutText(string(id), n)
}

func (c *chat) rename(ctx context.Context, name string) error {
	if err := needs("rename", name); err != nil {
		return err
	}
	title := firn.NewEntry(&firn.Title{Name: oneLine(name, 200), Source: firn.SourceUser})
	if _, err := c.st.Append(ctx, c.id, store.Any, title); err != nil {
		return err
	}
	c.screen.say("this session is “%s” now", oneLine(name, 200))
	return nil
}

// pinName is the label of what is kept in every summary.
const pinName = "pin"

func (c *chat) label(ctx context.Context, rest string) error {
	if err := needs("label", rest); err != nil {
		return err
	}
	name, ref, _ := strings.Cut(rest, " ")
	return c.mark(ctx, oneLine(name, 60), strings.TrimSpace(ref), func(*firn.Message) bool { return true })
}

func (c *chat) pin(ctx context.Context, ref string) error {
	return c.mark(ctx, pinName, ref, func(m *firn.Message) bool { return m.Role == firn.RoleUser })
}

// mark gives a label to an entry that is named, or else to the last message
// for which ok holds.
func (c *chat) mark(ctx context.Context, name, ref string, ok func(*firn.Message) bool) error {
	target, err := c.pointed(ctx, ref, ok)
	if err != nil {
		return err
	}
	if _, err := c.st.Append(ctx, c.id, store.Any, firn.NewEntry(&firn.Label{Target: target.ID, Name: name})); err != nil {
		return err
	}
	c.screen.say("%s is on %s", name, gist(target, 60))
	return nil
}

// pointed finds an entry that is named, or else the last message for which ok
// holds.
func (c *chat) pointed(ctx context.Context, ref string, ok func(*firn.Message) bool) (firn.Entry, error) {
	if ref != "" {
		return c.entry(ctx, ref)
	}
	path, err := c.path(ctx)
	if err != nil {
		return firn.Entry{}, err
	}
	for _, e := range slices.Backward(path.Entries) {
		if m, is := e.Body.(*firn.Message); is && ok(m) {
			return e, nil
		}
	}
	return firn.Entry{}, errNoMessage
}

// entry finds an entry of the session by its label, its id or the beginning of
// that. Of several with a label the one that got it last counts.
func (c *chat) entry(ctx context.Context, ref string) (firn.Entry, error) {
	var found []firn.Entry
	var target firn.EntryID
	renamed := make(map[firn.EntryID]bool)
	for rec, err := range c.st.ReadBack(ctx, c.id, store.End) {
		if err != nil {
			return firn.Entry{}, err
		}
		g := rec.Glance
		if rec.Gap != nil || g.ID == "" {
			continue
		}
		matches := g.ID == target || string(g.ID) == ref || target == "" && len(ref) >= minPrefix && strings.HasPrefix(string(g.ID), ref)
		if !matches && g.Kind != firn.KindLabel {
			continue
		}
		e, err := rec.Entry()
		if err != nil {
			continue // a gap; it cannot be meant
		}
		if g.ID == target || string(g.ID) == ref {
			return e, nil
		}
		if label, ok := e.Body.(*firn.Label); ok && !renamed[label.Target] {
			renamed[label.Target] = true
			if label.Name == ref && target == "" {
				target = label.Target
			}
		}
		if matches {
			found = append(found, e)
		}
	}
	switch {
	case target == "" && len(found) == 1:
		return found[0], nil
	case target == "" && len(found) > 1:
		return firn.Entry{}, fmt.Errorf("%s is the beginning of %d entries: %w", clean(ref), len(found), firn.ErrInvalid)
	}
	return firn.Entry{}, fmt.Errorf("entry %s: %w", oneLine(ref, 40), firn.ErrNotFound)
}

// exchange shows in short what was said last on a path: the last thing that
// the user said and the answer to it.
func exchange(path window.Path) []string {
	var said, answered string
	for _, e := range slices.Backward(path.Entries) {
		m, ok := e.Body.(*firn.Message)
		if !ok {
			continue
		}
		if m.Role == firn.RoleAssistant && answered == "" {
			answered = oneLine(m.Text(), 200)
		}
		if m.Role == firn.RoleUser {
			said = oneLine(m.Text(), 200)
			break
		}
	}
	var lines []string
	if said != "" {
		lines = append(lines, "  you: "+said)
	}
	if answered != "" {
		lines = append(lines, "  "+"agent: "+answered)
	}
	return lines
}
