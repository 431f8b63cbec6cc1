package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/internal/ops/config"
	"firn.dev/internal/render/prose"
)

// configCommands are the commands of the settings.
type configCommands struct{ *program }

func (p configCommands) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		GroupID: "other",
		Short:   "Show, change and check the settings",
		Long: `Settings are stored in firn.toml in the home. The file is optional; every
setting has a default. FIRN_… variables override the file, and flags override
both. docs/configuration.md lists all settings.`,
		Args: cobra.ArbitraryArgs,
		RunE: p.unknown,
	}
	cmd.AddCommand(p.configGetCommand(), p.configSetCommand(), p.configCheckCommand(), p.configPathCommand())
	return cmd
}

func (p configCommands) configGetCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "get [SETTING]", Short: "Print a setting, or all of them, with their origin",
		Long: `Print the value of a setting. Without a name, print all values that are set
and their origin; --all includes the defaults.`,
		Example: "  firn config get agents.main.model\n  firn config get --json gateway.listen", Args: args(0, 1, "one setting"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := p.settings()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return p.configList(s, all)
			}
			e, err := s.Explain(args[0])
			if err != nil {
				return &hinted{err, "to list all settings: firn config get --all"}
			}
			return p.print(e, func() string { return e.String() + "\n" })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "include the defaults")
	return cmd
}

// configList prints settings.
func (p configCommands) configList(s *config.Settings, all bool) error {
	list := []config.Explanation{}
	for _, e := range s.All() {
		if all || e.Origin.Layer != config.FromDefault {
			list = append(list, e)
		}
	}
	return p.print(map[string]any{"items": list, "total": len(list)}, func() string {
		rows := make([][]string, 0, len(list))
		for _, e := range list {
			rows = append(rows, []string{e.Path + " = " + prose.OneLine(e.Text, 80), "(" + e.Origin.String() + ")"})
		}
		if len(rows) == 0 {
			return "no settings are set; to print the defaults: firn config get --all\n"
		}
		return strings.Join(prose.Table(rows), "\n") + "\n"
	})
}

func (p configCommands) configSetCommand() *cobra.Command {
	var plan bool
	cmd := &cobra.Command{
		Use: "set SETTING VALUE", Short: "Change one setting in the file",
		Example: "  firn config set agents.main.model anthropic/claude-sonnet-4-5\n  firn config set gateway.drain 1m --plan",
		Args:    args(2, 2, "a setting and a value"),
		RunE: func(_ *cobra.Command, args []string) error {
			return p.configSet(args[0], args[1], plan)
		},
	}
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	return cmd
}

// changes is the result of firn config set.
type changes struct {
	File    string          `json:"file"`
	Plan    bool            `json:"plan,omitempty"`
	Changes []config.Change `json:"changes"`
}

// configSet changes a setting.
func (p configCommands) configSet(path, value string, plan bool) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	change := s.Set
	if plan {
		change = func(path, value string) (*config.Settings, error) {
			return p.settingsWith(map[string]string{path: value})
		}
	}
	now, err := change(path, value)
	if err != nil {
		return &hinted{err, "docs/configuration.md lists the values of each setting"}
	}
	result := changes{File: s.Path(), Plan: plan, Changes: append([]config.Change{}, config.Diff(s.Config, now.Config)...)}
	return p.print(result, func() string { return changesText(result) })
}

func changesText(c changes) string {
	word := "changed in "
	if c.Plan {
		word = "would change in "
	}
	text := word + c.File + "\n"
	if len(c.Changes) == 0 {
		text = "no effect: a variable or flag overrides the file, or the value was already set\n"
	}
	for _, change := range c.Changes {
		text += "  " + prose.Clean(change.String()) + "\n"
	}
	return text
}

func (p configCommands) configCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check the settings and report errors with line numbers", Example: "  firn config check", Args: none,
		Long: `Check the settings and report every error with its line and a suggestion. The
secrets of hooks are looked up in the environment of this command, as the
gateway would. Exits with 2 if there are errors.`,
		RunE: func(*cobra.Command, []string) error { return p.configCheck() },
	}
}

// checked is the result of firn config check.
type checked struct {
	File     string           `json:"file"`
	OK       bool             `json:"ok"`
	Problems []config.Problem `json:"problems"`
	Warnings []config.Problem `json:"warnings"`

	absent bool
}

// configCheck checks the settings.
func (p configCommands) configCheck() error {
	home, err := p.homeDir()
	if err != nil {
		return err
	}
	s, err := config.Open("", p.environ, map[string]string{"home": home})
	var wrong config.Problems
	if err != nil && !errors.As(err, &wrong) {
		return err
	}
	wrong = append(wrong, s.CheckSecrets()...)
	c := checked{File: s.Path(), OK: len(wrong) == 0, Problems: append([]config.Problem{}, wrong...), Warnings: append([]config.Problem{}, s.Warnings...)}
	_, missing := os.Stat(c.File)
	c.absent = errors.Is(missing, fs.ErrNotExist)
	if err := p.print(c, func() string { return checkedText(c) }); err != nil {
		return err
	}
	if !c.OK {
		return errWrong
	}
	return nil
}

func checkedText(c checked) string {
	var b strings.Builder
	for _, problem := range c.Problems {
		fmt.Fprintf(&b, "%s\n", problem)
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	switch {
	case !c.OK:
		fmt.Fprintf(&b, "%s\n", prose.Plural(len(c.Problems), "problem"))
	case c.absent:
		fmt.Fprintf(&b, "%s: no such file; every setting has its default\n", c.File)
	default:
		fmt.Fprintf(&b, "%s: no errors\n", c.File)
	}
	return b.String()
}

func (p configCommands) configPathCommand() *cobra.Command {
	return &cobra.Command{
		Use: "path", Short: "Print the path of the settings file, even if it does not exist", Example: "  ${EDITOR:-vi} \"$(firn config path)\"", Args: none,
		RunE: func(*cobra.Command, []string) error {
			home, err := p.homeDir()
			if _, _, foreign := p.foreign(); foreign {
				home, err = p.usualHome() // settings are read from the default home then
			}
			if err != nil {
				return err
			}
			path := config.File(home, p.environ)
			if abs, err := filepath.Abs(path); err == nil {
				path = abs
			}
			return p.print(map[string]string{"path": path}, func() string { return path + "\n" })
		},
	}
}
