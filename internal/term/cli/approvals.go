package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p gatewayCommands) approvalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "approvals SESSION",
		GroupID: "talk",
		Short:   "List the tool calls of a session that wait for approval",
		Long: `List the tool calls of a session that wait for approval, with the change that they would
make. They are in the transcript, so they are there after a crash too. firn approvals allow
and deny answer them; so do firn chat -r SESSION and the web page.

` + sessionHelp,
		Example: "  firn approvals -\n  firn approvals allow -\n  firn approvals deny - --reason \"use the other file\"",
		Args:    args(1, 1, "a session"), ValidArgsFunction: p.completeSession(false),
		RunE: p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
			s, err := p.session(ctx, c, args[0])
			if err != nil {
				return err
			}
			all, err := c.Approvals.List(ctx, s.ID)
			if err != nil {
				return err
			}
			page := wire.Page[wire.Approval]{Items: append([]wire.Approval{}, all...), Total: len(all)}
			return p.print(page, func() string { return approvalsText(all) })
		}),
	}
	cmd.AddCommand(p.allowCommand(), p.denyCommand(), p.approvalRulesCommand())
	return cmd
}

// approvalsText formats the calls that wait.
func approvalsText(all []wire.Approval) string {
	if len(all) == 0 {
		return "nothing waits for approval\n"
	}
	var b strings.Builder
	for _, a := range all {
		fmt.Fprintf(&b, "%s  %s\n", prose.Clean(a.Call), prose.CallTitle(a.Name, a.Arguments))
		for _, line := range prose.CallDetails(a.Name, a.Arguments, a.Diff != "") {
			fmt.Fprintf(&b, "    %s\n", line)
		}
		if a.Outside != "" {
			fmt.Fprintf(&b, "  outside the workspace: %s\n", prose.Path(a.Outside))
		}
		if a.Rule != "" {
			fmt.Fprintf(&b, "  --for session or project allows: %s\n", prose.OneLine(a.Rule, 200))
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(a.Diff, "\n"), "\n") {
			if line != "" {
				fmt.Fprintf(&b, "  %s\n", prose.CleanLines(line))
			}
		}
	}
	return b.String()
}

func (p gatewayCommands) allowCommand() *cobra.Command {
	var answer wire.ApprovalAnswer
	cmd := &cobra.Command{
		Use:   "allow SESSION [CALL]",
		Short: "Allow a tool call that waits for approval",
		Long: `Allow a tool call that waits for approval. CALL may be left out if only one waits. With
--for session or --for project, later calls that the rule fits need no approval. The gateway
must run; without one, firn chat -r SESSION asks again.`,
		Example: "  firn approvals allow -\n  firn approvals allow - call_1 --for session --rule \"shell(make *)\"",
		Args:    args(1, 2, "a session and a call"), ValidArgsFunction: p.completeSession(false),
	}
	answer.Decision = wire.ApprovalAllow
	answer.Scope = wire.ApprovalOnce
	cmd.Flags().Var((*approvalScope)(&answer.Scope), "for", "how long it is allowed: `once`, session or project")
	cmd.Flags().StringVar(&answer.Rule, "rule", "", "the `rule` to add instead of the offered one")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return p.answerApproval(cmd, args, answer) }
	return cmd
}

// approvalScope is a flag value: how long a call is allowed.
type approvalScope string

// String implements pflag.Value.
func (s *approvalScope) String() string { return string(*s) }

// Set implements pflag.Value.
func (s *approvalScope) Set(text string) error {
	scopes := []string{wire.ApprovalOnce, wire.ApprovalSession, wire.ApprovalProject}
	if !slices.Contains(scopes, text) {
		return fmt.Errorf("expected %s, %s or %s", scopes[0], scopes[1], scopes[2])
	}
	*s = approvalScope(text)
	return nil
}

// Type implements pflag.Value.
func (s *approvalScope) Type() string { return "string" }

func (p gatewayCommands) denyCommand() *cobra.Command {
	var answer wire.ApprovalAnswer
	cmd := &cobra.Command{
		Use:     "deny SESSION [CALL]",
		Aliases: []string{"refuse"},
		Short:   "Deny a tool call that waits for approval",
		Long:    `Deny a tool call that waits for approval. The model gets the reason as the result.`,
		Example: "  firn approvals deny - --reason \"use the other file\"",
		Args:    args(1, 2, "a session and a call"), ValidArgsFunction: p.completeSession(false),
	}
	answer.Decision = wire.ApprovalRefuse
	cmd.Flags().StringVar(&answer.Reason, "reason", "", "the reason, as a `text` for the model")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return p.answerApproval(cmd, args, answer) }
	return cmd
}

// answerApproval answers the named call, or the only one that waits. It requires a running
// gateway, which continues the turn.
func (p gatewayCommands) answerApproval(cmd *cobra.Command, args []string, answer wire.ApprovalAnswer) error {
	c, err := p.running(cmd.Context(), "answer an approval", "firn serve starts one; without it firn chat -r SESSION asks again")
	if err != nil {
		return err
	}
	defer c.Close()
	s, err := p.session(cmd.Context(), c, args[0])
	if err != nil {
		return err
	}
	all, err := c.Approvals.List(cmd.Context(), s.ID)
	if err != nil {
		return err
	}
	var chosen *wire.Approval
	for i := range all {
		if len(args) == 2 && all[i].Call == args[1] || len(args) == 1 && len(all) == 1 {
			chosen = &all[i]
		}
	}
	switch {
	case chosen == nil && len(args) == 1 && len(all) > 1:
		return usage(cmd, "%d calls wait for approval; name one", len(all))
	case chosen == nil:
		return &hinted{fmt.Errorf("no such call waits for approval in session %s", prose.Short(s.ID)), "firn approvals " + string(s.ID) + " lists them"}
	}
	answer.Digest = chosen.Digest
	given, err := c.Approvals.Answer(cmd.Context(), s.ID, chosen.Call, answer)
	if err != nil {
		return err
	}
	given.Call = chosen.Call
	return p.print(given, func() string {
		text := map[bool]string{true: "allowed", false: "denied"}[given.Decision == wire.ApprovalAllow] + " " + prose.Clean(chosen.Name)
		if given.Rule != "" {
			text += fmt.Sprintf("; always in this %s: %s", given.Scope, prose.OneLine(given.Rule, 200))
		}
		return text + "\n"
	})
}
