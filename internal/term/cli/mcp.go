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
		Short:   "Serve the Model Context Protocol, and manage MCP servers of agents",
		Long: `Give a client of the Model Context Protocol access to sessions. The client
starts firn mcp and exchanges messages with it on stdin and stdout until it
disconnects.

The tools list, read and search sessions and recall notes; without --read-only
they also send messages, fork and compact sessions, and change notes. Sessions,
entries, images and notes are resources, such as firn://session/ID. There are
prompts to summarize and continue a session. firn mcp uses the gateway of the
home, or works on the home directly if none is running. A gateway offers the
same at /mcp over HTTP, with its tokens.

The subcommands are about the other direction: servers whose tools firn's agents
can use. They are in the settings, or in the file .mcp.json of a project.`,
		Example: `  firn mcp --read-only
  {"mcpServers": {"firn": {"command": "firn", "args": ["mcp"]}}}`,
		Args: none,
	}
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "omit the tools that change sessions")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		c, release, err := p.connect(cmd.Context(), GatewayOptions{ReadOnly: readOnly})
		if err != nil {
			return err
		}
		defer func() { err = joinRelease(err, release) }()
		if _, err := c.Agents(cmd.Context()); err != nil { // fail now rather than with the first call
			return err
		}
		return mcp.Serve(cmd.Context(), c, p.stdin, p.stdout, mcp.Options{Version: p.build.Version, ReadOnly: readOnly, Alone: c.Address() == inProcess})
	}
	cmd.AddCommand(p.mcpListCommand(), p.mcpAddCommand(), p.mcpRemoveCommand(), p.mcpTestCommand(),
		p.mcpApproveCommand(), p.mcpRevokeCommand())
	return cmd
}
