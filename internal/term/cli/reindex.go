package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p findCommands) reindexCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:     "reindex",
		GroupID: "care",
		Short:   "Rebuild the indexes from the sessions; --check compares them",
		Long: `Rebuild the indexes of the home from its sessions: the catalog and the
full-text index. This is rarely needed: a missing, damaged or outdated index is
repaired automatically. The current indexes stay usable meanwhile.

With --check nothing is built: all sessions are read and compared with the
indexes. Exits with 8 if they differ.`,
		Example: "  firn reindex\n  firn reindex --check --json",
		Args:    none,
	}
	cmd.Flags().BoolVar(&check, "check", false, "only compare the indexes with the sessions")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error {
			if check {
				return p.checkIndex(ctx, c)
			}
			if _, err := c.Index.Rebuild(ctx); err != nil {
				return err
			}
			state, err := p.awaitIndex(ctx, c)
			if err == nil && state.Failed != "" {
				err = fmt.Errorf("rebuild the indexes: %s", state.Failed)
			}
			if err != nil {
				return err
			}
			return p.print(state, func() string { return "indexes rebuilt\n" })
		})(cmd, args)
	}
	return cmd
}

// checkIndex compares the indexes with the sessions.
func (p findCommands) checkIndex(ctx context.Context, c *client.Client) error {
	r, err := c.Index.Check(ctx)
	if err != nil {
		return err
	}
	if err := p.print(r, func() string { return indexReportText(r) }); err != nil || r.OK {
		return err
	}
	return errIntegrity
}

func indexReportText(r wire.IndexReport) string {
	if r.OK {
		return "indexes match the sessions\n"
	}
	var lines []string
	for _, d := range r.Differences {
		where := d.Index
		if d.Session != "" {
			where += " " + d.Session
		}
		lines = append(lines, prose.Clean(where+": "+d.Detail))
	}
	return strings.Join(append(lines, fmt.Sprintf("%s; to rebuild them: firn reindex", prose.Plural(len(r.Differences), "difference"))), "\n") + "\n"
}
