package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/internal/ops/mcpclient"
	"firn.dev/internal/ops/serve"
	"firn.dev/internal/render/prose"
)

// mcpReview is everything that a server of a project's file would run or send, as the file has
// it.
type mcpReview struct {
	Name      string   `json:"name"`
	Command   string   `json:"command,omitempty"`
	Args      []string `json:"args,omitempty"`
	Directory string   `json:"directory,omitempty"`
	Env       []string `json:"env,omitempty"`
	URL       string   `json:"url,omitempty"`
	Headers   []string `json:"headers,omitempty"`
	// Variables are the names of the variables of firn's environment whose values it gets.
	Variables []string `json:"variables,omitempty"`
	// Problem is why the server cannot be used now.
	Problem string `json:"problem,omitempty"`
}

// mcpReviews describes the servers of a project's file.
func mcpReviews(project *serve.MCPProject) []mcpReview {
	all := []mcpReview{}
	for i, s := range project.Written {
		r := mcpReview{
			Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Variables: mcpclient.References(s),
			Problem: project.Servers[i].Problem,
		}
		if s.Command != "" {
			r.Directory = s.Dir
		}
		for _, name := range slices.Sorted(maps.Keys(s.Header)) {
			r.Headers = append(r.Headers, name+": "+s.Header.Get(name))
		}
		all = append(all, r)
	}
	return all
}

// visible returns a word for a shell, or with escapes if it has characters that a terminal
// would not show.
func visible(word string) string {
	if strings.ContainsFunc(word, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(word)
	}
	return quote(word)
}

// text formats a server, with nothing cut.
func (r mcpReview) text() string {
	var b strings.Builder
	line := func(name string, words ...string) {
		for i, w := range words {
			words[i] = visible(w)
		}
		fmt.Fprintf(&b, "  %-10s %s\n", name, strings.Join(words, " "))
	}
	fmt.Fprintln(&b, visible(r.Name))
	if r.Command != "" {
		line("command", append([]string{r.Command}, r.Args...)...)
		line("directory", r.Directory)
	}
	if r.URL != "" {
		line("url", r.URL)
	}
	for _, e := range r.Env {
		line("env", e)
	}
	for _, h := range r.Headers {
		line("header", h)
	}
	if len(r.Variables) > 0 {
		line("variables", slices.Clone(r.Variables)...)
	}
	if r.Problem != "" {
		fmt.Fprintf(&b, "  %-10s %s\n", "problem", prose.Clean(r.Problem))
	}
	return b.String()
}

// mcpApproval is the result of firn mcp approve and revoke, or their plan.
type mcpApproval struct {
	Plan   string      `json:"plan,omitempty"`
	Would  string      `json:"would,omitempty"`
	File   string      `json:"file"`
	Digest string      `json:"digest"`
	Items  []mcpReview `json:"items"`
	Undo   string      `json:"undo,omitempty"`
}

// servers formats the servers.
func (a mcpApproval) servers() string {
	var b strings.Builder
	for _, r := range a.Items {
		b.WriteString(r.text())
	}
	return b.String()
}

// sure returns the command that approves exactly this content of the file.
func (a mcpApproval) sure() string { return "firn mcp approve --sure " + a.Digest }

const mcpApproveLong = ` (.mcp.json in
the root of the repository of the current directory). Agents use these servers
only while the file is as it was approved: a cloned repository cannot start
programs unasked, and a changed file must be approved again.`

func (p protocolCommands) mcpApproveCommand() *cobra.Command {
	const short = "Approve the MCP servers in the file of the project"
	var sure string
	var plan bool
	cmd := &cobra.Command{
		Use: "approve", Short: short,
		Long: short + mcpApproveLong + `

The command shows all that the servers would run and send, and the names of the
variables whose values they would get, and asks at a terminal. Elsewhere, review
the servers with --plan and repeat the digest that it prints with --sure.`,
		Example: "  firn mcp approve\n  firn mcp approve --plan", Args: none,
	}
	cmd.Flags().StringVar(&sure, "sure", "", "`digest` of the reviewed file, to confirm")
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.mcpApprove(cmd, sure, plan) }
	return cmd
}

// mcpReviewed reads the project's file and describes its servers.
func (p protocolCommands) mcpReviewed() (*serve.MCPProject, mcpApproval, error) {
	s, err := p.settings()
	if err != nil {
		return nil, mcpApproval{}, err
	}
	project, err := p.mcpProject(s)
	if err != nil {
		return nil, mcpApproval{}, err
	}
	return project, mcpApproval{File: project.File, Digest: project.Digest, Items: mcpReviews(project)}, nil
}

// mcpApprove shows the servers of a project's file, and approves them if the user confirms it.
func (p protocolCommands) mcpApprove(cmd *cobra.Command, sure string, plan bool) error {
	project, a, err := p.mcpReviewed()
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s in %s", prose.Plural(len(a.Items), "MCP server"), visible(a.File))
	asks := sure == "" && !p.json && isTerminal(p.stdin) && isTerminal(p.stdout)
	switch {
	case plan:
		a.Plan, a.Would = "mcp approve", "would approve "+what
		return p.print(a, func() string {
			return a.servers() + a.Would + "; no changes made\nto approve them: " + a.sure() + "\n"
		})
	case asks:
		confirmed, err := p.confirms(a.servers() + "approve " + what + "? [y/N] ")
		if err != nil || !confirmed {
			return errors.Join(err, p.print(a, func() string { return "not approved; no changes made\n" }))
		}
	case sure == "":
		return usage(cmd, "this would approve %s; review them with firn mcp approve --plan, which prints the digest for --sure", what)
	case sure != a.Digest:
		return usage(cmd, "--sure is not the digest of %s as it is now; review it with firn mcp approve --plan", visible(a.File))
	}
	if err := project.Approve(true); err != nil {
		return err
	}
	a.Undo = p.again("firn mcp revoke")
	return p.print(a, func() string {
		text := fmt.Sprintf("approved %s\nundo: %s\n", what, a.Undo)
		if !asks {
			text = a.servers() + text
		}
		return text
	})
}

// confirms asks a question at the terminal and reports whether the answer is yes.
func (p protocolCommands) confirms(question string) (bool, error) {
	if _, err := io.WriteString(p.stdout, question); err != nil {
		return false, fmt.Errorf("print question: %w", err)
	}
	answer, err := bufio.NewReader(io.LimitReader(p.stdin, 1<<10)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read answer: %w", err)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

func (p protocolCommands) mcpRevokeCommand() *cobra.Command {
	const short = "Revoke the approval of the MCP servers of the project"
	return &cobra.Command{
		Use: "revoke", Short: short, Long: short + mcpApproveLong, Example: "  firn mcp revoke", Args: none,
		RunE: func(*cobra.Command, []string) error {
			project, a, err := p.mcpReviewed()
			if err != nil {
				return err
			}
			if err := project.Approve(false); err != nil {
				return err
			}
			if a.Undo = p.again("firn mcp approve"); project.Approved { // a file that changed must be reviewed
				a.Undo = p.again(a.sure())
			}
			return p.print(a, func() string { return fmt.Sprintf("revoked %s\nundo: %s\n", visible(a.File), a.Undo) })
		},
	}
}
