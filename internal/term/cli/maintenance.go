package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p checkCommands) maintenanceCommand() *cobra.Command {
	var dry, enforce bool
	count := bound(listBound)
	cmd := &cobra.Command{
		Use:     "maintenance",
		GroupID: "care",
		Short:   "Show what the maintenance settings would remove; --enforce does it",
		Long: `Show which sessions the maintenance settings would remove; with --enforce,
remove them. The defaults remove nothing. Removed sessions go to the trash bin,
and firn restore restores them until maintenance.bin_retention or bin_max_bytes
erases them. Sessions that are running, pinned, current for their key, or
belong to main keys or groups are always kept. Their number, and the limits
that remain exceeded because of them, are printed below the list.`,
		Example: "  firn maintenance --dry-run\n  firn maintenance --enforce --json",
		Args:    none,
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the plan without changing anything (the default)")
	cmd.Flags().BoolVar(&enforce, "enforce", false, "remove the sessions")
	cmd.Flags().VarP(&count, "number", "n", "show at most `N` sessions, or all")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if dry && enforce {
			return usage(cmd, "--dry-run and --enforce cannot be combined")
		}
		if err := p.mustBeOurs(); err != nil {
			return err
		}
		why := readOnly
		if enforce {
			why = mayChange
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

// maintenanceText formats a maintenance report.
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
	lines = append(lines, fmt.Sprintf("of %s, %d %s moved to the trash bin (%s) and %d archived",
		prose.Plural(m.Sessions, "session"), m.Removed, word, prose.Size(m.BytesBinned), m.Archived))
	if m.BinSessions > 0 || m.Erased > 0 {
		lines = append(lines, fmt.Sprintf("of %s in the trash bin (%s), %d %s permanently erased (%s)",
			prose.Plural(m.BinSessions, "session"), prose.Size(m.BinBytes), m.Erased, word, prose.Size(m.BytesErased)))
	}
	return strings.Join(append(append(lines, protectedText(m)...), exceededText(m)...), "\n") + "\n"
}

// protections explains why a session is kept, by its name in the report.
var protections = map[string]string{
	"current": "their key points at them", "group": "they belong to a group or channel", "main": "they belong to the main key",
	"pinned": "an entry has the label pin", "running": "a turn is running, or a client follows them", "just used": "used within the last hour",
	"age not known": "no entry has a time", "cannot be read": "damaged",
}

// protectedText formats the number of sessions that are kept despite a limit, and why.
func protectedText(m wire.Maintenance) []string {
	var lines []string
	for _, why := range slices.Sorted(maps.Keys(m.Kept)) {
		line := fmt.Sprintf("kept despite a limit: %s, %s", prose.Plural(m.Kept[why], "session"), prose.Clean(why))
		if more := protections[why]; more != "" {
			line += " (" + more + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// exceededText lists the limits that stay exceeded.
func exceededText(m wire.Maintenance) []string {
	var lines []string
	for _, e := range m.Exceeded {
		is, limit := prose.Size(e.Is), prose.Size(e.Limit)
		if e.Agent != "" || e.Setting == "max_entries" {
			is, limit = prose.Plural(int(e.Is), "session")+" of agent "+prose.Clean(e.Agent), prose.Grouped(e.Limit)
		}
		line := fmt.Sprintf("%s is still exceeded: %s, limit %s", prose.Clean(e.Setting), is, limit)
		if e.Setting == "max_disk_bytes" && e.Bin > 0 {
			line += fmt.Sprintf("; %s of it in the trash bin (firn bin empty)", prose.Size(e.Bin))
		}
		lines = append(lines, line)
	}
	return lines
}
