package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"firn"
	"firn/agent"
	"firn/provider"
	"firn/store"
	"firn/window"
)

// choose finds the session to talk in, and with it the agent.
func (c *chat) choose(ctx context.Context) error {
	switch {
	case c.o.Resume != "":
		info, err := find(ctx, c.st, c.o.Agent, c.o.Resume)
		if err != nil {
			return err
		}
		c.id, c.name = info.ID, cmp.Or(info.Agent, "main")
	case c.o.Continue:
		info, err := latest(ctx, c.st, cmp.Or(c.o.Agent, "main"))
		if err != nil {
			return err
		}
		c.id, c.name = info.ID, cmp.Or(info.Agent, "main")
	}
	if c.id != "" {
		c.key = mainKey(c.name)
		return nil
	}
	c.key = cmp.Or(c.o.Key, mainKey(cmp.Or(c.o.Agent, "main")))
	c.name = store.AgentOf(c.key)
	if c.o.Agent != "" && c.o.Agent != c.name {
		return fmt.Errorf("%w agent %q: the key %s belongs to agent %s", firn.ErrInvalid, clean(c.o.Agent), clean(c.key), clean(c.name))
	}
	id, err := store.LoadOrCreate(ctx, c.st, c.key)
	c.id = id
	return err
}

// mainKey is the key of an agent's main session.
func mainKey(agentName string) string { return "agent:" + agentName + ":main" }

// latest is the session of an agent in which something was said last.
func latest(ctx context.Context, st store.Store, agentName string) (store.Info, error) {
	for info, err := range st.List(ctx, store.Query{Agent: agentName, Limit: 1}) {
		return info, err
	}
	return store.Info{}, &Problem{
		Err:  fmt.Errorf("there is no session of agent %s to continue: %w", clean(agentName), firn.ErrNotFound),
		Hint: "firn chat begins one",
	}
}

// minPrefix is how many characters of an id are needed to name a session.
const minPrefix = 4

// find finds a session by its id, the beginning of it, its exact title or
// @key; an agent that is not empty must be its owner.
func find(ctx context.Context, st store.Store, agentName, name string) (store.Info, error) {
	if key, ok := strings.CutPrefix(name, "@"); ok {
		keyed, ok := store.As[store.Keyed](st)
		if !ok {
			return store.Info{}, fmt.Errorf("find the session of key %s: %w", clean(key), firn.ErrUnsupported)
		}
		id, err := keyed.Lookup(ctx, key)
		if err != nil {
			return store.Info{}, err
		}
		name = string(id)
	}
	var begin, titled []store.Info
	for _, q := range []store.Query{{Agent: agentName}, {Agent: agentName, Archived: true}} {
		for info, err := range st.List(ctx, q) {
			switch {
			case err != nil:
				return store.Info{}, err
			case string(info.ID) == name:
				return info, nil
			case len(name) >= minPrefix && strings.HasPrefix(string(info.ID), name):
				begin = append(begin, info)
			case info.Title == name:
				titled = append(titled, info)
			}
		}
	}
	found := begin
	if len(found) == 0 {
		found = titled
	}
	switch len(found) {
	case 0:
		return store.Info{}, &Problem{
			Err:  fmt.Errorf("session %q: %w", clean(name), firn.ErrNotFound),
			Hint: "an id, the first 4 or more characters of one, an exact title or @key is wanted; in the chat, /sessions lists them",
		}
	case 1:
		return found[0], nil
	}
	ids := make([]firn.ID, len(found))
	for i, info := range found {
		ids[i] = info.ID
	}
	return store.Info{}, &Ambiguous{Name: name, Sessions: ids}
}

// fresh begins a new session that goes on with what the present one has
// chosen, and points the key at it.
func (c *chat) fresh(ctx context.Context) error {
	path, err := c.path(ctx)
	if err != nil {
		return err
	}
	id := firn.NewID()
	entries := []firn.Entry{{Body: &firn.Header{Session: id, Agent: c.name, Key: c.key, CWD: c.o.Workspace}}}
	if chosen := path.Chosen; chosen.Model != "" {
		entries = append(entries, firn.NewEntry(&firn.ModelChange{Provider: chosen.Provider, Model: chosen.Model}))
	}
	if level := path.Chosen.ThinkingLevel; level != "" {
		entries = append(entries, firn.NewEntry(&firn.ThinkingChange{Level: level}))
	}
	if _, err := c.st.Append(ctx, id, store.Start, entries...); err != nil {
		return err
	}
	return c.move(ctx, id)
}

// move goes on in another session, and points the key at it.
func (c *chat) move(ctx context.Context, id firn.ID) error {
	if keyed, ok := store.As[store.Keyed](c.st); ok {
		if err := keyed.Bind(ctx, c.key, id); err != nil {
			return err
		}
	}
	c.id = id
	return nil
}

// path reads the live part of the session.
func (c *chat) path(ctx context.Context) (window.Path, error) {
	return window.Collect(c.st.ReadBack(ctx, c.id, store.End))
}

// model tells who answers in this session.
func (c *chat) model(ctx context.Context) (provider.Info, error) {
	path, err := c.path(ctx)
	if err != nil {
		return provider.Info{}, err
	}
	return c.modelOf(path)
}

// modelOf tells who answers on a path.
func (c *chat) modelOf(path window.Path) (provider.Info, error) {
	if path.Chosen.Model == "" {
		return c.agent.Model.Info(), nil
	}
	m, err := c.models.find(path.Chosen.Provider, path.Chosen.Model)
	if err != nil {
		return provider.Info{}, err
	}
	return m.Info(), nil
}

// modelName names who answers on a path, be it somebody who cannot be asked.
func (c *chat) modelName(path window.Path) string {
	if path.Chosen.Model != "" {
		return clean(path.Chosen.Provider + "/" + path.Chosen.Model)
	}
	info := c.agent.Model.Info()
	return clean(info.Provider + "/" + info.Name)
}

// greet says where we are: which session, and how the last turn ended.
func (c *chat) greet(ctx context.Context) error {
	c.tellReports()
	path, err := c.path(ctx)
	if err != nil {
		return err
	}
	count, err := agent.Count(ctx, c.st, c.id)
	if err != nil {
		return err
	}
	title, err := c.title(ctx)
	if err != nil {
		return err
	}
	words := []string{"session " + short(c.id)}
	if title != "" {
		words[0] += " “" + clean(title) + "”"
	}
	words = append(words, plural(count.Turns, "turn"), c.modelName(path), "kept in "+c.o.Home)
	if count.Turns == 0 && c.o.Terminal.In {
		words = append(words, "/help tells what you can type")
	}
	c.screen.say("%s", strings.Join(words, " · "))
	c.screen.lines(exchange(path))
	if state := unfinished(path); state != "" {
		c.screen.say("%s", state)
	}
	return nil
}

// title is the session's title as a list tells it.
func (c *chat) title(ctx context.Context) (string, error) {
	if st, ok := c.st.(interface {
		Inspect(ctx context.Context, id firn.ID) (store.Info, error)
	}); ok {
		info, err := st.Inspect(ctx, c.id)
		return info.Title, err
	}
	for info, err := range c.st.List(ctx, store.Query{Agent: c.name}) {
		if err != nil || info.ID == c.id {
			return info.Title, err
		}
	}
	return "", nil
}

// unfinished says in a sentence how the last turn ended, if it did not end
// well.
func unfinished(path window.Path) string {
	if agent.CutOff(path) != "" {
		return "the last answer was interrupted; it is kept. /retry asks again"
	}
	for _, e := range slices.Backward(path.Entries) {
		m, ok := e.Body.(*firn.Message)
		if !ok {
			continue
		}
		switch {
		case m.Role == firn.RoleUser, m.Role == firn.RoleToolResult:
			return "the last turn was interrupted before it was answered. /retry answers it"
		case m.StopReason == firn.StopAborted:
			return "the last answer was interrupted; it is kept. /retry asks again"
		case m.StopReason == firn.StopError:
			return "the last turn failed: " + oneLine(m.Error, 200) + ". /retry asks again"
		}
		return ""
	}
	return ""
}

// errNoMessage says that there is nothing to point at.
var errNoMessage = errors.New("nothing was said here yet")
