package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// changeCommands are the commands that create sessions and add to them.
type changeCommands struct{ *program }

func (p changeCommands) newCommand() *cobra.Command {
	var n wire.NewSession
	var plan bool
	cmd := &cobra.Command{
		Use:     "new",
		GroupID: "sessions",
		Short:   "Create a session and print its id",
		Long: `Create a session and print its id. With --key, print the session that the key
points at, and create one only if there is none. --fresh always creates a new
session and points the key at it; the old session remains.`,
		Example: "  firn new --title 'a trip to Oslo'\n  id=$(firn new --key agent:main:reviews --fresh)", Args: none,
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, _ []string) error {
			if plan {
				return p.planNew(ctx, c, n)
			}
			s, err := c.NewSession(ctx, n)
			if err != nil {
				return err
			}
			return p.print(s, func() string { return string(s.ID) + "\n" })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&n.Key, "key", "", "session of this `key`")
	flags.StringVarP(&n.Agent, "agent", "a", "", "`name` of the agent that owns the session")
	flags.StringVar(&n.Title, "title", "", "`title` of the session")
	flags.StringVar(&n.CWD, "cwd", "", "working `directory` of the session (default the current one)")
	flags.BoolVar(&n.Fresh, "fresh", false, "create a new session even if the key has one")
	flags.BoolVar(&plan, "plan", false, "print the plan without changing anything")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if n.Fresh && n.Key == "" {
			return usage(cmd, "--fresh requires --key")
		}
		abs, err := filepath.Abs(n.CWD)
		if err != nil {
			return fmt.Errorf("find directory %s: %w", n.CWD, err)
		}
		n.CWD = abs
		return nil
	}
	return cmd
}

// planNew prints whether a session would be created, or which one exists already.
func (p changeCommands) planNew(ctx context.Context, c *client.Client, n wire.NewSession) error {
	if n.Key == "" {
		return p.plan("", "new", "would create a session")
	}
	k, err := c.Keys.Get(ctx, n.Key)
	switch {
	case err != nil && !errors.Is(err, firn.ErrNotFound):
		return err
	case err != nil || k.Session == "":
		return p.plan("", "new", "would create a session for "+prose.Clean(n.Key))
	case n.Fresh:
		return p.plan(k.Session, "new", fmt.Sprintf("would create a session for %s, which points at %s now", prose.Clean(n.Key), prose.Short(k.Session)))
	}
	return p.plan(k.Session, "new", fmt.Sprintf("would create none: %s already points at %s", prose.Clean(n.Key), prose.Short(k.Session)))
}
