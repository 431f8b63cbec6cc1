package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// findCommands are the commands that search sessions and maintain the index.
type findCommands struct{ *program }

func (p findCommands) searchCommand() *cobra.Command {
	var q wire.SearchQuery
	var contextItems int
	var explain bool
	count := bound(20)
	cmd := &cobra.Command{
		Use:     "search QUERY…",
		GroupID: "find",
		Short:   "Search all sessions, best matches first",
		Long: `Search all sessions, including compacted and hidden entries and other branches,
which are marked. Of copies in forks and mirrors, one is shown.

A query is a list of words. At least one must match, and more matches rank
higher. Words match in other forms too, as do parts of identifiers and paths.
A question in plain words also finds messages with similar words, and the
messages next to them; --explain shows why.
  "a phrase"    these words in this order     prefix*    words with this prefix
  AND OR NOT    in capitals, and ( ); -word is NOT word, after a --
  role:user tool:bash agent:main key:… source:codex path:src/wal
  session:0198c5a2 since:7d until:2026-11-01 in:tools machines:hide
  (after: and before: are since: and until:)

Messages of jobs, hooks and sub-agents rank lower than those of people;
--machines changes that.

Tool output is searched with --in tools or --in all. Secrets are masked. The
index is in the home; the search waits until it is up to date. Sessions that
cannot be read are listed on stderr, and the command exits with 8, as firn verify
does.`,
		Example: "  firn search flaky lock test\n  firn search '\"connection refused\" tool:bash since:7d'\n  firn search --role user --context 4 birthday --json",
	}
	addSearchFilters(cmd, &q)
	flags := cmd.Flags()
	flags.IntVarP(&contextItems, "context", "C", 1, "show `N` messages before and after each hit; with --json, 4 unless it is given")
	flags.VarP(&count, "number", "n", "show at most `N` hits, up to 100")
	flags.BoolVar(&explain, "explain", false, "show what the score of each hit is made of")
	flags.BoolVar(&q.Group, "group", false, "group the hits by session")
	flags.StringVar(&q.Cursor, "cursor", "", "`cursor` of the next page")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if contextItems < 0 || contextItems > 15 {
			return usage(cmd, "--context must be from 0 to 15, not %d", contextItems)
		}
		if count == 0 || count > 100 {
			return usage(cmd, "firn search shows at most 100 hits; use --cursor for more")
		}
		if !cmd.Flags().Changed("context") && p.json {
			contextItems = 4
		}
		q.Query, q.Limit, q.Before, q.After = strings.Join(args, " "), int(count), &contextItems, &contextItems
		return p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error { return p.search(ctx, c, q, explain) })(cmd, args)
	}
	return cmd
}

// addSearchFilters adds the flags that narrow a search.
func addSearchFilters(cmd *cobra.Command, q *wire.SearchQuery) {
	flags := cmd.Flags()
	flags.StringVar(&q.Role, "role", "", "only this `role`: user, assistant, tool, shell, system, summary or title")
	flags.StringVar(&q.Tool, "tool", "", "only calls and output of this `tool`")
	flags.StringVarP(&q.Agent, "agent", "a", "", "only sessions of this `agent`")
	flags.StringVar(&q.Key, "key", "", "only sessions of this `key`")
	flags.StringVar(&q.Source, "source", "", "only sessions of this `tool`; firn for your own")
	flags.StringVar(&q.Path, "path", "", "only sessions started in this `directory`, or calls with a matching file")
	flags.StringVar(&q.Session, "session", "", "only this `session`, by its id or the start of it")
	flags.StringVar(&q.Since, "since", "", "only since this `time`: a date, a time, or an age (7d, 12h)")
	flags.StringVar(&q.Until, "until", "", "only until this `time`")
	flags.StringVar(&q.In, "in", "", "`part` to search: talk, tools or all")
	flags.StringVar(&q.Machines, "machines", "", "`rank` of sessions of jobs, hooks and sub-agents: lower, equal, hide or only (default lower)")
}

// search searches messages. It waits while the index is being built.
func (p findCommands) search(ctx context.Context, c *client.Client, q wire.SearchQuery, explain bool) error {
	q.Key = keyOf(q.Key)
	found, err := c.Search(ctx, q)
	if err == nil && found.Index != nil && found.Index.Building && !found.Index.Rebuilding {
		if _, err = p.awaitIndex(ctx, c); err == nil {
			found, err = c.Search(ctx, q)
		}
	}
	if err != nil {
		return err
	}
	if found.Unread > 0 {
		p.notef("firn: %s could not be read and searched\nhint: run firn ls, then firn verify\n", prose.Plural(found.Unread, "place"))
	}
	text := func() string { return wrapText(p.foundText(found, explain, q.Group), columnsOf(p.stdout)) }
	if len(found.Items) == 0 {
		text = func() string { return "no matches" + p.whyNothing(ctx, c) }
	}
	if err := p.print(found, text); err != nil {
		return err
	}
	return p.unsearched(found.Unsearched)
}

// unsearched prints the sessions that were not searched to stderr, and returns an error if
// there are any. The results were already printed.
func (p findCommands) unsearched(all []wire.Unsearched) error {
	if len(all) == 0 {
		return nil
	}
	for i, u := range all {
		if i == mostListed {
			p.notef("… and %d more\n", len(all)-i)
			break
		}
		p.notef("not searched: %s: %s\n", prose.Clean(string(u.Session)), prose.OneLine(u.Reason, 300))
	}
	return &hinted{&damageError{prose.Plural(len(all), "session") + " could not be read; results may be incomplete"}, "run firn verify"}
}

// indexPoll is the interval at which the progress of the index is polled.
const indexPoll = 100 * time.Millisecond

// awaitIndex waits until the index is up to date, and shows its progress.
func (p findCommands) awaitIndex(ctx context.Context, c *client.Client) (wire.IndexState, error) {
	progress := p.newBar("indexing")
	defer progress.Clear()
	tick := time.NewTicker(indexPoll)
	defer tick.Stop()
	for {
		s, err := c.Index.State(ctx)
		if err != nil || !s.Building {
			return s, err
		}
		progress.Set(s.Read, s.Bytes)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// foundText formats search results. If they are grouped, each session is named once.
func (p findCommands) foundText(f wire.Found, explain, grouped bool) string {
	var lines []string
	for i, h := range f.Items {
		head := p.hitHead(h)
		if grouped && i > 0 && f.Items[i-1].Session == h.Session {
			head = "  " + p.hitPlace(h)
		}
		lines = append(lines, head)
		if explain {
			lines = append(lines, "  "+scoreText(h))
		}
		for _, item := range h.Window {
			lines = append(lines, itemLines(item)...)
		}
		lines = append(lines, "")
	}
	end := prose.Plural(len(f.Items), "hit")
	if f.Cursor != "" {
		end += " · more: --cursor " + f.Cursor
	}
	if f.Index != nil && f.Index.Building {
		end += fmt.Sprintf(" · index in progress (%d of %d sessions); results may be incomplete", f.Index.Done, f.Index.Total)
	}
	return strings.Join(append(lines, end), "\n") + "\n"
}

// hitHead returns the line above a hit with its location.
func (p findCommands) hitHead(h wire.Hit) string {
	parts := []string{prose.Clean(string(h.Session)) + "  " + prose.OneLine(h.Title, 48)}
	if h.Source != "" && h.Source != "firn" {
		parts = append(parts, prose.Clean(h.Source))
	}
	return strings.Join(append(parts, p.hitPlace(h)), " · ")
}

// hitPlace returns the place of a hit in its session, with its time and marks.
func (p findCommands) hitPlace(h wire.Hit) string {
	parts := []string{fmt.Sprintf("#%d %s", h.N, prose.Clean(string(h.Entry))), prose.Ago(h.Time, p.now())}
	parts = append(parts, h.Marks...)
	if n := len(h.Copies); n > 0 {
		parts = append(parts, prose.Count(n, "copy", "copies"))
	}
	return strings.Join(parts, " · ")
}

// scoreText describes the score of a hit, with its greatest parts first.
func scoreText(h wire.Hit) string {
	names := slices.SortedFunc(maps.Keys(h.Parts), func(a, b string) int {
		return cmp.Or(cmp.Compare(h.Parts[b], h.Parts[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, name := range names {
		if text := fmt.Sprintf("%.1f", h.Parts[name]); text != "0.0" {
			parts = append(parts, name+" "+text)
		}
	}
	text := fmt.Sprintf("score %.1f, %.0f%% of the query", h.Score, 100*h.Coverage)
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

// itemLines formats an item of a hit's context: the hit with its full snippet, others on
// one line.
func itemLines(item wire.HitItem) []string {
	who := item.Role
	if !item.Hit {
		return []string{fmt.Sprintf("    %s: %s", who, prose.OneLine(item.Text, 100))}
	}
	var lines []string
	for i, line := range prose.Lines(prose.CleanLines(item.Text)) {
		if i == 0 {
			line = who + ": " + line
		}
		lines = append(lines, "  > "+line)
	}
	return lines
}
