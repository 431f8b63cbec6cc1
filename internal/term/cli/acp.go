package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"firn.dev/internal/door/acp"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/mcpclient"
	"firn.dev/internal/ops/serve"
)

// protocolCommands are the commands that serve other protocols on stdin and stdout.
type protocolCommands struct{ *program }

func (p protocolCommands) acpCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:     "acp",
		GroupID: "gateway",
		Short:   "Serve the Agent Client Protocol on stdin and stdout, for editors",
		Long: `Connect an editor that supports the Agent Client Protocol to an agent. The
editor starts firn acp and exchanges messages with it on stdin and stdout until
it disconnects. Messages are saved in ordinary sessions: the editor can load
them again, and firn chat can resume them.

firn acp uses the gateway of the home, with the gateway's tools. If no gateway
is running, it works on the home directly, and the flags set what the agent's
tools may access, as for firn chat.`,
		Example: `  firn acp --workspace .
  {"agent_servers": {"firn": {"command": "firn", "args": ["acp", "--workspace", "."]}}}`,
		Args: none,
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.Agent, "agent", "a", "", "`name` of the agent (default main)")
	flags.StringVarP(&f.Model, "model", "m", "", "model for new sessions, as `provider/model`")
	flags.StringVar(&f.workspace, "workspace", "", "`directory` the tools may read and write (default the current one, read-only)")
	flags.BoolVar(&f.shell, "allow-shell", false, "allow the agent to run commands with your permissions")
	flags.BoolVar(&f.noTools, "no-tools", false, "run the agent without tools")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.acp(cmd, f) }
	return cmd
}

func (p protocolCommands) acp(cmd *cobra.Command, f chatFlags) (err error) {
	dir, err := f.directory()
	if err != nil {
		return err
	}
	if f.shell && f.noTools {
		return usage(cmd, "--allow-shell and --no-tools cannot be combined")
	}
	c, release, err := p.connect(cmd.Context(), GatewayOptions{
		Model: f.Model, Tools: &Tools{Workspace: dir, Write: f.workspace != "", Shell: f.shell, None: f.noTools},
	})
	if err != nil {
		return err
	}
	defer func() { err = joinRelease(err, release) }()
	if c.Address() != inProcess && (f.workspace != "" || f.shell || f.noTools) {
		return usage(cmd, "the gateway at %s uses its own tools; --workspace, --allow-shell and --no-tools only work without a gateway", c.Address())
	}
	if _, err := c.Agents(cmd.Context()); err != nil { // fail now rather than with the first prompt
		return err
	}
	settings, err := p.settings()
	if err != nil {
		return err
	}
	return acp.Serve(cmd.Context(), c, p.stdin, p.stdout, acp.Options{
		Version: p.build.Version, Agent: f.Agent, Model: f.Model, Servers: func(agentName string, servers []acp.Server) acp.ToolHost {
			return p.editorServers(settings, agentName, servers)
		},
	})
}

// editorServers returns the tools of the MCP servers that an editor names for a session.
func (p protocolCommands) editorServers(settings *config.Settings, agentName string, servers []acp.Server) acp.ToolHost {
	var all []mcpclient.Server
	for _, s := range servers {
		one := mcpclient.Server{Name: s.Name, Source: "ACP", Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir, URL: s.URL, Header: s.Header}
		if err := mcpclient.CheckKind("", one); err != nil {
			one.Problem = err.Error()
		}
		all = append(all, one)
	}
	return serve.OpenServers(serve.Options{Settings: settings, Env: p.env, Version: p.build.Version, Report: func(message string) { fmt.Fprintln(p.stderr, message) }}, cmp.Or(agentName, settings.DefaultAgent), all)
}

// joinRelease releases a gateway and joins the errors.
func joinRelease(err error, release func() error) error { return errors.Join(err, release()) }
