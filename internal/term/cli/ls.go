package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/typo"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/chat"
	"firn.dev/wire"
)

// listBound is the default maximum length of a list.
const listBound = 100

// overviewCommands are the commands that list and describe sessions.
type overviewCommands struct{ *program }

func (p overviewCommands) lsCommand() *cobra.Command {
	var q client.Query
	var since, until string
	count := bound(listBound)
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		GroupID: "look",
		Short:   "List sessions, most recently updated first",
		Long: `List sessions, most recently updated first. Renaming, tagging, restoring and
resetting a session also update it.

Columns show the number of turns on all branches, rewound ones included, how
full the model's window is, and total usage. ~ marks estimates, ● a session with
a running turn, ⎇ the number of branches, and ◆ the number of compactions. ↳
marks sub-agents, below the session that started them. ⚠ is the number of
unreadable places known to the list: damage in the live part of the listed
sessions, and damage found when the sessions were last indexed. firn verify
reads every byte. Archived and hidden sessions are listed only on request; their
number is printed below the list. --sort and --order sort like the list on the
pages; sub-agents are not moved then. Sessions without a message, title or other
entry are listed only with --empty.`,
		Example: "  firn ls -n 3\n  firn ls --agent main --text trip\n  firn ls --cwd . --since 7d\n  firn ls --sort cost -n 10\n  firn ls --json | jq -r '.items[].id'",
		Args:    none,
		RunE: p.with(measuring, func(ctx context.Context, c *client.Client, _ []string) error {
			return p.ls(ctx, c, q, int(count))
		}),
	}
	cmd.PreRunE = func(*cobra.Command, []string) (err error) {
		if q.Since, err = parseTime("--since", since, p.now()); err != nil {
			return err
		}
		if err := checkSort(cmd, q); err != nil {
			return err
		}
		if q.Until, err = parseTime("--until", until, p.now()); err != nil || q.Directory == "" {
			return err
		}
		if q.Directory, err = filepath.Abs(q.Directory); err == nil {
			if resolved, err := filepath.EvalSymlinks(q.Directory); err == nil { // as firn chat records it
				q.Directory = resolved
			}
		}
		return err
	}
	flags := cmd.Flags()
	flags.VarP(&count, "number", "n", "list at most `N`, or all")
	flags.StringVar(&since, "since", "", "only sessions with an entry since this `time`: a date, a time, or an age (7d, 12h)")
	flags.StringVar(&until, "until", "", "only sessions whose latest entry is before this `time`")
	addQueryFlags(flags, &q)
	return cmd
}

// addQueryFlags defines the flags that select and sort sessions.
func addQueryFlags(flags *pflag.FlagSet, q *client.Query) {
	flags.StringVar(&q.Sort, "sort", "", "sort by this `field`: "+strings.Join(sortFields, ", ")+" (default updated)")
	flags.StringVar(&q.Order, "order", "", "sort in this `order`: asc or desc (default asc for title, desc for the others)")
	flags.StringVarP(&q.Agent, "agent", "a", "", "only sessions of this `agent`")
	flags.StringVar(&q.Key, "key", "", "only sessions of this `key`")
	flags.StringVar(&q.Text, "text", "", "only sessions with this `text` in the title or first message")
	flags.StringVar(&q.Tag, "tag", "", "only sessions with this `tag`")
	flags.StringVar(&q.Source, "source", "", "only sessions of this `source`: a mirrored directory of another tool, or firn for your own")
	flags.StringVar(&q.Sender, "sender", "", "only direct conversations with this `person`")
	flags.StringVar(&q.Directory, "cwd", "", "only sessions started in this `directory`, or with messages sent from it")
	flags.BoolVar(&q.Archived, "archived", false, "list archived sessions")
	flags.BoolVar(&q.Hidden, "hidden", false, "list hidden sessions")
	flags.BoolVar(&q.Empty, "empty", false, "include sessions without messages")
	flags.BoolVar(&q.Live, "live", false, "only sessions with a running turn")
}

// sortFields are the fields that a list can be sorted by, as in the API.
var sortFields = []string{"updated", "created", "title", "turns", "size", "cost"}

// checkSort rejects unknown sort fields and orders.
func checkSort(cmd *cobra.Command, q client.Query) error {
	if q.Sort != "" && !slices.Contains(sortFields, q.Sort) {
		if near := typo.Nearest(q.Sort, sortFields, 2); near != "" {
			return usage(cmd, "unknown sort field %q; did you mean %s?", q.Sort, near)
		}
		return usage(cmd, "unknown sort field %q: expected %s", q.Sort, strings.Join(sortFields, ", "))
	}
	if q.Order != "" && q.Order != "asc" && q.Order != "desc" {
		return usage(cmd, "unknown order %q: expected asc or desc", q.Order)
	}
	return nil
}

// ls lists sessions.
func (p overviewCommands) ls(ctx context.Context, c *client.Client, q client.Query, most int) error {
	q.Key = keyOf(q.Key)
	page, err := collect(c.SessionsPage, ctx, q, most)
	if err != nil {
		return err
	}
	if p.json {
		return p.print(page, nil)
	}
	if len(page.Items) <= listBound {
		p.addStates(ctx, c, page.Items)
	}
	if ctx.Err() != nil { // states are missing
		return ctx.Err()
	}
	if len(page.Items) == 0 {
		return p.print(page, func() string {
			note := p.elsewhereNote(ctx, c, q)
			if note != "" {
				note = "no sessions of this directory\n" + note
			}
			return wrapText(cmp.Or(note, p.noSessions(ctx, c, q))+removeCommands(p).binNote(ctx, c, q), columnsOf(p.stdout))
		})
	}
	return p.print(page, func() string {
		width := columnsOf(p.stdout)
		return p.lsText(page, q, most, width) + wrapText(p.elsewhereNote(ctx, c, q)+p.archivedNote(ctx, c, q)+removeCommands(p).binNote(ctx, c, q), width)
	})
}

// archivedNote returns the number of archived and hidden sessions that a list omits, so
// that users do not think they are lost.
func (p overviewCommands) archivedNote(ctx context.Context, c *client.Client, q client.Query) string {
	if q.Archived || q.Hidden || q.Live {
		return "" // the query selects its own set
	}
	count := func(archived, hidden bool) int {
		q := q
		q.Archived, q.Hidden, q.Limit = archived, hidden, 1
		page, err := c.SessionsPage(ctx, q)
		if err != nil { // on errors the note is left out
			return 0
		}
		return max(page.Total, len(page.Items))
	}
	var out []string
	for _, away := range []struct {
		archived, hidden bool
		flags            string
	}{{true, false, "--archived"}, {false, true, "--hidden"}, {true, true, "--archived --hidden"}} {
		if n := count(away.archived, away.hidden); n > 0 {
			out = append(out, fmt.Sprintf("%s (%s)", prose.Grouped(int64(n)), away.flags))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "not shown: " + strings.Join(out, ", ") + "\n"
}

// collect fetches pages of sessions until it has most of them; zero means all.
func collect(fetch func(context.Context, client.Query) (wire.Page[wire.Session], error), ctx context.Context, q client.Query, most int) (wire.Page[wire.Session], error) {
	all := wire.Page[wire.Session]{Items: []wire.Session{}, Total: -1}
	for {
		q.Limit = 0
		if most > 0 {
			q.Limit = most - len(all.Items)
		}
		page, err := fetch(ctx, q)
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, page.Items...)
		all.Cursor, all.Total = page.Cursor, max(all.Total, page.Total)
		if page.Cursor == "" || page.Cursor == q.Cursor || most > 0 && len(all.Items) >= most {
			return all, nil
		}
		q.Cursor = page.Cursor
	}
}

// addStates fetches the states of sessions, which lists do not include.
func (p overviewCommands) addStates(ctx context.Context, c *client.Client, sessions []wire.Session) {
	chat.AddStates(ctx, c, sessions)
}

// lsColumns are the columns of the list. On narrow screens the first ones to go are the
// number of branches and the size.
var lsColumns = []prose.Column{
	{}, {Min: 16}, {Drop: 6}, {Drop: 5, Min: 10}, {Drop: 3, Right: true}, {Drop: 4, Right: true}, {Drop: 7, Right: true}, {Drop: 8, Right: true},
	{Drop: 2}, {Drop: 9, Right: true}, {Drop: 1},
}

// lsText formats a list of sessions for a width; zero does not limit it.
func (p overviewCommands) lsText(page wire.Page[wire.Session], q client.Query, most, width int) string {
	ids := make([]firn.ID, len(page.Items))
	for i, s := range page.Items {
		ids[i] = s.ID
	}
	rows := [][]string{{"  ID", "TITLE", "AGENT", "PLACE", "TURNS", "WINDOW", "TOKENS", "SIZE", "UPDATED", "⎇", ""}}
	items := page.Items
	if q.Sort == "" && q.Order == "" { // a sorted list keeps its order
		items = nest(items)
	}
	for _, s := range items {
		rows = append(rows, p.lsRow(s, ids))
	}
	lines := prose.FitTable(rows, lsColumns, width)
	lines = append(lines, prose.Wrap(shown(len(page.Items), page.Total, page.Cursor != "", most)+" · ● running · ⎇ branches · ◆ compactions · ~ estimated", width)...)
	if slices.ContainsFunc(page.Items, func(s wire.Session) bool { return s.Unread > 0 }) {
		lines = append(lines, prose.Wrap("⚠ unreadable places; run firn show ID or firn verify ID", width)...)
	}
	return strings.Join(lines, "\n") + "\n"
}

// nest moves the sessions of sub-agents below their parents, if those are in the list, and
// marks their titles.
func nest(items []wire.Session) []wire.Session {
	below := make(map[string][]wire.Session)
	there := make(map[string]bool, len(items))
	for _, s := range items {
		there[string(s.ID)] = true
	}
	var rows []wire.Session
	for _, s := range items {
		if s.Subagent && there[s.Parent] && s.Parent != string(s.ID) {
			below[s.Parent] = append(below[s.Parent], s)
			continue
		}
		rows = append(rows, s)
	}
	var out []wire.Session
	var add func(s wire.Session, mark string)
	add = func(s wire.Session, mark string) {
		children := below[string(s.ID)]
		delete(below, string(s.ID)) // ends cycles
		if s.Title = mark + nameOf(s); mark == "" {
			mark = "↳ "
		} else {
			mark = "  " + mark
		}
		out = append(out, s)
		for _, child := range children {
			add(child, mark)
		}
	}
	for _, s := range rows {
		add(s, "")
	}
	for _, s := range items { // sessions in a cycle have no root
		if s.Subagent && below[s.Parent] != nil {
			add(s, "")
		}
	}
	return out
}

// lsRow formats a row of the list.
func (p overviewCommands) lsRow(s wire.Session, ids []firn.ID) []string {
	mark := "  "
	if s.Live {
		mark = "● "
	}
	turns, window, tokens, branches, compactions := "–", "–", "–", "–", ""
	if st := s.State; st != nil {
		turns, window = prose.Grouped(int64(st.Turns)), usageText(st.Window)
		tokens = prose.Thousands(st.Counters.Input + st.Counters.Output + st.Counters.CacheRead + st.Counters.CacheWrite)
		branches = prose.Grouped(int64(max(st.Branches, 1)))
		if st.Compactions > 0 {
			compactions = "◆" + strconv.Itoa(st.Compactions)
		}
	}
	if s.Unread > 0 {
		compactions = strings.TrimSpace(compactions + " ⚠" + strconv.Itoa(s.Unread))
	}
	size := prose.Size(s.Bytes)
	if s.Parts > 1 {
		size += fmt.Sprintf(" in %d", s.Parts)
	}
	return []string{
		mark + prose.Shortest(s.ID, ids), prose.OneLine(nameOf(s), 32), prose.OneLine(s.Agent, 12), p.place(s),
		turns, window, tokens, size, prose.Ago(s.Updated, p.now()), branches, compactions,
	}
}

// usageText formats the use of a window in percent.
func usageText(u wire.Usage) string {
	if u.Window <= 0 {
		return "–"
	}
	return about(u.Estimated) + prose.Percent(u.Tokens, u.Window)
}

// about marks an estimate.
func about(estimated bool) string {
	if estimated {
		return "~"
	}
	return ""
}

// place describes where a session belongs.
func (p *program) place(s wire.Session) string { return chat.Place(s, p.env("HOME"), 28) }

// shown describes how much of a list is shown.
func shown(n, total int, more bool, most int) string {
	switch {
	case !more:
		return prose.Plural(n, "session")
	case total > n:
		return fmt.Sprintf("%s of %s shown (-n all)", prose.Grouped(int64(n)), prose.Grouped(int64(total)))
	}
	return fmt.Sprintf("the latest %s; there are more (-n all)", prose.Grouped(int64(n)))
}

// bound is a flag value: a number, or "all", which is zero.
type bound int

// String implements pflag.Value.
func (b *bound) String() string {
	if *b == 0 {
		return "all"
	}
	return strconv.Itoa(int(*b))
}

// Set implements pflag.Value.
func (b *bound) Set(text string) error {
	if text == "all" {
		*b = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return fmt.Errorf("expected a number from 1, or all")
	}
	*b = bound(n)
	return nil
}

// Type implements pflag.Value.
func (b *bound) Type() string { return "number" }
