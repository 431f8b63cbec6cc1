package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// choose finds the session to talk in, and with it the agent.
func (c *chat) choose(ctx context.Context) error {
	switch {
	case c.o.Resume != "" && c.o.Resume != "-":
		s, err := c.find(ctx, "", c.o.Resume)
		if err != nil {
			return err
		}
		c.id, c.name = s.ID, cmp.Or(s.Agent, "main")
		if err := c.answerAs(ctx, cmp.Or(c.o.Agent, c.name)); err != nil {
			return err
		}
	case c.o.Continue, c.o.Resume == "-":
		s, err := c.latest(ctx, cmp.Or(c.o.Agent, "main"))
		if err != nil {
			return err
		}
		c.id, c.name = s.ID, cmp.Or(s.Agent, "main")
	}
	if c.id != "" {
		c.key = mainKey(c.name)
		return nil
	}
	c.key = cmp.Or(c.o.Key, mainKey(cmp.Or(c.o.Agent, "main")))
	s, err := c.client.NewSession(ctx, wire.NewSession{Key: c.key, Agent: c.o.Agent, CWD: c.o.Workspace})
	if err != nil {
		return err
	}
	c.id, c.name, c.key = s.ID, cmp.Or(s.Agent, "main"), cmp.Or(s.Key, c.key)
	return nil
}

// goAt lets the session go on from the entry that was asked for.
func (c *chat) goAt(ctx context.Context) error {
	if c.o.At == "" || c.o.At == "HEAD" {
		return nil
	}
	moved, err := c.client.Rewind(ctx, c.id, wire.Move{To: firn.EntryID(c.o.At)})
	if err != nil {
		return err
	}
	what := "before everything"
	l, err := c.last(ctx, func(*prose.Said) bool { return true })
	switch {
	case err == nil:
		what = gist(l, 60)
	case !errors.Is(err, errNoMessage):
		return err
	}
	c.screen.say("the session goes on from %s; what was left stays in the log: /rewind %s returns to it", what, moved.From)
	return nil
}

// mainKey is the key of an agent's main session.
func mainKey(agentName string) string { return "agent:" + agentName + ":main" }

// latest is the session of an agent that was added to last. Those that
// programs began by themselves are nobody's talk: they are passed over, and that is
// said.
func (c *chat) latest(ctx context.Context, agentName string) (wire.Session, error) {
	s, err := c.talked(ctx, agentName)
	if errors.Is(err, firn.ErrNotFound) && c.o.Agent == "" {
		// Nobody in particular is meant: another tool's folder has no agents of ours.
		if other, err := c.talked(ctx, ""); !errors.Is(err, firn.ErrNotFound) {
			return other, err
		}
	}
	return s, err
}

// talked is the latest session that no program began by itself, of an agent or of all.
func (c *chat) talked(ctx context.Context, agentName string) (wire.Session, error) {
	var passed []firn.ID
	for s, err := range c.client.Sessions(ctx, client.Query{Agent: agentName}) {
		if err != nil {
			return wire.Session{}, err
		}
		if byProgram(s.Key) {
			passed = append(passed, s.ID)
			continue
		}
		if len(passed) > 0 {
			c.screen.say("passed over: %s of jobs, hooks or agents; the latest is %s (-r)", prose.Plural(len(passed), "newer session"), passed[0])
		}
		return s, nil
	}
	missing := &Problem{
		Err:  fmt.Errorf("there is no session of agent %s to continue: %w", prose.Clean(cmp.Or(agentName, "main")), firn.ErrNotFound),
		Hint: "firn chat begins one",
	}
	if len(passed) > 0 {
		missing.Hint += fmt.Sprintf("; firn chat -r %s goes on with what a job, a hook or an agent began", passed[0])
	}
	return wire.Session{}, missing
}

// byProgram reports whether a key is of what programs begin by themselves: a job, a
// hook, or an agent that another one started.
func byProgram(key string) bool {
	_, rest, _ := strings.Cut(strings.TrimPrefix(key, "agent:"), ":")
	switch kind, _, _ := strings.Cut(rest, ":"); kind {
	case "cron", "hook", "subagent":
		return strings.HasPrefix(key, "agent:")
	}
	return false
}

// find finds a session as [client.Client.Session] does; an agent that is not empty must be its owner.
func (c *chat) find(ctx context.Context, agentName, name string) (wire.Session, error) {
	s, err := c.client.Session(ctx, name)
	if err == nil && agentName != "" && cmp.Or(s.Agent, "main") != agentName {
		err = fmt.Errorf("session %q is not one of agent %s: %w", prose.Clean(name), prose.Clean(agentName), firn.ErrNotFound)
	}
	if errors.Is(err, firn.ErrNotFound) {
		err = &Problem{Err: err, Hint: "firn ls lists the sessions; in the chat, /sessions does"}
	}
	return s, err
}

// fresh begins a new session that goes on with what the present one has
// chosen, and points the key at it.
func (c *chat) fresh(ctx context.Context) error {
	if err := c.point(ctx); err != nil {
		return err
	}
	s, err := c.client.NewSession(ctx, wire.NewSession{Key: c.key, CWD: c.o.Workspace, Fresh: true})
	if err != nil {
		return err
	}
	c.id = s.ID
	return nil
}

// point points the key at the session that is talked in, so that a new one
// goes on from that.
func (c *chat) point(ctx context.Context) error {
	_, err := c.client.PointKey(ctx, c.key, c.id)
	return err
}

// look asks how the session is.
func (c *chat) look(ctx context.Context) (wire.Session, error) {
	return c.client.Session(ctx, string(c.id))
}

// modelName names who answers in a session.
func modelName(s wire.Session) string {
	if s.State == nil {
		return "nobody"
	}
	return prose.Clean(s.State.Provider + "/" + s.State.Model)
}

// greet says where we are: which session, and how the last turn ended.
func (c *chat) greet(ctx context.Context) error {
	c.tellReports()
	s, err := c.look(ctx)
	if err != nil {
		return err
	}
	status, err := c.client.Status(ctx)
	if err != nil {
		return err
	}
	turns := 0
	if s.State != nil {
		turns = s.State.Turns
	}
	words := []string{"session " + prose.Short(c.id)}
	if s.Title != "" {
		words[0] += " “" + prose.Clean(s.Title) + "”"
	}
	kept := "kept in " + c.place(cmp.Or(status.Home, gatewaysHome))
	if c.o.Ephemeral {
		kept = NothingSaved
	}
	words = append(words, prose.Plural(turns, "turn"), modelName(s), kept)
	if turns == 0 && c.o.Terminal.In {
		words = append(words, "/help tells what you can type")
	}
	c.screen.say("%s", strings.Join(words, " · "))
	if turns == 0 {
		return nil
	}
	c.screen.say("Restored: %s", prose.Count(turns, "previous turn", "previous turns"))
	c.tellDamage(s)
	recent, err := c.recent(ctx, recentEntries)
	if err != nil {
		return err
	}
	c.screen.lines(exchange(recent))
	if state := unfinished(recent); state != "" {
		c.screen.say("%s", state)
	}
	return nil
}

// recentEntries is how many entries are looked at to tell what was said last.
const recentEntries = 60

// recent are the latest entries of the branch, newest first, without those that
// were hidden. The pieces of an answer do not count, of which a long one has many; they
// are told only if no message came after them.
func (c *chat) recent(ctx context.Context, n int) ([]prose.Line, error) {
	var lines []prose.Line
	said := false
	for e, err := range c.client.Entries(ctx, c.id, client.EntryQuery{View: wire.ViewBranch, Back: true}) {
		if err != nil {
			return nil, err
		}
		l, ok := prose.ReadLine(e.Line)
		if _, piece := l.Draft(); piece && said {
			continue
		} else if ok && e.Out != outHidden {
			lines = append(lines, l)
			if said = said || l.Message != nil; piece {
				continue
			}
		}
		if n--; n <= 0 {
			break
		}
	}
	return lines, nil
}

// outHidden is why an entry is out that somebody hid.
const outHidden = "tombstoned"

// exchange shows in short what was said last: the last thing that the user said
// and the answer to it.
func exchange(recent []prose.Line) []string {
	said, answered, who := "", "", "agent"
	for _, l := range recent {
		text, piece := l.Draft()
		if piece { // of an answer that was cut off; the last piece comes first
			answered = text + answered
		}
		if l.Message == nil {
			continue
		}
		if l.Message.Role == "assistant" && answered == "" {
			answered, who = l.Message.Text(), l.Who()
		}
		if l.Message.Role == "user" {
			said = prose.OneLine(l.Message.Text(), 200)
			break
		}
	}
	var lines []string
	if said != "" {
		lines = append(lines, "  you: "+said)
	}
	if answered != "" {
		lines = append(lines, "  "+who+": "+prose.OneLine(answered, 200))
	}
	return lines
}

// unfinished says in a sentence how the last turn ended, if it did not end
// well.
func unfinished(recent []prose.Line) string {
	const kept = "the last answer was interrupted; it is kept. /retry asks again"
	i := slices.IndexFunc(recent, func(l prose.Line) bool { return l.Message != nil })
	if i < 0 {
		return ""
	}
	if slices.ContainsFunc(recent[:i], func(l prose.Line) bool { _, piece := l.Draft(); return piece }) {
		return kept
	}
	switch m := recent[i].Message; {
	case m.Role == "user", m.Role == "toolResult":
		return "the last turn was interrupted before it was answered. /retry answers it"
	case m.Stop == "aborted":
		return kept
	case m.Stop == "error":
		return "the last turn failed: " + prose.OneLine(m.Error, 200) + ". /retry asks again"
	}
	return ""
}

// errNoMessage says that there is nothing to point at.
var errNoMessage = errors.New("nothing was said here yet")

// gatewaysHome is where sessions are kept, for who is not told the place.
const gatewaysHome = "the home of the gateway"

// place spells a directory as people write it.
func (c *chat) place(dir string) string {
	if user := c.o.User; user != "" && (dir == user || strings.HasPrefix(dir, user+string(filepath.Separator))) {
		dir = "~" + strings.TrimPrefix(dir, user)
	}
	return prose.Clean(dir)
}
