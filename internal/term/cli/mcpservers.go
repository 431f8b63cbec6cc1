package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/mcpclient"
	"firn.dev/internal/ops/serve"
	"firn.dev/internal/render/prose"
)

// mcpRow is a server in the list of firn mcp ls.
type mcpRow struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	// Command is the command line, or the URL.
	Command string   `json:"command"`
	Agents  []string `json:"agents,omitempty"`
	// Usable is false if the server is disabled, was not approved or lacks a secret. Problem
	// says why.
	Usable  bool   `json:"usable"`
	Problem string `json:"problem,omitempty"`

	server mcpclient.Server
}

func (p protocolCommands) mcpListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the MCP servers whose tools agents can use",
		Long: `List the servers in the settings (mcp_servers) and in the file .mcp.json of the
project of the current directory. Nothing is started; firn status shows which
servers a running gateway has started.`,
		Example: "  firn mcp ls\n  firn mcp ls --json | jq -r '.items[].name'", Args: none,
		RunE: func(*cobra.Command, []string) error {
			rows, err := p.mcpRows()
			if err != nil {
				return err
			}
			return p.print(map[string]any{"items": rows, "total": len(rows)}, func() string { return mcpText(rows) })
		},
	}
}

// mcpRows returns the servers of the settings and of the project.
func (p protocolCommands) mcpRows() ([]mcpRow, error) {
	s, err := p.settings()
	if err != nil {
		return nil, err
	}
	rows := []mcpRow{}
	for _, name := range slices.Sorted(maps.Keys(s.MCPServers)) {
		m := s.MCPServers[name]
		row := newMCPRow(serve.MCPServer(name, m, p.env))
		if row.Agents = m.Agents; slices.Equal(m.Agents, []string{"*"}) {
			row.Agents = nil
		}
		if !m.Enabled {
			row.Usable, row.Problem = false, "disabled"
		}
		rows = append(rows, row)
	}
	project, err := p.mcpProject(s)
	if err != nil {
		return rows, ignoreNotFound(err)
	}
	for i, x := range project.Servers {
		row := newMCPRow(project.Written[i])
		row.server, row.Usable, row.Problem = x, x.Problem == "", x.Problem
		if !project.Approved {
			row.Usable, row.Problem = false, "not approved; to review and use it: firn mcp approve"
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// newMCPRow returns the row of a server.
func newMCPRow(s mcpclient.Server) mcpRow {
	command := s.URL
	if s.Command != "" {
		command = quoteAll(append([]string{s.Command}, s.Args...))
	}
	return mcpRow{Name: s.Name, Source: s.Source, Command: command, Usable: s.Problem == "", Problem: s.Problem, server: s}
}

// ignoreNotFound returns nil if a project has no file of servers.
func ignoreNotFound(err error) error {
	if errors.Is(err, firn.ErrNotFound) {
		return nil
	}
	return err
}

// mcpProject reads the servers of the project of the current directory.
func (p protocolCommands) mcpProject(s *config.Settings) (*serve.MCPProject, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	project, err := serve.ReadMCPProject(s.Home, dir, p.env)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, firn.ErrNotFound) {
		err = &hinted{err, "create .mcp.json in the project's root, or: firn mcp add NAME -- COMMAND"}
	}
	return project, err
}

// mcpText formats servers.
func mcpText(rows []mcpRow) string {
	if len(rows) == 0 {
		return "no MCP servers; to add one: firn mcp add NAME -- COMMAND\n"
	}
	var table [][]string
	for _, r := range rows {
		about := r.Problem
		if len(r.Agents) > 0 && about == "" {
			about = "agents " + strings.Join(r.Agents, ", ")
		}
		table = append(table, []string{prose.Clean(r.Name), r.Source, prose.OneLine(r.Command, 60), prose.OneLine(about, 80)})
	}
	return strings.Join(prose.Columns(table, "llll"), "\n") + "\n"
}

// mcpAddFlags describe a server to add.
type mcpAddFlags struct {
	url, tokenEnv               string
	env, passEnv, agents, allow []string
	headersEnv                  []string
	shared, trustReadOnly       bool
}

func (p protocolCommands) mcpAddCommand() *cobra.Command {
	var f mcpAddFlags
	cmd := &cobra.Command{
		Use: "add NAME [-- COMMAND [ARG...]]", Short: "Add an MCP server to the settings",
		Long: `Add a server of the Model Context Protocol: a program that firn starts, or with
--url an address. Agents then have its tools as mcp__NAME__TOOL. Nothing is
started now; to try it, run firn mcp test NAME.

The program gets common environment variables such as PATH and HOME, those of
--pass-env, and those of --env. Secrets are not stored in the settings: pass the
name of a variable with --pass-env or --token-env.`,
		Example: "  firn mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes\n  firn mcp add issues --url https://mcp.example.org/mcp --token-env ISSUES_TOKEN",
		Args:    args(1, -1, "the name of a server"),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.mcpAdd(cmd, f, args[0], args[1:]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "the `address` of a server over streamable HTTP")
	flags.StringVar(&f.tokenEnv, "token-env", "", "the `variable` that holds the bearer token for --url")
	flags.StringArrayVar(&f.headersEnv, "header-env", nil, "a header for --url, as `NAME=VARIABLE`")
	flags.StringArrayVar(&f.env, "env", nil, "an environment variable for the program, as `NAME=VALUE`")
	flags.StringArrayVar(&f.passEnv, "pass-env", nil, "a `variable` to pass to the program")
	flags.StringArrayVar(&f.agents, "agent", nil, "an `agent` that can use it (default all)")
	flags.StringArrayVar(&f.allow, "tool", nil, "a `tool` of the server to enable; * matches any characters (default all)")
	flags.BoolVar(&f.shared, "shared", false, "allow turns of people from outside and of bound tokens to use it")
	flags.BoolVar(&f.trustReadOnly, "trust-read-only", false, "trust the server's hints about which tools only read; they need no approval")
	return cmd
}

// mcpChange is the result of adding or removing a server.
type mcpChange struct {
	Name string `json:"name"`
	File string `json:"file"`
	Undo string `json:"undo"`

	done string
}

func (c mcpChange) text() string {
	return fmt.Sprintf("%s %s in %s\nundo: %s\n", c.done, c.Name, c.File, c.Undo)
}

// mcpAdd adds a server to the settings.
func (p protocolCommands) mcpAdd(cmd *cobra.Command, f mcpAddFlags, name string, command []string) error {
	if (f.url == "") == (len(command) == 0) {
		return usage(cmd, "give a command after --, or --url")
	}
	s, err := p.settings()
	if err != nil {
		return err
	}
	if _, there := s.MCPServers[name]; there {
		return &hinted{failure.Of(firn.ErrConflict, "there is already an MCP server %s", name), "to remove it: firn mcp rm " + quote(name)}
	}
	m := config.MCPServer{
		URL: f.url, TokenEnv: f.tokenEnv, PassEnv: f.passEnv, Agents: f.agents, Tools: config.Tools{Allow: f.allow},
		Shared: f.shared, TrustReadOnly: f.trustReadOnly, Enabled: true,
	}
	if len(command) > 0 {
		m.Command, m.Args = command[0], command[1:]
	}
	if m.Env, err = pairs(f.env); err == nil {
		m.HeadersEnv, err = pairs(f.headersEnv)
	}
	if err != nil {
		return usage(cmd, "%s", err)
	}
	if _, err := s.Set(config.JoinPath("mcp_servers", name), mcpTable(m)); err != nil {
		return &hinted{err, "docs/configuration.md describes mcp_servers"}
	}
	change := mcpChange{Name: name, File: s.Path(), Undo: p.again("firn mcp rm " + quote(name)), done: "added"}
	return p.print(change, change.text)
}

// pairs splits NAME=VALUE.
func pairs(list []string) (map[string]string, error) {
	var m map[string]string
	for _, x := range list {
		name, value, ok := strings.Cut(x, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("got %.40q, expected NAME=VALUE", x)
		}
		if m == nil {
			m = make(map[string]string)
		}
		m[name] = value
	}
	return m, nil
}

// mcpTable returns the settings of a server that are not defaults, as a TOML table.
func mcpTable(m config.MCPServer) string {
	var members []string
	add := func(key, value string) { members = append(members, key+" = "+value) }
	text := func(key, value string) {
		if value != "" {
			add(key, tomlText(value))
		}
	}
	list := func(key string, values []string) {
		if len(values) > 0 && !slices.Equal(values, []string{"*"}) {
			add(key, tomlList(values))
		}
	}
	text("command", m.Command)
	list("args", m.Args)
	text("directory", m.Directory)
	table(add, "env", m.Env)
	list("pass_env", m.PassEnv)
	text("url", m.URL)
	text("token_env", m.TokenEnv)
	text("token_file", m.TokenFile)
	table(add, "headers_env", m.HeadersEnv)
	text("oauth_client_id", m.ClientID)
	text("oauth_secret_env", m.SecretEnv)
	text("oauth_secret_file", m.SecretFile)
	list("agents", m.Agents)
	list("tools.allow", m.Tools.Allow)
	list("tools.deny", m.Tools.Deny)
	for key, set := range map[string]bool{"enabled": !m.Enabled, "shared": m.Shared, "trust_read_only": m.TrustReadOnly} {
		if set {
			add(key, strconv.FormatBool(key != "enabled"))
		}
	}
	slices.Sort(members)
	return "{ " + strings.Join(members, ", ") + " }"
}

// tomlText returns a string in TOML, whose escapes include those of JSON.
func tomlText(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return `""` // unreachable: a string can be encoded
	}
	return string(data)
}

// tomlList returns a list of strings in TOML.
func tomlList(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = tomlText(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// table adds a table of strings.
func table(add func(key, value string), key string, values map[string]string) {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		members = append(members, tomlText(name)+" = "+tomlText(values[name]))
	}
	if len(members) > 0 {
		add(key, "{ "+strings.Join(members, ", ")+" }")
	}
}

func (p protocolCommands) mcpRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME", Short: "Remove an MCP server from the settings",
		Example: "  firn mcp rm files", Args: args(1, 1, "the name of a server"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := p.settings()
			if err != nil {
				return err
			}
			name, at := args[0], config.JoinPath("mcp_servers", args[0])
			m, there := s.MCPServers[name]
			if !there {
				return &hinted{failure.Of(firn.ErrNotFound, "there is no MCP server %s in the settings", prose.OneLine(name, 80)), "firn mcp ls lists them"}
			}
			old, inline := s.InlineTable(at)
			if !inline {
				old = mcpTableOf(m)
			}
			if _, err := s.UnsetTable(at); err != nil {
				return err
			}
			change := mcpChange{Name: name, File: s.Path(), Undo: p.again("firn config set " + quote(at) + " " + quote(old)), done: "removed"}
			return p.print(change, change.text)
		},
	}
}

// mcpTableOf returns the settings of a server as a table, with limits of time that differ from
// the defaults.
func mcpTableOf(m config.MCPServer) string {
	text := strings.TrimSuffix(mcpTable(m), " }")
	for _, x := range []struct {
		key         string
		value, want fmt.Stringer
	}{{"wait", m.Wait, mcpclient.DefaultWait}, {"start_timeout", m.StartTimeout, mcpclient.DefaultStartTimeout}, {"timeout", m.Timeout, mcpclient.DefaultTimeout}} {
		if x.value.String() != x.want.String() {
			text += ", " + x.key + " = " + tomlText(x.value.String())
		}
	}
	return text + " }"
}

func (p protocolCommands) mcpTestCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test NAME", Short: "Start an MCP server and list its tools",
		Long: `Start a server of the settings or of .mcp.json, list its tools with the names that
agents use, and end it. A server of .mcp.json must be approved first.`,
		Example: "  firn mcp test files", Args: args(1, 1, "the name of a server"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.mcpTest(cmd.Context(), args[0]) },
	}
}

// mcpTested is the result of firn mcp test.
type mcpTested struct {
	Name  string    `json:"name"`
	Tools []mcpTool `json:"tools"`
}

// mcpTool is a tool of a server.
type mcpTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

func (p protocolCommands) mcpTest(ctx context.Context, name string) error {
	rows, err := p.mcpRows()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rows, func(r mcpRow) bool { return r.Name == name })
	switch {
	case i < 0:
		return &hinted{failure.Of(firn.ErrNotFound, "there is no MCP server %s", prose.OneLine(name, 80)), "firn mcp ls lists them"}
	case !rows[i].Usable:
		return failure.Of(firn.ErrInvalid, "the MCP server %s cannot be used: %s", name, rows[i].Problem)
	}
	pool := mcpclient.NewPool(p.build.Version, slog.New(slog.DiscardHandler), p.now)
	defer pool.Close() // it only ends the server
	server := rows[i].server
	server.Wait = cmp.Or(server.StartTimeout, mcpclient.DefaultStartTimeout)
	tools, problems := pool.Group([]mcpclient.Server{server}).Tools(ctx)
	if len(problems) > 0 {
		return errors.New(problems[0])
	}
	result := mcpTested{Name: name, Tools: []mcpTool{}}
	rowsOut := [][]string{}
	for _, t := range tools {
		spec := t.Spec()
		result.Tools = append(result.Tools, mcpTool{spec.Name, spec.Description})
		rowsOut = append(rowsOut, []string{spec.Name, prose.OneLine(spec.Description, 60)})
	}
	return p.print(result, func() string {
		return strings.Join(append(prose.Columns(rowsOut, "ll"), fmt.Sprintf("%s works: %s", name, prose.Plural(len(tools), "tool"))), "\n") + "\n"
	})
}
