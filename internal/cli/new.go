package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"firn/client"
	"firn/wire"
)

func (p *program) newCommand() *cobra.Command {
	var n wire.NewSession
	cmd := &cobra.Command{
		Use:     "new",
		GroupID: "sessions",
		Short:   "Begin a session and print its id",
		Long: `Begin a session and print its id. With --key it is the session that the key points at,
which is begun only if there is none; with --fresh a new one is begun all the same, and
the key points at it. The old one is kept.`,
		Example: "  firn new --title 'a trip to Oslo'\n  id=$(firn new --key agent:main:reviews --fresh)", Args: none,
		RunE: p.with(changing, func(ctx context.Context, c *client.Client, _ []string) error {
			s, err := c.NewSession(ctx, n)
			if err != nil {
				return err
			}
			return p.print(s, func() string { return string(s.ID) + "\n" })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&n.Key, "key", "", "the session of this `key`")
	flags.StringVarP(&n.Agent, "agent", "a", "", "whose session it is: the `name` of an agent")
	flags.StringVar(&n.Title, "title", "", "what it is called: a `title`")
	flags.StringVar(&n.CWD, "cwd", "", "the `directory` it is about")
	flags.BoolVar(&n.Fresh, "fresh", false, "begin a new one even if the key has one")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if n.Fresh && n.Key == "" {
			return usage(cmd, "--fresh needs a --key; without one the session is new anyway")
		}
		if n.CWD == "" {
			return nil
		}
		abs, err := filepath.Abs(n.CWD)
		if err != nil {
			return fmt.Errorf("find the directory %s: %w", n.CWD, err)
		}
		n.CWD = abs
		return nil
	}
	return cmd
}
