package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/modelchoice"
	"firn.dev/internal/ops/serve"
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
	cmd.AddCommand(p.configGetCommand(), p.configSetCommand(), p.configUnsetCommand(), p.configCheckCommand(), p.configPathCommand())
	return cmd
}

func (p configCommands) configGetCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "get [SETTING]", SuggestFor: []string{"show", "list", "ls"}, Short: "Print a setting, or all of them, with their origin",
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
		Long: `Change one setting in the file. The value is checked first. A model must be of
a known provider; a unique name (gpt-5, sonnet) is completed.`,
		Example: "  firn config set agents.main.model anthropic/claude-sonnet-4-5\n  firn config set gateway.drain 1m --plan",
		Args:    args(2, 2, "a setting and a value"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.configSet(cmd.Context(), args[0], args[1], plan)
		},
	}
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	return cmd
}

// changes is the result of firn config set and unset.
type changes struct {
	File    string          `json:"file"`
	Plan    bool            `json:"plan,omitempty"`
	Changes []config.Change `json:"changes"`
	// Warning is a reason to check the value; empty if there is none.
	Warning string `json:"warning,omitempty"`
	// Undo is the command that restores the old value; empty if none does.
	Undo string `json:"undo,omitempty"`

	// removed is set if the setting is no longer in the file.
	removed bool
}

// configSet changes a setting.
func (p configCommands) configSet(ctx context.Context, path, value string, plan bool) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	warning := ""
	if value != "" && isModelSetting(path) {
		if value, err = p.resolveModel(ctx, s, value); err != nil {
			return fmt.Errorf("set %s: %w", path, err)
		}
		warning = uncatalogedText(value, p.table(s).Offers)
	}
	change := s.Set
	if plan {
		change = func(path, value string) (*config.Settings, error) {
			return p.settingsWith(map[string]string{path: value})
		}
	}
	undo := p.again(p.undoOfSetting(ctx, s, path))
	now, err := change(path, value)
	if err != nil {
		return &hinted{err, settingHint(s, path, value)}
	}
	if strings.HasPrefix(path, "search.embeddings") {
		if err := serve.CheckEmbeddings(now.Search.Embeddings); err != nil {
			warning = err.Error() + "; " + config.ModelHint
		}
	}
	result := changes{File: s.Path(), Plan: plan, Changes: append([]config.Change{}, config.Diff(s.Config, now.Config)...), Warning: warning}
	if !plan {
		result.Undo = undo
	}
	return p.print(result, func() string { return changesText(result) })
}

// settingHint returns the hint for a setting that cannot be changed.
func settingHint(s *config.Settings, path, value string) string {
	if hint := embeddingsHint(s.Search.Embeddings, path); hint != "" {
		return hint
	}
	if path == "model" {
		return "to choose the model: firn model set " + quote(value)
	}
	return "docs/configuration.md lists the values of each setting"
}

// embeddingsHint returns the hint for a setting of search.embeddings that another one excludes,
// with the commands that remove those; empty for other settings.
func embeddingsHint(e config.Embeddings, path string) string {
	const section = "search.embeddings."
	var set []string
	switch path {
	case section + "dir":
		for name, value := range map[string]string{"url": e.URL, "model": e.Model} {
			if value != "" {
				set = append(set, "firn config unset "+section+name)
			}
		}
		slices.Sort(set)
	case section + "url", section + "model":
		if e.Dir != "" {
			set = append(set, "firn config unset "+section+"dir")
		}
	}
	if len(set) == 0 {
		return ""
	}
	return "first run " + strings.Join(set, " and ")
}

// isModelSetting reports whether the value of a setting is the name of a model.
func isModelSetting(path string) bool {
	top, _, _ := strings.Cut(path, ".")
	last := path[strings.LastIndexByte(path, '.')+1:]
	return (top == "defaults" || top == "agents" || top == "projects") && (last == "model" || last == "summarizer")
}

// uncatalogedText warns of a model that is not in the catalog though others of its provider
// are. The provider may know it nevertheless.
func uncatalogedText(id string, offers []modelchoice.Offer) string {
	near, unknown := modelchoice.Uncataloged(id, offers)
	switch {
	case !unknown:
		return ""
	case near != "":
		return fmt.Sprintf("%s is not in the catalog of models; did you mean %s?", id, near)
	}
	return id + " is not in the catalog of models; check the name: firn model --all"
}

// undoOfSetting returns the command that restores a setting in the file; empty if there is
// none, because the value would be refused.
func (p configCommands) undoOfSetting(ctx context.Context, before *config.Settings, path string) string {
	if !before.IsInFile(path) {
		return "firn config unset " + quote(path)
	}
	old, ok := before.InFile(path)
	if e, err := before.Explain(path); !ok && err == nil && e.Origin.Layer == config.FromFile {
		old, ok = e.Text, true
	}
	if !ok {
		return ""
	}
	if isModelSetting(path) && old != "" && !modelCommands(p).isKnownModel(ctx, before, old) {
		return ""
	}
	if _, err := before.Plan(path, old); err != nil {
		return ""
	}
	return "firn config set " + quote(path) + " " + quote(old)
}

func (p configCommands) configUnsetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "unset SETTING", Short: "Remove one setting from the file; its default applies again",
		Example: "  firn config unset gateway.drain", Args: args(1, 1, "one setting"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := p.settings()
			if err != nil {
				return err
			}
			undo := p.again(p.undoOfSetting(cmd.Context(), s, args[0]))
			now, err := s.Unset(args[0])
			if err != nil {
				return &hinted{err, "to list the settings of the file: firn config get"}
			}
			result := changes{File: s.Path(), Changes: append([]config.Change{}, config.Diff(s.Config, now.Config)...), Undo: undo, removed: true}
			return p.print(result, func() string { return changesText(result) })
		},
	}
}

func changesText(c changes) string {
	word := "changed in "
	if c.Plan {
		word = "would change in "
	}
	text := word + c.File + "\n"
	switch {
	case len(c.Changes) == 0 && c.removed:
		text = "removed from " + c.File + "; the value is the same\n"
	case len(c.Changes) == 0:
		text = "no effect: a variable or flag overrides the file, or the value was already set\n"
	}
	for _, change := range c.Changes {
		text += "  " + prose.Clean(change.String()) + "\n"
	}
	if c.Warning != "" {
		text += "warning: " + prose.Clean(c.Warning) + "\n"
	}
	if c.Undo != "" {
		text += "undo: " + c.Undo + "\n"
	}
	return text
}

func (p configCommands) configCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check the settings and report errors with line numbers", Example: "  firn config check", Args: none,
		Long: `Check the settings and report every error with its line and a suggestion. The
secrets of hooks are looked up in the environment of this command, as the
gateway would, and the model in search.embeddings.dir is read. Exits with 2 if there are errors.`,
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
	if err := serve.CheckEmbeddings(s.Search.Embeddings); err != nil {
		s.WarnOfModel(err)
	}
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
