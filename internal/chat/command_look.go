package chat

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"firn"
	"firn/agent"
	"firn/store"
	"firn/window"
)

// history shows the last messages of the branch as the log has them.
func (c *chat) history(ctx context.Context, rest string) error {
	n := 10
	if rest != "" {
		var err error
		if n, err = strconv.Atoi(rest); err != nil || n < 1 {
			return fmt.Errorf("%w number %q of messages", firn.ErrInvalid, oneLine(rest, 20))
		}
	}
	messages, err := c.branch(ctx, min(n, 1000))
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		return errNoMessage
	}
	lines := make([]string, len(messages))
	for i, e := range slices.Backward(messages) {
		lines[len(messages)-1-i] = fmt.Sprintf("%s  %s  %s", e.ID, e.Time.Local().Format("2006-01-02 15:04"), gist(e, 100))
	}
	c.screen.lines(lines)
	return nil
}

// branch reads the last messages of the branch from the log, newest first:
// those that a summary stands for too, but not those that were hidden.
func (c *chat) branch(ctx context.Context, n int) ([]firn.Entry, error) {
	var messages []firn.Entry
	hidden := make(map[firn.EntryID]bool)
	var want firn.EntryID
	begun := false
	for rec, err := range c.st.ReadBack(ctx, c.id, store.End) {
		if err != nil {
			return nil, err
		}
		g := rec.Glance
		if rec.Gap != nil || g.ID == "" {
			continue
		}
		if g.Kind == firn.KindTombstone && !hidden[g.ID] {
			hidden[g.Target] = true
		}
		if begun && want != "" && g.ID != want {
			continue // another branch
		}
		begun, want = true, g.Parent
		if g.Kind == firn.KindMessage && !hidden[g.ID] {
			if e, err := rec.Entry(); err == nil {
				messages = append(messages, e)
			}
		}
		if len(messages) == n || g.Parent == "" && !g.NoParent {
			break
		}
	}
	return messages, nil
}

// gist tells an entry in short.
func gist(e firn.Entry, n int) string {
	m, ok := e.Body.(*firn.Message)
	if !ok {
		return string(e.Body.Kind()) + " " + string(e.ID)
	}
	text := m.Text()
	for _, p := range m.Parts {
		switch p := p.(type) {
		case firn.ToolCall:
			text += " [calls " + p.Name + " " + summary(p.Arguments) + "]"
		case firn.ToolResult:
			text += " [" + p.Name + "] " + firn.JoinText(p.Content)
		}
	}
	if m.StopReason == firn.StopAborted || m.StopReason == firn.StopError {
		text += " [" + string(m.StopReason) + ": " + m.Error + "]"
	}
	who := map[firn.Role]string{firn.RoleUser: "you", firn.RoleAssistant: "agent", firn.RoleToolResult: "tool"}[m.Role]
	if who == "" {
		who = string(m.Role)
	}
	return who + ": " + oneLine(text, n)
}

func (c *chat) status(ctx context.Context, _ string) error {
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
	thinking := path.Chosen.ThinkingLevel
	if thinking == "" {
		thinking = "off"
	}
	rows := [][]string{
		{"  session", string(c.id)},
		{"  title", clean(title)},
		{"  agent", clean(c.name)},
		{"  key", clean(c.key)},
		{"  turns", fmt.Sprintf("%d, %s", count.Turns, plural(count.Compactions, "compaction"))},
		{"  model", c.modelName(path) + ", thinking " + clean(thinking)},
		{"  window", c.windowUse(path)},
		{"  head", fmt.Sprintf("%s, on disk up to %d", path.Head, path.End)},
		{"  kept in", clean(c.o.Home)},
		{"  files", c.filesLine()},
	}
	c.screen.lines(table(rows))
	if state := unfinished(path); state != "" {
		c.screen.say("  %s", state)
	}
	return nil
}

// filesLine says what the tools may touch.
func (c *chat) filesLine() string {
	switch {
	case c.o.NoTools:
		return "no tools"
	case c.files == nil:
		return "none"
	case c.files.ReadOnly():
		return clean(c.files.Dir()) + ", to be read only; --workspace lets the tools write"
	}
	return clean(c.files.Dir())
}

// windowUse tells how full the window is.
func (c *chat) windowUse(path window.Path) string {
	info, err := c.modelOf(path)
	if err != nil {
		return "not known: " + oneLine(err.Error(), 100)
	}
	w := c.build(path, window.Options{Profile: info.Profile, Ask: info.Ask()})
	about := ""
	if w.Tokens.Estimated {
		about = "~"
	}
	return about + share(w.Tokens.Total, info.Window)
}

// build makes the window of a path, without what is injected in a turn.
func (c *chat) build(path window.Path, o window.Options) window.Window {
	o.System = c.agent.System
	return window.Build(path, o)
}

func (c *chat) usage(ctx context.Context, _ string) error {
	n, err := agent.Count(ctx, c.st, c.id)
	if err != nil {
		return err
	}
	rows := [][]string{
		{"  turns", grouped(int64(n.Turns))},
		{"  answers", grouped(int64(n.Answers))},
		{"  input", grouped(n.Input) + " tokens"},
		{"  output", grouped(n.Output) + " tokens"},
		{"  cache read", grouped(n.CacheRead) + " tokens"},
		{"  cache write", grouped(n.CacheWrite) + " tokens"},
		{"  cost", fmt.Sprintf("$%.4f", n.Cost)},
	}
	c.screen.lines(table(rows))
	return nil
}

// undoes says which command takes back that entries are not sent.
var undoes = map[window.Why]string{
	window.Compacted:   "/uncompact",
	window.OtherBranch: "/rewind ENTRY",
}

// window shows what of the session is sent to the model and what is not.
func (c *chat) window(ctx context.Context, _ string) error {
	path, err := c.path(ctx)
	if err != nil {
		return err
	}
	info, err := c.modelOf(path)
	if err != nil {
		return err
	}
	w := c.build(path, window.Options{Profile: info.Profile, Ask: info.Ask()})
	about := ""
	if w.Tokens.Estimated {
		about = "~"
	}
	lines := []string{fmt.Sprintf(" %s%s     system ~%s · messages ~%s", about, share(w.Tokens.Total, info.Window), short1k(w.Tokens.System), short1k(w.Tokens.Items))}
	rows := [][]string{{" in ", plural(sent(w), "message"), fmt.Sprintf("of %d in the log", len(entriesOf(w))), ""}}
	for i, o := range w.Out {
		head := ""
		if i == 0 {
			head = " out"
		}
		rows = append(rows, []string{head, spread(o), string(o.Why), undoes[o.Why]})
	}
	for _, r := range w.Repairs {
		if r.Rule == "end-with-user" {
			continue // you will be the last to speak
		}
		rows = append(rows, []string{" fix", string(r.Entry), r.Rule, oneLine(r.What, 80)})
	}
	c.screen.lines(append(lines, table(rows)...))
	return nil
}

// sent counts the messages of a window that somebody said.
func sent(w window.Window) (n int) {
	for _, it := range w.Items {
		if !it.Synthetic {
			n++
		}
	}
	return n
}

// entriesOf are the entries that a window is made of.
func entriesOf(w window.Window) map[firn.EntryID]bool {
	all := make(map[firn.EntryID]bool)
	for _, it := range w.Items {
		for _, id := range it.From {
			all[id] = true
		}
	}
	return all
}

// spread names a run of entries.
func spread(o window.Omission) string {
	switch {
	case o.Count < 0:
		return "all before"
	case o.Count == 1:
		return string(o.First)
	case o.First == "":
		return plural(o.Count, "message")
	}
	return fmt.Sprintf("%s – %s, %d", o.First, o.Last, o.Count)
}

// searchCommand looks for words where the agent would.
func (c *chat) searchCommand(ctx context.Context, words string) error {
	if err := needs("search", words); err != nil {
		return err
	}
	hits, err := c.search(ctx, words, 10)
	if err != nil {
		return err
	}
	if len(hits) == 0 {
		c.screen.say("nothing was found in the notes and the latest sessions")
		return nil
	}
	var lines []string
	for _, h := range hits {
		place := []string{clean(h.Source)}
		if h.Where != "" {
			place = append(place, clean(h.Where))
		}
		if !h.Time.IsZero() {
			place = append(place, h.Time.Local().Format("2006-01-02"))
		}
		lines = append(lines, "  "+strings.Join(place, " · "), "    "+oneLine(h.Text, 160))
	}
	c.screen.lines(lines)
	return nil
}
