package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"firn/client"
	"firn/internal/prose"
	"firn/wire"
)

func (p *program) maintenanceCommand() *cobra.Command {
	var dry, enforce bool
	count := bound(listBound)
	cmd := &cobra.Command{
		Use:     "maintenance",
		GroupID: "care",
		Short:   "Say what the settings would clear away, and with --enforce do it",
		Long: `Say which sessions the settings of maintenance would clear away, and with --enforce do it.
By default they clear away nothing: everything is kept. What is removed goes to the bin,
and firn restore brings it back. Sessions that run, are pinned, or belong to main keys and
groups are out of reach.`,
		Example: "  firn maintenance --dry-run\n  firn maintenance --enforce --json",
		Args:    none,
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be done (the default)")
	cmd.Flags().BoolVar(&enforce, "enforce", false, "do it")
	cmd.Flags().VarP(&count, "number", "n", "show at most `N` sessions, or all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if dry && enforce {
			return usage(cmd, "firn maintenance either says what it would do or does it, not both")
		}
		if err := p.mustBeOurs(); err != nil {
			return err
		}
		why := looking
		if enforce {
			why = changing
		}
		return p.with(why, func(ctx context.Context, c *client.Client, _ []string) error {
			m, err := c.Maintain(ctx, wire.Maintain{Enforce: enforce})
			if err != nil {
				return err
			}
			if err := p.print(m, func() string { return maintenanceText(m, int(count)) }); err != nil || m.Failed == 0 {
				return err
			}
			return errPartial
		})(cmd, args)
	}
	return cmd
}

// maintenanceText is what is cleared away as people read it.
func maintenanceText(m wire.Maintenance, most int) string {
	var rows [][]string
	for i, a := range m.Actions {
		if most > 0 && i == most {
			break
		}
		outcome := a.Outcome
		if a.Error != "" {
			outcome += ": " + prose.OneLine(a.Error, 80)
		}
		rows = append(rows, []string{a.Do, string(a.Session), prose.OneLine(a.Title, 32), prose.Size(a.Bytes), prose.Clean(a.Why), outcome})
	}
	lines := prose.Table(rows)
	if n := len(m.Actions) - len(rows); n > 0 {
		lines = append(lines, fmt.Sprintf("%s more not shown (-n all)", prose.Plural(n, "session")))
	}
	word := "would be"
	if m.Done {
		word = "were"
	}
	return strings.Join(append(lines, fmt.Sprintf("of %s, %d %s moved to the bin (%s) and %d archived · 0 bytes removed",
		prose.Plural(m.Sessions, "session"), m.Removed, word, prose.Size(m.BytesBinned), m.Archived)), "\n") + "\n"
}
