package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/demo"
)

// demoCommands are the commands of the demonstration.
type demoCommands struct{ *program }

func (p demoCommands) demoCommand() *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:     "demo",
		GroupID: "talk",
		Short:   "Show what firn does, in seconds, with real operations",
		Long: `Run a demo in a temporary home: chat, kill the writer with SIGKILL during a
turn, recover, compact, search, fork, undo, branch, hide, remove, purge,
verify. Each line is a real operation through the gateway, with the time it
took; the command fails if any of them does. Your own sessions are not
touched.`,
		Example: "  firn demo\n  firn demo --keep /tmp/firn-demo",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.demo(cmd.Context(), keep)
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "create the demo's home in this `directory` and keep it")
	return cmd
}

// demo runs the demo and prints it.
func (p demoCommands) demo(ctx context.Context, keep string) error {
	if !p.json {
		fmt.Fprint(p.stdout, wrapText("Each line is a real operation whose result was checked.\n\n", columnsOf(p.stdout)))
	}
	story, err := demo.Run(ctx, demo.Options{Open: p.openDemo, Keep: keep, OnLine: p.printDemoLine})
	if err != nil || p.json {
		return err
	}
	end := fmt.Sprintf("\n%d steps, %.1f s. %s", story.Steps, story.Took.Seconds(), demoEnd(keep, story.Transcript))
	_, err = fmt.Fprint(p.stdout, wrapText(end, columnsOf(p.stdout)))
	return err
}

// openDemo starts a separate gateway for the demo. It ignores homes, gateways and models
// from the environment.
func (p demoCommands) openDemo(ctx context.Context, home string, report func(string)) (*client.Client, func() error, error) {
	own := p.isolated(home)
	settings, err := own.settings()
	if err != nil {
		return nil, nil, err
	}
	return own.inProcess(ctx, GatewayOptions{Home: settings.Home, Settings: settings, Report: report})
}

// isolated returns the program with another home and without firn's environment variables.
func (p demoCommands) isolated(home string) *program {
	const ours = "FIRN_"
	own := *p.program
	own.home, own.address = home, ""
	own.environ = slices.DeleteFunc(slices.Clone(p.environ), func(v string) bool { return strings.HasPrefix(v, ours) })
	own.env = func(name string) string {
		if strings.HasPrefix(name, ours) {
			return ""
		}
		return p.env(name)
	}
	return &own
}

// printDemoLine prints one line of the demo.
func (p demoCommands) printDemoLine(line demo.Line) error {
	if p.json {
		return writeJSON(p.stdout, "", line)
	}
	_, err := fmt.Fprint(p.stdout, demoText(line, columnsOf(p.stdout)))
	return err
}

// demoText formats one line of the demo. On a screen the result is wrapped next to the step,
// or below it if the screen is narrow; a width of zero does not wrap.
func demoText(line demo.Line, width int) string {
	sign := "✓"
	if !line.OK {
		sign = "✗"
	}
	head := fmt.Sprintf("%s %-30s %7s  ", sign, line.Step, demoTime(line.Ms))
	indent := prose.Width(head)
	if width <= 0 || indent+prose.Width(line.Result) <= width {
		return head + line.Result + "\n"
	}
	var b strings.Builder
	if width < 2*indent-8 { // narrower than 76
		indent = 4
		b.WriteString(prose.Wrap(fmt.Sprintf("%s %s, %s", sign, line.Step, demoTime(line.Ms)), width)[0] + "\n")
	} else {
		b.WriteString(head)
	}
	for i, row := range prose.Wrap(line.Result, width-indent) {
		if i > 0 || indent == 4 {
			b.WriteString(strings.Repeat(" ", indent))
		}
		b.WriteString(row + "\n")
	}
	return b.String()
}

// demoTime formats the duration of a step.
func demoTime(ms float64) string {
	if ms < 1000 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// demoEnd returns suggestions for next steps.
func demoEnd(keep, transcript string) string {
	if keep == "" {
		return `The files are removed; --keep DIR keeps them.
next: firn chat          chat; every message is saved
      firn verify FILE   check a session file of firn or pi, byte by byte
`
	}
	return fmt.Sprintf(`The files are plain text.
next: less %s
      firn verify --home %s
`, transcript, keep)
}

// demoWriterCommand returns the hidden command of the process that the demo kills.
func (p demoCommands) demoWriterCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "demo-writer SESSION TEXT",
		Hidden: true,
		Args:   args(2, 2, "a session and a text"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			home, err := p.homeDir()
			if err != nil {
				return err
			}
			own := p.isolated(home)
			settings, err := own.settings()
			if err != nil {
				return err
			}
			c, release, err := own.inProcess(cmd.Context(), GatewayOptions{Home: settings.Home, Settings: settings, Watched: true})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, release()) }()
			return demo.Write(cmd.Context(), c, p.stdout, firn.ID(args[0]), args[1])
		},
	}
}
