package chat

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// planned is the session of a chat in which nothing was said yet. It does not exist: the
// first message creates it, so that a chat that ends before leaves nothing.
type planned struct {
	// session is what is known of it: agent, key, model and settings, but no ID.
	session wire.Session
	// previous is the session that /new ended; empty if there is none.
	previous firn.ID
	// patch are the settings of the command line.
	patch wire.Patch
}

// planFirst plans a session for the key of a chat if the key has none. It returns false if the session
// exists, or if the gateway has to decide about the request.
func planFirst(ctx context.Context, c *chat) (bool, error) {
	_, err := c.client.Session(ctx, "@"+c.key)
	if !errors.Is(err, firn.ErrNotFound) {
		return false, ctx.Err()
	}
	name := agentIn(c.key)
	agents, err := c.client.Agents(ctx)
	if err != nil || c.o.Agent != "" && c.o.Agent != name {
		return false, ctx.Err()
	}
	i := slices.IndexFunc(agents, func(a wire.Agent) bool { return a.ID == name })
	if i < 0 {
		return false, nil
	}
	p := planned{session: wire.Session{Agent: name, Key: c.key, CWD: c.o.Workspace, Empty: true, State: &wire.State{
		Provider: agents[i].Provider, Model: agents[i].Model, Window: wire.Usage{Window: agents[i].Window, Assumed: agents[i].Assumed},
	}}}
	if c.o.Model != "" && modelName(p.session) != c.o.Model {
		if !knowsModel(ctx, c.client, c.o.Model) { // the gateway explains what is wrong with it
			return false, nil
		}
		p.patch.Model = &c.o.Model
		p.session.State.Provider, p.session.State.Model, _ = strings.Cut(c.o.Model, "/")
	}
	if c.o.Thinking != "" {
		p.patch.Thinking, p.session.State.Thinking = &c.o.Thinking, c.o.Thinking
	}
	c.planned, c.name = &p, name
	return true, nil
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

// knowsModel reports whether the gateway lists a model.
func knowsModel(ctx context.Context, g *client.Client, name string) bool {
	models, err := g.Models(ctx)
	return err == nil && slices.ContainsFunc(models, func(m wire.Model) bool { return m.ID == name })
}

// planNext plans a session that continues with the settings of a chat's current one.
func planNext(ctx context.Context, c *chat) error {
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
	c.planned, c.id = &planned{session: next, previous: c.id}, ""
	return nil
}

// ensure creates the planned session, if there is one. A session that /new ended gets the
// key first, because the new one takes over the settings of the key's session.
func (c *chat) ensure(ctx context.Context) error {
	p := c.planned
	if p == nil {
		return nil
	}
	n := wire.NewSession{Key: c.key, Agent: c.o.Agent, CWD: c.o.Workspace}
	if p.previous != "" {
		if _, err := c.client.PointKey(ctx, c.key, p.previous); err != nil {
			return err
		}
		n.Agent, n.Fresh = "", true
	}
	s, err := c.client.NewSession(ctx, n)
	if err != nil {
		return err
	}
	c.id, c.planned = s.ID, nil
	c.name, c.key = cmp.Or(s.Agent, "main"), cmp.Or(s.Key, c.key)
	if p.patch == (wire.Patch{}) {
		return nil
	}
	_, err = c.client.Patch(ctx, c.id, p.patch)
	return err
}

// onMessages are the commands that need a session with messages.
var onMessages = []string{
	"agents", "compact", "compactions", "export", "fork", "handoff", "history", "label", "pin", "retry", "rewind", "tree", "uncompact", "window",
}

// runIn runs a command in a chat. Commands on messages fail if nothing was said yet.
func (cmd command) runIn(ctx context.Context, c *chat, rest string) error {
	if c.planned != nil && (slices.Contains(onMessages, cmd.name) || cmd.name == "delete" && rest == "") {
		return errNoMessage
	}
	return cmd.run(c, ctx, rest)
}
