package cli

import (
	"github.com/spf13/cobra"

	"firn.dev/internal/door/mcp"
)

func (p protocolCommands) mcpCommand() *cobra.Command {
	var readOnly bool
	cmd := &cobra.Command{
		Use:     "mcp",
		GroupID: "gateway",
		Short:   "Speak the Model Context Protocol on stdin and stdout",
		Long: `Let a program that speaks the Model Context Protocol look into sessions and talk in them.
It starts firn mcp and speaks to it on stdin and stdout, until it hangs up.

The tools are list_sessions, read_session and get_window, and, without --read-only,
send_message, fork_session and compact_session; firn://session/ID is what was said in
a session. It works on the gateway that serves the home, or on the home itself if none
does. A gateway speaks the same at /mcp, over HTTP and with its tokens.`,
		Example: `  firn mcp --read-only
  {"mcpServers": {"firn": {"command": "firn", "args": ["mcp"]}}}`,
		Args: none,
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "leave out the tools that change something")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		c, release, err := p.connect(cmd.Context(), GatewayOptions{ReadOnly: readOnly})
		if err != nil {
			return err
		}
		defer func() { err = joinRelease(err, release) }()
		if _, err := c.Agents(cmd.Context()); err != nil { // fail now rather than with the first call
			return err
		}
		return mcp.Serve(cmd.Context(), c, p.stdin, p.stdout, mcp.Options{Version: p.build.Version, ReadOnly: readOnly})
	}
	return cmd
}
