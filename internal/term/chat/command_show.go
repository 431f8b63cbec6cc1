package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// showCommands are the commands that show the session.
type showCommands struct{ *chat }

// history prints the last messages of the branch as they are in the log, including
// summarized but not hidden ones.
func (c showCommands) history(ctx context.Context, rest string) error {
	n := 10
	if rest != "" {
		var err error
		if n, err = strconv.Atoi(rest); err != nil || n < 1 {
			return fmt.Errorf("%w number of messages %q", firn.ErrInvalid, prose.OneLine(rest, 20))
		}
	}
	messages, err := c.messages(ctx, min(n, 1000))
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		return errNoMessage
	}
	var lines []string
	for _, l := range slices.Backward(messages) {
		lines = append(lines, fmt.Sprintf("%s  %s  %s", l.ID, l.Timestamp.Local().Format("2006-01-02 15:04"), gist(l, 100)))
	}
	c.screen.lines(lines)
	return nil
}

// messages returns the last n messages of the branch, newest first.
func (c showCommands) messages(ctx context.Context, n int) ([]prose.Line, error) {
	var messages []prose.Line
	for e, err := range c.client.Entries(ctx, c.id, client.EntryQuery{View: wire.ViewBranch, Back: true}) {
		if err != nil {
			return nil, err
		}
		if l, ok := prose.ReadLine(e.Line); ok && l.Message != nil && e.Out != outHidden {
			messages = append(messages, l)
		}
		if len(messages) == n {
			break
		}
	}
	return messages, nil
}

// gist returns a short form of an entry.
func gist(l prose.Line, n int) string {
	m := l.Message
	if m == nil {
		return prose.KindName(l.Type) + " " + string(l.ID)
	}
	text := m.Text()
	for _, p := range m.Pieces() {
		if p.Type == "toolCall" {
			text += " [calls " + prose.CallTitle(p.Name, p.Arguments) + "]"
		}
	}
	if m.Role == "toolResult" {
		text = "[" + m.Tool + "] " + text
	}
	if m.Stop == "aborted" || m.Stop == "error" {
		text += " [" + m.Stop + ": " + m.Error + "]"
	}
	return l.Author() + ": " + prose.OneLine(text, n)
}

// gist returns a short form of the entry with an ID.
func (c *chat) gist(ctx context.Context, id firn.EntryID, n int) (string, error) {
	for e, err := range c.client.Entries(ctx, c.id, client.EntryQuery{View: wire.ViewDisk, Back: true}) {
		if err != nil {
			return "", err
		}
		if l, ok := prose.ReadLine(e.Line); ok && l.ID == id {
			return gist(l, n), nil
		}
	}
	return string(id), nil
}

// MCPServer describes an MCP server on one line.
func MCPServer(m wire.MCPServer) string {
	text := prose.Clean(m.Name) + ", " + m.State
	switch {
	case m.State == "ready":
		text += ", " + prose.Plural(len(m.Tools), "tool")
	case m.State == "idle":
		text += ": it starts with the next message"
	case m.Problem != "":
		text += ": " + prose.OneLine(m.Problem, 120)
	}
	return text
}

func (c showCommands) status(ctx context.Context, _ string) error {
	s, err := c.fetchSession(ctx)
	if err != nil {
		return err
	}
	g, err := c.client.Status(ctx)
	if err != nil {
		return err
	}
	st := wire.State{}
	if s.State != nil {
		st = *s.State
	}
	rows := [][]string{
		{"  session", cmp.Or(string(c.id), "new; the first message creates it")},
		{"  title", prose.Clean(s.Title)},
		{"  agent", c.agentLine()},
		{"  key", prose.Clean(c.key)},
		{"  turns", prose.Turns(st.Turns, st.Branches) + ", " + prose.Plural(st.Compactions, "compaction")},
		{"  model", c.chosenModel(s) + ", thinking " + cmp.Or(c.thinking, thinkingOf(s))},
		{"  window", windowUse(st.Window) + prose.Level(st.Window)},
		{"  toggles", toggles(st)},
		{"  head", headLine(c.chat, s, st)},
		{"  home", c.keptIn(cmp.Or(g.Home, gatewaysHome))},
		{"  gateway", prose.Clean(g.Gateway)},
		{"  files", c.filesLine()},
	}
	for i, m := range g.MCP {
		label := ""
		if i == 0 {
			label = "  MCP servers"
		}
		rows = append(rows, []string{label, MCPServer(m)})
	}
	if st.Breaker != nil {
		rows = append(rows, []string{"  compaction", prose.Breaker(*st.Breaker)})
	}
	c.screen.lines(prose.Table(rows))
	recent, err := c.recent(ctx, recentEntries)
	if err != nil {
		return err
	}
	if state := unfinished(s, recent); state != "" {
		c.screen.printf("  %s", state)
	}
	return nil
}

// headLine describes the head of a session and the end of its log.
func headLine(c *chat, s wire.Session, st wire.State) string {
	if c.planned != nil {
		return "none"
	}
	return fmt.Sprintf("%s, %s up to %d, %s", st.Head, c.medium(), s.End, prose.Count(max(st.Branches, 1), "branch", "branches"))
}

// toggles describes the settings of a session.
func toggles(st wire.State) string {
	words := []string{"send " + cmp.Or(st.Send, "inherit"), "verbose " + cmp.Or(st.Verbose, "off")}
	if st.Auth != "" {
		words = append(words, "auth "+st.Auth)
	}
	return prose.Clean(strings.Join(words, ", "))
}

// filesLine describes the files that tools may access.
func (c showCommands) filesLine() string {
	return prose.Clean(cmp.Or(c.o.Files, "those of the gateway"))
}

// medium returns where entries are stored.
func (c *chat) medium() string {
	if c.o.Ephemeral {
		return "in memory"
	}
	return "on disk"
}

// keptIn returns the directory of the session.
func (c showCommands) keptIn(home string) string {
	if c.o.Ephemeral {
		return "memory only; nothing is saved"
	}
	return c.place(home)
}

func windowUse(u wire.Usage) string {
	about := ""
	if u.Estimated {
		about = "~"
	}
	text := about + prose.Share(u.Tokens, u.Window)
	if u.Window > 0 {
		text += fmt.Sprintf(", %s%s tokens", about, prose.Grouped(u.Tokens))
	}
	return text
}

// agents lists the sub-agents of the session.
func (c showCommands) agents(ctx context.Context, _ string) error {
	children, err := c.client.Children(ctx, c.id)
	if err != nil {
		return err
	}
	if len(children) == 0 {
		c.screen.printf("no sub-agents in this session")
		return nil
	}
	var rows [][]string
	for _, s := range children {
		state := "done"
		if s.Live {
			state = "running"
		} else if s.Archived {
			state = "archived"
		}
		rows = append(rows, []string{"  " + string(s.ID), prose.Clean(s.Agent), state, prose.OneLine(cmp.Or(s.Title, s.Prompt), 60)})
	}
	c.screen.lines(prose.Table(rows))
	return nil
}

func (c showCommands) usage(ctx context.Context, _ string) error {
	s, err := c.fetchSession(ctx)
	if err != nil {
		return err
	}
	st := wire.State{}
	if s.State != nil {
		st = *s.State
	}
	n := st.Counters
	rows := [][]string{
		{"  turns", prose.Turns(st.Turns, st.Branches)},
		{"  answers", prose.Grouped(int64(n.Answers))},
		{"  input", prose.Grouped(n.Input) + " tokens"},
		{"  output", prose.Grouped(n.Output) + " tokens"},
		{"  cache read", prose.Grouped(n.CacheRead) + " tokens"},
		{"  cache write", prose.Grouped(n.CacheWrite) + " tokens"},
	}
	if cost := prose.Dollars(n.Cost); cost != "" {
		rows = append(rows, []string{"  cost", cost})
	}
	c.screen.lines(prose.Table(rows))
	return nil
}

// undoCommands maps the reason why entries are not sent to the command that undoes it.
var undoCommands = map[string]string{
	"compacted":    "/uncompact",
	"other-branch": "/rewind ENTRY",
}

// window shows which entries are sent to the model and which are not.
func (c showCommands) window(ctx context.Context, _ string) error {
	w, err := c.client.Window(ctx, c.id, "")
	if err != nil {
		return err
	}
	about := ""
	if w.Usage.Estimated {
		about = "~"
	}
	t := w.Totals
	lines := []string{fmt.Sprintf(" %s%s     system ~%s · messages ~%s", about, prose.Share(w.Usage.Tokens, w.Usage.Window),
		prose.Thousands(t.System+t.Specs), prose.Thousands(t.Notes+t.Summary+t.Kept+t.Tools))}
	rows := [][]string{{" in ", prose.Plural(countSent(w), "message"), fmt.Sprintf("of %d in the log", entriesIn(w)), ""}}
	for i, r := range w.Out {
		head := ""
		if i == 0 {
			head = " out"
		}
		rows = append(rows, []string{head, runText(r), prose.Clean(r.Why), undoCommands[r.Why]})
	}
	for _, r := range w.Repairs {
		if r.Rule == "end-with-user" {
			continue // the next message is the user's
		}
		rows = append(rows, []string{" fix", string(r.Entry), prose.Clean(r.Rule), prose.OneLine(r.What, 80)})
	}
	c.screen.lines(append(lines, prose.Table(rows)...))
	return nil
}

// countSent returns the number of messages in a window that are not synthetic.
func countSent(w wire.Window) int {
	n := w.Count
	for _, it := range w.Items {
		if it.Synthetic {
			n--
		}
	}
	return n
}

// entriesIn returns the number of entries in the messages of a window.
func entriesIn(w wire.Window) int {
	all := make(map[firn.EntryID]bool)
	for _, it := range w.Items {
		for _, id := range it.From {
			all[id] = true
		}
	}
	return len(all) + w.Count - len(w.Items)
}

// runText formats a run of entries.
func runText(r wire.Run) string {
	switch {
	case r.Count < 0:
		return "all before"
	case r.Count == 1:
		return string(r.First)
	case r.First == "":
		return prose.Plural(r.Count, "message")
	}
	return fmt.Sprintf("%s – %s, %d", r.First, r.Last, r.Count)
}

// searchCommand searches notes and messages, as the agent does.
func (c showCommands) searchCommand(ctx context.Context, words string) error {
	if err := needs("search", words); err != nil {
		return err
	}
	hits, err := c.search(ctx, words, 10)
	if err != nil {
		return err
	}
	if len(hits) == 0 {
		c.screen.printf("no matches in the notes or messages")
		return nil
	}
	c.screen.lines(hitLines(hits))
	return nil
}

// hitLines formats search results.
func hitLines(hits []Hit) []string {
	var lines []string
	for _, h := range hits {
		place := []string{prose.Clean(h.Source)}
		if h.Where != "" {
			place = append(place, prose.Clean(h.Where))
		}
		if !h.Time.IsZero() {
			place = append(place, h.Time.Local().Format("2006-01-02"))
		}
		lines = append(lines, "  "+strings.Join(place, " · "), "    "+prose.OneLine(h.Text, 160))
	}
	return lines
}
