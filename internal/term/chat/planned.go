package chat

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/wire"
)

// planned is the session of a chat without messages. It does not exist: the
// first message creates it, so that a chat that ends before leaves nothing.
type planned struct {
	// session is what is known of it: agent, key, model and settings, but no ID.
	session wire.Session
	// previous is the session that /new ended; empty if there is none.
	previous firn.ID
	// keyed is true if the key points at the previous session already.
	keyed bool
	// defaults is true if the settings of the previous session do not apply.
	defaults bool
}

// planFirst plans a session for the key of a chat, which has none, or without a key. If the
// agent is unknown, it creates the session, so that the gateway explains what is wrong. If
// previous is not empty, the session replaces that one, without its settings.
func planFirst(ctx context.Context, c *chat, name string, previous firn.ID) error {
	agents, err := c.client.Agents(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	i := slices.IndexFunc(agents, func(a wire.Agent) bool { return a.ID == name })
	if err != nil || i < 0 || c.o.Agent != "" && c.o.Agent != name {
		c.planned = &planned{previous: previous, keyed: true, defaults: true}
		return c.ensure(ctx)
	}
	c.planned, c.name = &planned{previous: previous, keyed: true, defaults: true, session: wire.Session{Agent: name, Key: c.key, CWD: c.o.Workspace, Empty: true, State: &wire.State{
		Provider: agents[i].Provider, Model: agents[i].Model, Window: wire.Usage{Window: agents[i].Window, Assumed: agents[i].Assumed},
	}}}, name
	if provider, model, ok := strings.Cut(c.o.NewModel, "/"); ok {
		c.planned.session.State.Provider, c.planned.session.State.Model = provider, model
	}
	return nil
}

// agentIn returns the agent of a key.
func agentIn(key string) string {
	rest, ok := strings.CutPrefix(key, "agent:")
	name, _, _ := strings.Cut(rest, ":")
	if !ok {
		return "main"
	}
	return cmp.Or(name, "main")
}

// planNext plans a session that continues with the settings of a chat's current one. keyed
// says whether the key points at that one.
func planNext(ctx context.Context, c *chat, keyed bool) error {
	s, err := c.fetchSession(ctx)
	if err != nil {
		return err
	}
	next := wire.Session{Agent: s.Agent, Key: c.key, CWD: c.o.Workspace, Empty: true, State: &wire.State{}}
	if st := s.State; st != nil {
		*next.State = wire.State{
			Provider: st.Provider, Model: st.Model, Thinking: st.Thinking, Verbose: st.Verbose, Send: st.Send, Auth: st.Auth,
			Window: wire.Usage{Window: st.Window.Window, Assumed: st.Window.Assumed},
		}
	}
	c.planned, c.id = &planned{session: next, previous: c.id, keyed: keyed}, ""
	return nil
}

// ensure creates the planned session, if there is one. A session that /new ended gets the
// key first, because the new one takes over the settings of the key's session.
func (c *chat) ensure(ctx context.Context) error {
	p := c.planned
	if p == nil {
		return opener{c}.share(ctx)
	}
	n := wire.NewSession{Key: c.key, Agent: c.o.Agent, CWD: c.o.Workspace}
	if p.previous != "" && !p.keyed {
		if _, err := c.client.Keys.Point(ctx, c.key, p.previous); err != nil {
			return err
		}
	}
	if p.previous != "" {
		n.Agent, n.Fresh, n.Defaults = "", true, p.defaults
	}
	s, err := c.client.NewSession(ctx, n)
	if err != nil {
		return err
	}
	c.id, c.planned = s.ID, nil
	c.name, c.key = cmp.Or(s.Agent, "main"), cmp.Or(s.Key, c.key)
	if c.o.NewModel != "" && (p.previous == "" || p.defaults) && s.Empty {
		patched, err := c.client.Patch(ctx, c.id, wire.Patch{Model: &c.o.NewModel})
		if err != nil {
			return err
		}
		s.End = patched.End
	}
	c.watch.follow(ctx, s)
	if n.Fresh || s.Empty || n.Key == "" {
		return opener{c}.share(ctx)
	}
	c.screen.printf("another client has started this session meanwhile:")
	recent, err := c.recent(ctx, recentEntries)
	if err != nil {
		return err
	}
	c.screen.lines(exchanges(recent, recentTurns))
	return nil
}

// onMessages are the commands that need a session with messages.
var onMessages = []string{
	"agents", "compact", "compactions", "copy", "diff", "export", "fork", "handoff", "history", "label", "pin", "retry", "rewind", "tree", "uncompact", "undo", "window",
}

// runIn runs a command in a chat. Commands on messages fail if there are no messages yet.
func (cmd command) runIn(ctx context.Context, c *chat, rest string) error {
	if c.planned != nil && (slices.Contains(onMessages, cmd.name) || cmd.name == "delete" && rest == "") {
		return errNoMessage
	}
	return cmd.run(c, ctx, rest)
}
