package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"firn"
	"firn/internal/demo"
)

func (p *program) demoCommand() *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:     "demo",
		GroupID: "other",
		Short:   "Walk through the whole story in seconds, each line a real operation",
		Long: `Walk through the story of firn in a home of its own: talk, kill the writer in the
middle of it, recover, branch, hide, compact, undo, remove, erase, verify. Every line is
a real operation on real files, and the command fails if one of them does. Your own
sessions are not touched.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.demo(cmd.Context(), keep)
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "make the demo's home in this `directory` and keep it")
	return cmd
}

// demo walks through the story and prints it.
func (p *program) demo(ctx context.Context, keep string) error {
	if !p.json {
		fmt.Fprint(p.stdout, "Each line is a real operation on real files, checked after it was done.\n\n")
	}
	story, err := demo.Walk(ctx, demo.Options{Keep: keep, Tell: p.tell})
	if err != nil || p.json {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "\n%d steps, %.1f s. %s", story.Steps, story.Took.Seconds(), demoEnd(keep, story.Transcript))
	return err
}

// tell prints one line of the story.
func (p *program) tell(line demo.Line) error {
	if p.json {
		return writeJSON(p.stdout, "", line)
	}
	sign := "✓"
	if !line.OK {
		sign = "✗"
	}
	_, err := fmt.Fprintf(p.stdout, "%s %-31s%s\n", sign, line.Step, line.Result)
	return err
}

// demoEnd says what to do next.
func demoEnd(keep, transcript string) string {
	if keep == "" {
		return `The files are gone again; --keep DIR keeps them.
next: firn verify FILE   looks at a session file of firn or pi, byte by byte
      make test          every promise has its test
`
	}
	return fmt.Sprintf(`The files are plain text: look at them.
next: less %s
      firn verify --home %s
      make test
`, transcript, keep)
}

// demoWriterCommand is the process that the demo kills.
func (p *program) demoWriterCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "demo-writer SESSION",
		Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, "firn demo-writer takes one session")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			home, err := p.homeDir()
			if err != nil {
				return err
			}
			return demo.Write(cmd.Context(), p.stdout, home, firn.ID(args[0]))
		},
	}
}
