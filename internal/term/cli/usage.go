package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p gatewayCommands) usageCommand() *cobra.Command {
	var by, and, since string
	table := false
	count := bound(listBound)
	cmd := &cobra.Command{
		Use:     "usage",
		GroupID: "gateway",
		Short:   "Show token usage by day, model, agent or session",
		Long: `Show how many tokens sessions have used and what they cost, as reported by the
providers. --since takes a date (2026-11-01), a time, or an age (7d, 12h).`,
		Example: "  firn usage\n  firn usage --by model --since 30d --json\n  firn usage --by day --and model --csv > usage.csv", Args: none,
	}
	cmd.Flags().StringVar(&by, "by", "day", "group by `field`: day, model, agent or session")
	cmd.Flags().StringVar(&and, "and", "", "second grouping `field`: day, model, agent or session")
	cmd.Flags().BoolVar(&table, "csv", false, "print comma-separated values")
	cmd.Flags().StringVar(&since, "since", "", "only usage since this `time`")
	cmd.Flags().VarP(&count, "number", "n", "show at most `N` lines, or all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, word := range []string{by, and} {
			if !slices.Contains([]string{"day", "model", "agent", "session"}, word) && (word != "" || word == by) {
				return usage(cmd, "cannot group by %q; use day, model, agent or session", word)
			}
		}
		from, err := parseTime("--since", since, p.now())
		if err != nil {
			return usage(cmd, "%s", err)
		}
		return p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error {
			q := client.UsageQuery{By: by, And: and, Since: from}
			if table {
				return c.UsageTable(ctx, q, p.stdout)
			}
			s, err := c.UsageOf(ctx, q)
			if err != nil {
				return err
			}
			if len(s.Rows) == 0 {
				return p.print(s, func() string { return "no usage" + p.whyNothing(ctx, c) })
			}
			return p.print(s, func() string { return usageTable(s, int(count)) })
		})(cmd, args)
	}
	return cmd
}

// parseTime parses a flag value: a day, a time or an age.
func parseTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.DateOnly, "2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Time{}, &usageError{
		message: fmt.Sprintf("%s takes a date such as 2026-11-01, a time, or an age such as 7d or 12h, not %q", flag, text),
		hint:    "for the last day: " + flag + " 1d",
	}
}

// usageTable formats usage.
func usageTable(s wire.Spending, most int) string {
	head := s.By
	if s.And != "" {
		head += " · " + s.And
	}
	rows := [][]string{{strings.ToUpper(head), "CALLS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST"}}
	cut := 0
	for i, r := range s.Rows {
		if most > 0 && i == most {
			cut = len(s.Rows) - i
			break
		}
		name := spenderName(s.By, r.Name, r.Title)
		if s.And != "" {
			name += " · " + spenderName(s.And, r.And, r.Title)
		}
		rows = append(rows, countersRow(prose.OneLine(name, 48), r.Counters))
	}
	rows = append(rows, countersRow("total", s.Total))
	lines := prose.Columns(rows, "lrrrrrr")
	if cut > 0 {
		lines = append(lines, fmt.Sprintf("%s more not shown (-n all)", prose.Plural(cut, "line")))
	}
	if s.Partial {
		lines = append(lines, fmt.Sprintf("includes only the latest %s", prose.Plural(s.Sessions, "session")))
	}
	return strings.Join(lines, "\n") + "\n"
}

// spenderName returns the label of a row of usage.
func spenderName(by, name, title string) string {
	if by == "session" {
		return prose.Short(firn.ID(name)) + " " + title
	}
	return name
}

func countersRow(name string, c wire.Counters) []string {
	return []string{
		name, prose.Grouped(int64(c.Answers)), prose.Grouped(c.Input), prose.Grouped(c.Output),
		prose.Grouped(c.CacheRead), prose.Grouped(c.CacheWrite), cmp.Or(prose.Dollars(c.Cost), "–"),
	}
}
