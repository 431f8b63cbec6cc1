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
		Short:   "Build the indexes anew from the sessions, or with --check compare them",
		Long: `Build the indexes of the home anew from its sessions: the catalogue that lists them and
the words they are found by. That is never needed: an index that is missing, damaged or
behind is mended by itself. Those there are can be used meanwhile.

With --check nothing is built: all sessions are read and compared with what the indexes
say. Exits with 8 if they differ.`,
		Example: "  firn reindex\n  firn reindex --check --json",
		Args:    none,
	}
	cmd.Flags().BoolVar(&check, "check", false, "only compare the indexes with the sessions")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error {
			if check {
				return p.checkIndex(ctx, c)
			}
			if _, err := c.Reindex(ctx); err != nil {
				return err
			}
			state, err := p.awaitIndex(ctx, c)
			if err == nil && state.Failed != "" {
				err = fmt.Errorf("build the indexes anew: %s", state.Failed)
			}
			if err != nil {
				return err
			}
			return p.print(state, func() string { return "the indexes were built anew\n" })
		})(cmd, args)
	}
	return cmd
}

// checkIndex compares the indexes with the sessions.
func (p findCommands) checkIndex(ctx context.Context, c *client.Client) error {
	r, err := c.CheckIndex(ctx)
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
		return "the indexes say what the sessions do\n"
	}
	var lines []string
	for _, d := range r.Differences {
		where := d.Index
		if d.Session != "" {
			where += " " + d.Session
		}
		lines = append(lines, prose.Clean(where+": "+d.Detail))
	}
	return strings.Join(append(lines, fmt.Sprintf("%s; firn reindex builds them anew", prose.Plural(len(r.Differences), "difference"))), "\n") + "\n"
}
