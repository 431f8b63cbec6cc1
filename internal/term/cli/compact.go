package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// compactCommands are the commands of compactions.
type compactCommands struct{ *program }

func (p compactCommands) compactCommand() *cobra.Command {
	var q wire.Compact
	cmd := &cobra.Command{
		Use:     "compact SESSION",
		GroupID: "compact",
		Short:   "Summarize everything but the latest messages",
		Long: `Replace everything but the latest messages in the window with a summary, to
make room. The log keeps everything, and firn uncompact undoes it.

` + sessionHelp,
		Example: "  firn compact - --hint 'keep the names of the hotels'\n  firn compact 0198c5a2 --plan", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			s, err := p.session(ctx, c, args[0])
			if err != nil {
				return err
			}
			done, err := c.Compact(ctx, s.ID, q)
			if err != nil {
				return err
			}
			return p.print(done, func() string { return compactText(s, done) })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Hint, "hint", "", "`instructions` for the summary")
	flags.Int64Var(&q.KeepRecent, "keep-recent", 0, "keep about this many `tokens` of the latest messages verbatim (default from the settings)")
	flags.StringVar(&q.Model, "model", "", "model that writes the summary, as `provider/model`")
	flags.BoolVar(&q.Plan, "plan", false, "print the plan without changing anything")
	return cmd
}

// compactText formats a compaction, or the plan of one.
func compactText(s wire.Session, c wire.Compacted) string {
	short := prose.Short(s.ID)
	if plan := c.Plan; plan != nil && plan.Nothing != "" {
		return prose.Clean(plan.Nothing) + "; no changes made\n"
	} else if plan != nil {
		text := fmt.Sprintf("would summarize %s, about %s tokens, and keep %s, about %s", prose.Count(plan.Summarised, "entry", "entries"), prose.Grouped(plan.SummarisedTokens),
			prose.Count(plan.Kept, "entry", "entries"), prose.Grouped(plan.KeptTokens))
		if plan.Split {
			text += "; the cut is inside a turn"
		}
		return text + "; no changes made\n"
	}
	text := fmt.Sprintf("compacted %s%s: ~%s → ~%s tokens, %s · 0 bytes removed\n", short, quotedName(s.Title), prose.Grouped(c.Before), prose.Grouped(c.After), prose.Clean(c.Strategy))
	for _, l := range prose.Lines(c.Summary) {
		text += strings.TrimRight("  "+l, " ") + "\n"
	}
	return text + "undo: firn uncompact " + short + "\n"
}

func (p compactCommands) uncompactCommand() *cobra.Command {
	var redo, plan bool
	cmd := &cobra.Command{
		Use:     "uncompact SESSION [COMPACTION]",
		GroupID: "compact",
		Short:   "Undo a compaction, or redo it with --redo",
		Long: `Undo a compaction: the active one, or the one given by its entry, as listed by
firn compactions. The summarized messages return to the window. --redo restores
the compaction undone last, or the given one.

` + sessionHelp,
		Example: "  firn uncompact -\n  firn uncompact - --redo", Args: args(1, 2, "a session and optionally a compaction"), ValidArgsFunction: p.completeSession(false),
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			return p.uncompact(ctx, c, args, redo, plan)
		}),
	}
	cmd.Flags().BoolVar(&redo, "redo", false, "redo an undone compaction")
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	return cmd
}

// uncompact undoes a compaction, or redoes an undone one.
func (p compactCommands) uncompact(ctx context.Context, c *client.Client, args []string, redo, plan bool) error {
	s, err := p.session(ctx, c, args[0])
	if err != nil {
		return err
	}
	change, word, back := c.Undo, "uncompacted", "firn uncompact --redo "
	if redo {
		change, word, back = c.Redo, "compacted again", "firn uncompact "
	}
	printDone := func(done wire.Compaction) error {
		return p.print(done, func() string {
			return fmt.Sprintf("%s %s%s · 0 bytes removed\nundo: %s%s %s\n", word, prose.Short(s.ID), quotedName(s.Title), back, prose.Short(s.ID), done.ID)
		})
	}
	if len(args) == 1 && !plan { // without a list of all, which requires reading the whole session
		done, err := change(ctx, s.ID, latestCompaction)
		if err == nil {
			return printDone(done)
		}
		if wire.KindOf(err) != wire.NotFound {
			return err
		}
	}
	past, err := c.Compactions(ctx, s.ID)
	if err != nil {
		return err
	}
	target, err := pickCompaction(past, strings.Join(args[1:], ""), redo)
	switch {
	case err != nil:
		return err
	case plan && redo:
		return p.plan(s.ID, "uncompact", fmt.Sprintf("would redo compaction %s of %s%s", target, prose.Short(s.ID), quotedName(s.Title)))
	case plan:
		return p.plan(s.ID, "uncompact", fmt.Sprintf("would undo compaction %s of %s%s", target, prose.Short(s.ID), quotedName(s.Title)))
	}
	done, err := change(ctx, s.ID, target)
	if err != nil {
		return err
	}
	return printDone(done)
}

// latestCompaction refers to the compaction in force, or for a redo to the one undone last.
const latestCompaction = "latest"

// pickCompaction finds a compaction by its entry ID or a prefix of it. Without a name it
// returns the one in force, or with redo the latest undone one.
func pickCompaction(past []wire.Compaction, name string, redo bool) (firn.EntryID, error) {
	var found []firn.EntryID
	for _, c := range past {
		switch {
		case name != "" && string(c.ID) == name:
			return c.ID, nil
		case name != "" && len(name) >= shortestEntry && strings.HasPrefix(string(c.ID), name),
			name == "" && !redo && c.Current:
			found = append(found, c.ID)
		case name == "" && redo && c.Undone:
			found = []firn.EntryID{c.ID}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", &wire.Problem{Kind: wire.Ambiguous, Message: fmt.Sprintf("%q matches %d compactions", name, len(found)), Hint: "give more characters of the id"}
	case name != "":
		return "", &hinted{fmt.Errorf("compaction %q: %w", name, firn.ErrNotFound), "to list them: firn compactions SESSION"}
	case redo:
		return "", &hinted{failure.Of(firn.ErrNotFound, "no compaction to redo"), "to list them: firn compactions SESSION"}
	}
	return "", &hinted{failure.Of(firn.ErrNotFound, "no active compaction"), "to list them: firn compactions SESSION"}
}

func (p compactCommands) compactionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "compactions SESSION",
		GroupID: "compact",
		Short:   "List the compactions of a session",
		Long:    "List the compactions on a session's branch, including undone ones. The active\none is marked ●.\n\n" + sessionHelp,
		Example: "  firn compactions -", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
		RunE: p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
			s, err := p.session(ctx, c, args[0])
			if err != nil {
				return err
			}
			past, err := c.Compactions(ctx, s.ID)
			if err != nil {
				return err
			}
			page := wire.Page[wire.Compaction]{Items: append([]wire.Compaction{}, past...), Total: len(past)}
			return p.print(page, func() string { return p.compactionsText(past) })
		}),
	}
}

func (p compactCommands) compactionsText(past []wire.Compaction) string {
	if len(past) == 0 {
		return "no compactions on this branch\n"
	}
	rows := [][]string{{"  ENTRY", "WHEN", "TOKENS", "HOW", "SUMMARY"}}
	for _, c := range past {
		mark, how := "  ", c.Strategy
		if c.Current {
			mark = "● "
		}
		if c.Undone {
			how = "undone"
		}
		at, err := time.Parse(time.RFC3339Nano, c.At)
		if err != nil {
			at = time.Time{} // unknown
		}
		rows = append(rows, []string{
			mark + string(c.ID), prose.Ago(at, p.now()), "~" + prose.Thousands(c.Before) + " → ~" + prose.Thousands(c.After), prose.Clean(how), prose.OneLine(c.Summary, 60),
		})
	}
	return strings.Join(prose.Table(rows), "\n") + "\n"
}
