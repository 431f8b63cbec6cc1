package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/route"
	"firn.dev/internal/base/sentfiles"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// opener chooses the session of a chat.
type opener struct{ *chat }

// choose finds or plans the session.
func (c opener) choose(ctx context.Context) error {
	var s wire.Session
	var err error
	switch {
	case c.o.Resume == Pick:
		s, err = c.pickFirst(ctx)
	case c.o.Resume == latestSession:
		s, err = c.latest(ctx, c.latestOfAll)
	case c.o.Resume != "":
		s, err = c.find(ctx, "", c.o.Resume)
	case c.o.Continue:
		return c.chooseLatest(ctx)
	default:
		return c.chooseByKey(ctx)
	}
	if err != nil {
		return err
	}
	return c.take(ctx, s)
}

// Values of the Resume option that are no names: Pick lets the user choose a session,
// latestSession is the latest.
const (
	Pick          = "?"
	latestSession = "-"
)

// pickFirst lets the user choose the session of the chat.
func (c opener) pickFirst(ctx context.Context) (wire.Session, error) {
	if c.openTerminal(); c.term == nil {
		return wire.Session{}, &Problem{Err: failure.Of(firn.ErrUnsupported, "this terminal cannot show a list to choose from"), Hint: "name a session: firn ls, then firn chat -r TITLE"}
	}
	s, ok := (&sessionPicker{c: c.chat, agent: c.o.Agent}).pick(ctx)
	if !ok {
		return s, errNotPicked
	}
	return c.client.Session(ctx, string(s.ID))
}

// errNotPicked means that the user left the picker.
var errNotPicked = errors.New("no session was chosen")

// take makes a session the current one.
func (c opener) take(ctx context.Context, s wire.Session) (err error) {
	c.id, c.name = s.ID, cmp.Or(s.Agent, "main")
	c.isVerbose = s.State != nil && s.State.Verbose == "on"
	if c.key, err = c.keyFor(s); err != nil {
		return err
	}
	c.noteArchived(s)
	return c.answerAs(ctx, cmp.Or(c.o.Agent, c.name))
}

// noteArchived prints that a session is archived, so that the user knows why lists do not
// show it.
func (c opener) noteArchived(s wire.Session) {
	if s.Archived {
		c.screen.printf("this session is archived; to list it again: firn archive --undo %s", prose.Short(s.ID))
	}
}

// chooseByKey finds the session of the key, or plans one.
func (c opener) chooseByKey(ctx context.Context) (err error) {
	if c.key, err = c.projectKey(cmp.Or(c.o.Agent, "main")); err != nil {
		return err
	}
	c.key = cmp.Or(c.o.Key, c.key)
	if c.o.Own {
		c.key = ""
		return planFirst(ctx, c.chat, cmp.Or(c.o.Agent, "main"), "")
	}
	s, err := c.client.Session(ctx, "@"+c.key)
	switch {
	case errors.Is(err, firn.ErrNotFound), err == nil && s.Hidden && c.o.Agent == "": // the gateway does not continue a removed conversation
		if found, err := c.fromElsewhere(ctx); found || err != nil {
			return err
		}
		return planFirst(ctx, c.chat, agentIn(c.key), "")
	case err != nil, c.o.Agent != "" && c.o.Agent != agentIn(c.key): // the gateway explains what is wrong
		c.planned = &planned{}
		return c.ensure(ctx)
	}
	c.name, c.key = cmp.Or(s.Agent, "main"), cmp.Or(s.Key, c.key)
	if c.o.New {
		return planFirst(ctx, c.chat, agentIn(c.key), s.ID)
	}
	if s.Archived && c.isProjects() {
		c.notePassed(s)
		return planFirst(ctx, c.chat, agentIn(c.key), s.ID)
	}
	c.id, c.isVerbose = s.ID, s.State != nil && s.State.Verbose == "on"
	c.noteArchived(s)
	return nil
}

// keyFor returns the key that follows the chat when it leaves a session: the session's own if
// that is of a project or the agent's main one, else the key of this project.
func (c opener) keyFor(s wire.Session) (string, error) {
	if k, err := route.Parse(s.Key); err == nil && s.Current && (k.Kind() == route.KindMain || k.Kind() == route.KindProject) {
		return s.Key, nil
	}
	return c.projectKey(c.name)
}

// projectKey returns the key of an agent's session about the project, or of its main session
// if there is no project.
func (c opener) projectKey(agentName string) (string, error) {
	if c.o.Project == "" {
		return mainKey(agentName), nil
	}
	k, err := route.ProjectKey(agentName, c.o.Project)
	return k.String(), err
}

// moveHead moves the session's head to the entry of the At option.
func (c *chat) moveHead(ctx context.Context) error {
	if c.o.At == "" || c.o.At == "HEAD" {
		return nil
	}
	if c.planned != nil {
		return &Problem{Err: failure.Of(firn.ErrNotFound, "a new session has no entry %q", c.o.At), Hint: "name the session: -c for the latest of this project, -r SESSION or --key KEY"}
	}
	moved, err := c.client.Rewind(ctx, c.id, wire.Move{To: firn.EntryID(c.o.At)})
	if err != nil {
		return err
	}
	what := "the start"
	l, err := c.last(ctx, func(*prose.Message) bool { return true })
	switch {
	case err == nil:
		what = gist(l, 60)
	case !errors.Is(err, errNoMessage):
		return err
	}
	c.screen.printf("rewound to %s\nlater entries stay in the log; undo: /rewind %s", what, moved.From)
	return nil
}

// mainKey returns the key of an agent's main session.
func mainKey(agentName string) string { return "agent:" + agentName + ":main" }

// isAutomated reports whether a key belongs to a cron job, a hook, or a sub-agent.
func isAutomated(key string) bool {
	_, rest, _ := strings.Cut(strings.TrimPrefix(key, "agent:"), ":")
	switch kind, _, _ := strings.Cut(rest, ":"); kind {
	case "cron", "hook", "subagent":
		return strings.HasPrefix(key, "agent:")
	}
	return false
}

// find finds a session like [client.Client.Session]. Unless agentName is empty, the session
// must belong to that agent.
func (c *chat) find(ctx context.Context, agentName, name string) (wire.Session, error) {
	s, err := c.client.Session(ctx, name)
	if err == nil && agentName != "" && cmp.Or(s.Agent, "main") != agentName {
		err = failure.Of(firn.ErrNotFound, "session %q does not belong to agent %s", prose.Clean(name), prose.Clean(agentName))
	}
	if errors.Is(err, firn.ErrNotFound) {
		err = &Problem{Err: err, Hint: "list sessions with firn ls, or /sessions in the chat"}
	}
	return s, err
}

// pointKey points the key at the current session, so that a new session inherits its
// settings.
func (c *chat) pointKey(ctx context.Context) error {
	_, err := c.client.Keys.Point(ctx, c.key, c.id)
	return err
}

// fetchSession fetches the current session, or returns the planned one.
func (c *chat) fetchSession(ctx context.Context) (wire.Session, error) {
	if c.planned != nil {
		return c.planned.session, nil
	}
	return c.client.Session(ctx, string(c.id))
}

// chosenModel returns the model that answers in this chat: the one that replaces the
// session's, or else that of the session's next answer.
func (c *chat) chosenModel(s wire.Session) string {
	if c.model != "" {
		return prose.Clean(c.model)
	}
	if s.State != nil && s.State.Next != "" {
		return prose.Clean(s.State.Next)
	}
	return modelName(s)
}

// modelName returns the model of a session.
func modelName(s wire.Session) string {
	if s.State == nil {
		return "no model"
	}
	return prose.Clean(s.State.Provider + "/" + s.State.Model)
}

// greet prints the session, its last exchange, and how the last turn ended.
func (c *chat) greet(ctx context.Context) error {
	c.showReports()
	s, err := c.fetchSession(ctx)
	if err != nil {
		return err
	}
	home := c.o.Home
	if home == "" && !c.o.Ephemeral {
		status, err := c.client.Status(ctx)
		if err != nil {
			return err
		}
		home = status.Home
	}
	turns, branches := 0, ""
	if s.State != nil {
		turns = s.State.Turns
		if s.State.Branches > 1 {
			branches = fmt.Sprintf(" on %d branches", s.State.Branches)
		}
	}
	words := []string{"session " + prose.Short(c.id)}
	if c.planned != nil {
		words[0] = "new session"
	}
	if s.Title != "" {
		words[0] += " “" + prose.Clean(s.Title) + "”"
	}
	kept := "saved in " + c.place(cmp.Or(home, gatewaysHome))
	if c.o.Ephemeral {
		kept = NothingSaved
	}
	if turns > 0 {
		words = append(words, prose.Plural(turns, "turn")+branches)
	}
	words = append(words, c.chosenModel(s), kept)
	if turns == 0 && c.o.Terminal.In {
		words = append(words, "/help for commands")
	}
	c.screen.printf("%s", strings.Join(words, " · "))
	if c.o.ModelNote != nil {
		c.screen.printf("%s", prose.Clean(c.o.ModelNote(c.chosenModel(s))))
	}
	if turns == 0 {
		return nil
	}
	c.screen.printf("Resumed%s: %s%s", c.shared.origin(), prose.Count(turns, "previous turn", "previous turns"), branches)
	c.showDamage(s)
	recent, err := c.recent(ctx, recentEntries)
	if err != nil {
		return err
	}
	c.watch.shown(s, recent)
	c.screen.lines(exchanges(recent, recentTurns))
	if state := unfinished(s, recent); state != "" {
		c.screen.printf("%s", state)
	}
	return nil
}

// recentEntries is the number of entries that are searched for the last exchange.
const recentEntries = 60

// recent returns the latest entries of the branch, newest first, without hidden ones.
// Drafts of an answer do not count toward n, and are returned only if no message follows
// them.
func (c *chat) recent(ctx context.Context, n int) ([]prose.Line, error) {
	if c.planned != nil {
		return nil, nil
	}
	return recentOf(ctx, c.client, c.id, n)
}

// recentOf is like recent, for any session.
func recentOf(ctx context.Context, g *client.Client, id firn.ID, n int) ([]prose.Line, error) {
	var lines []prose.Line
	hasMessage := false
	for e, err := range g.Entries(ctx, id, client.EntryQuery{View: wire.ViewBranch, Back: true}) {
		if err != nil {
			return nil, err
		}
		l, ok := prose.ReadLine(e.Line)
		if _, piece := l.Draft(); piece && hasMessage {
			continue
		} else if ok && e.Out != outHidden {
			lines = append(lines, l)
			if hasMessage = hasMessage || l.Message != nil; piece {
				continue
			}
		}
		if n--; n <= 0 {
			break
		}
	}
	return lines, nil
}

// outHidden is the reason of hidden entries.
const outHidden = "tombstoned"

// recentTurns is the number of turns shown when a session is resumed.
const recentTurns = 3

// exchanges returns a short form of the last user messages and their answers, oldest first.
func exchanges(recent []prose.Line, turns int) []string {
	var lines []string
	for range turns {
		last, rest := exchange(recent)
		lines = append(last, lines...)
		if recent = rest; len(recent) == 0 {
			break
		}
	}
	return lines
}

// exchange returns a short form of the last user message and its answer, and the entries
// before it.
func exchange(recent []prose.Line) (lines []string, rest []prose.Line) {
	question, answered, who := "", "", "agent"
	for i, l := range recent {
		text, piece := l.Draft()
		if piece { // a draft of an interrupted answer, in reverse order
			answered = text + answered
		}
		if l.Message == nil {
			continue
		}
		if l.Message.Role == "assistant" && answered == "" {
			answered, who = l.Message.Text(), l.Author()
		}
		if l.Message.Role == "user" {
			question, rest = prose.OneLine(sentfiles.Remove(l.Message.Text()), 200), recent[i+1:]
			break
		}
	}
	if question != "" {
		lines = append(lines, "  you: "+question)
	}
	if answered != "" {
		lines = append(lines, "  "+who+": "+prose.OneLine(answered, 200))
	}
	return lines, rest
}

// unfinished describes how the last turn ended, if it did not complete.
func unfinished(s wire.Session, recent []prose.Line) string {
	const kept = "the last answer was interrupted and saved; /retry continues"
	i := slices.IndexFunc(recent, func(l prose.Line) bool { return l.Message != nil })
	if i < 0 {
		return ""
	}
	if slices.ContainsFunc(recent[:i], func(l prose.Line) bool { _, piece := l.Draft(); return piece }) {
		return kept
	}
	switch m := recent[i].Message; {
	case m.Role == "user", m.Role == "toolResult":
		return "the last message has no answer yet; /retry answers it"
	case m.Stop == "aborted":
		return kept
	case m.Stop == "error":
		return "the last turn failed: " + prose.OneLine(m.Error, 200) + "; /retry tries again"
	case m.Stop == "toolUse" && s.State != nil && s.State.Interrupted && !waitsForApproval(recent[:i]):
		return "the last tool call was interrupted and has no result; /retry continues"
	}
	return ""
}

// waitsForApproval reports whether the newest entries, newest first, have a question about a
// tool call that was not answered.
func waitsForApproval(newest []prose.Line) bool {
	asked := 0
	for _, l := range newest {
		switch l.Custom {
		case "firn.approval.asked":
			asked++
		case "firn.approval.answered":
			asked--
		}
	}
	return asked > 0
}

// errNoMessage means that the branch has no messages.
var errNoMessage = errors.New("this session has no messages")

// gatewaysHome stands for the home if the gateway does not report its path.
const gatewaysHome = "the gateway's home"

// place abbreviates the user's home directory in a path.
func (c *chat) place(dir string) string {
	return prose.Clean(abbreviateHome(dir, c.o.User))
}
