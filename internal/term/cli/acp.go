package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"firn.dev/internal/door/acp"
)

// protocolCommands are the commands that serve other protocols on stdin and stdout.
type protocolCommands struct{ *program }

func (p protocolCommands) acpCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:     "acp",
		GroupID: "gateway",
		Short:   "Speak the Agent Client Protocol on stdin and stdout, for editors",
		Long: `Let an editor that speaks the Agent Client Protocol talk to an agent. It starts firn acp
and speaks to it on stdin and stdout, until it hangs up. What is said is kept in
sessions like any other: the editor can load them again, and firn chat goes on with
them.

It works on the gateway that serves the home, with that one's tools, or, if none does,
on the home itself; then the flags say what the agent's tools may touch, as for
firn chat.`,
		Example: `  firn acp --workspace .
  {"agent_servers": {"firn": {"command": "firn", "args": ["acp", "--workspace", "."]}}}`,
		Args: none,
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.Agent, "agent", "a", "", "the `name` of the agent (default main)")
	flags.StringVarP(&f.Model, "model", "m", "", "who answers in new sessions: `provider/model`")
	flags.StringVar(&f.workspace, "workspace", "", "the `directory` that the tools read and write in (default the current one, only to be read)")
	flags.BoolVar(&f.shell, "allow-shell", false, "let the agent run commands, with all that you may do")
	flags.BoolVar(&f.noTools, "no-tools", false, "let the agent only talk")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.acp(cmd, f) }
	return cmd
}

func (p protocolCommands) acp(cmd *cobra.Command, f chatFlags) (err error) {
	dir, err := f.directory()
	if err != nil {
		return err
	}
	if f.shell && f.noTools {
		return usage(cmd, "--allow-shell and --no-tools do not go together")
	}
	c, release, err := p.connect(cmd.Context(), GatewayOptions{
		Model: f.Model, Tools: &Tools{Workspace: dir, Write: f.workspace != "", Shell: f.shell, None: f.noTools},
	})
	if err != nil {
		return err
	}
	defer func() { err = joinRelease(err, release) }()
	if c.Address() != inProcess && (f.workspace != "" || f.shell || f.noTools) {
		return usage(cmd, "the gateway at %s has tools of its own; --workspace, --allow-shell and --no-tools are for when there is none", c.Address())
	}
	if _, err := c.Agents(cmd.Context()); err != nil { // fail now rather than with the first prompt
		return err
	}
	return acp.Serve(cmd.Context(), c, p.stdin, p.stdout, acp.Options{Version: p.build.Version, Agent: f.Agent, Model: f.Model})
}

// joinRelease releases a gateway and joins the errors.
func joinRelease(err error, release func() error) error { return errors.Join(err, release()) }
