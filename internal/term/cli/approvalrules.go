package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/internal/ops/serve"
	"firn.dev/internal/render/prose"
)

// ruleFlags name the session or project of a rule.
type ruleFlags struct{ session, project string }

func (p gatewayCommands) approvalRulesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules that \"always\" answers added",
		Long: `List the rules that "always" answers added: calls that fit one need no approval in that
session, or in that project directory. A path outside of the workspace needs a rule with its
absolute path, such as edit(/etc/hosts), also in modes that do not ask. They are in
approvals.json in the home. The settings defaults.approvals.allow and
defaults.approvals.deny, and those of agents, are not listed.`,
		Example: "  firn approvals rules\n  firn approvals rules remove --project . \"shell(make *)\"",
		Args:    none,
		RunE: func(*cobra.Command, []string) error {
			home, err := p.rulesHome()
			if err != nil {
				return err
			}
			all, err := serve.ApprovedRules(home)
			if err != nil {
				return err
			}
			return p.print(all, func() string { return rulesText(all) })
		},
	}
	cmd.AddCommand(p.changeRuleCommand("remove", "Remove a rule: calls that match it need approval again", "add"),
		p.changeRuleCommand("add", "Add a rule: calls that match it need no approval", "remove"))
	return cmd
}

// rulesText formats rules.
func rulesText(all []serve.ApprovedRule) string {
	if len(all) == 0 {
		return "no rules\n"
	}
	var rows [][]string
	for _, r := range all {
		rows = append(rows, []string{ruleScope(r), prose.Clean(r.Rule)})
	}
	return strings.Join(prose.Columns(rows, "ll"), "\n") + "\n"
}

// ruleScope returns the flag for the scope of a rule.
func ruleScope(r serve.ApprovedRule) string {
	if r.Session != "" {
		return "--session " + quote(string(r.Session))
	}
	return "--project " + quote(prose.Clean(r.Project))
}

// changeRuleCommand returns the command that adds or removes a rule. Opposite is the one that
// undoes it.
func (p gatewayCommands) changeRuleCommand(verb, short, opposite string) *cobra.Command {
	var f ruleFlags
	cmd := &cobra.Command{
		Use: verb + " RULE", Short: short,
		Long:    short + ". It applies from the next call on,\nalso in a running gateway of this home.",
		Example: "  firn approvals rules " + verb + " --project . \"shell(make *)\"",
		Args:    args(1, 1, "a rule"),
	}
	cmd.Flags().StringVar(&f.session, "session", "", "the `session` of the rule")
	cmd.Flags().StringVar(&f.project, "project", "", "the project `directory` of the rule")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (f.session == "") == (f.project == "") {
			return usage(cmd, "give --session or --project")
		}
		home, err := p.rulesHome()
		if err != nil {
			return err
		}
		r := serve.ApprovedRule{Rule: args[0]}
		if f.project != "" {
			if r.Project, err = p.ruleProject(home, f.project, verb == "remove"); err != nil {
				return err
			}
		} else if err := p.ruleSession(cmd.Context(), f.session, &r); err != nil {
			return err
		}
		if all, err := serve.ApprovedRules(home); verb == "add" && err == nil && slices.Contains(all, r) {
			return p.print(r, func() string { return "nothing changed: the rule already exists\n" })
		}
		if err := serve.ChangeApprovedRule(home, r, verb == "remove"); err != nil {
			hint := "a rule is TOOL or TOOL(PATTERN), such as shell(make *)"
			if verb == "remove" {
				hint = "firn approvals rules lists them"
			}
			return &hinted{err, hint}
		}
		return p.print(r, func() string {
			done := map[string]string{"remove": "removed", "add": "added"}[verb]
			return fmt.Sprintf("%s %s\nundo: firn approvals rules %s %s %s\n", done, prose.Clean(r.Rule), opposite, ruleScope(r), quote(r.Rule))
		})
	}
	return cmd
}

// ruleProject returns the directory of a rule as chats name it: absolute and without symbolic
// links. A rule that is removed may have been added with links.
func (p gatewayCommands) ruleProject(home, dir string, remove bool) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	all, err := serve.ApprovedRules(home)
	if remove && err == nil && slices.ContainsFunc(all, func(r serve.ApprovedRule) bool { return r.Project == dir }) {
		return dir, nil
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		return resolved, nil
	}
	return dir, nil
}

// ruleSession resolves the session of a rule.
func (p gatewayCommands) ruleSession(ctx context.Context, name string, r *serve.ApprovedRule) (err error) {
	c, release, err := p.connect(ctx, GatewayOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	s, err := p.session(ctx, c, name)
	r.Session = s.ID
	return err
}

// rulesHome returns the home whose rules are changed. Those of a gateway elsewhere are in its
// own home.
func (p gatewayCommands) rulesHome() (string, error) {
	if err := p.mustBeOurs(); err != nil {
		return "", err
	}
	settings, err := p.settings()
	if err != nil {
		return "", err
	}
	if settings.Client.Gateway != "" {
		return "", &hinted{fmt.Errorf("the rules of the gateway at %s are in its home", settings.Client.Gateway), "run the command there"}
	}
	return settings.Home, nil
}
