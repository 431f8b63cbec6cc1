package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/modelchoice"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/chat"
	"firn.dev/internal/term/line"
)

// modelCommands are the commands that choose a model.
type modelCommands struct{ *program }

func (p modelCommands) modelCommand() *cobra.Command {
	var project, all bool
	cmd := &cobra.Command{
		Use:     "model [WORD...]",
		GroupID: "talk",
		Short:   "Choose the model, or list the models",
		Long: `Choose the model of new chats from a list, at a terminal; otherwise print the
models that can be used now. --all prints all models; WORD… those whose names
contain the words. The list has the models of the catalog and those that Ollama,
LM Studio and servers in the settings on this machine report, with their context
window, their price in US dollars per million tokens (input/output), and whether
the API key is there. --json prints all, with the variable of each key.

Without a choice, firn uses the model of the first API key in the environment
(ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, …), or of OPENAI_BASE_URL, or
the first model of Ollama or LM Studio if one answers on this machine within
50 ms, or else the built-in ` + modelchoice.BuiltIn + `.

firn model set and unset change the choice: for all chats (defaults.model in the
settings), or with --project for the project of the current directory. /model in
a chat changes the model of that session only.`,
		Example: "  firn model\n  firn model sonnet\n  firn model --all | grep gpt\n  firn model --json | jq -r '.items[] | select(.ready) | .id'",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return p.chooseModel(cmd.Context(), args, project, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "print all models, also those without an API key")
	cmd.Flags().BoolVar(&project, "project", false, "choose for the project of the current directory only")
	cmd.AddCommand(p.modelSetCommand(), p.modelUnsetCommand())
	return cmd
}

func (p modelCommands) modelSetCommand() *cobra.Command {
	var project, all bool
	cmd := &cobra.Command{
		Use: "set MODEL", Short: "Choose the model of new chats",
		Long: `Choose the model of new chats, for all of them or with --project for the project
of the current directory: the root of its git repository, or else the directory
itself. Both are saved in the settings in the home. MODEL is PROVIDER/MODEL, or a
name that only one model fits: gpt-5, or sonnet for the latest Claude Sonnet.`,
		Example: "  firn model set sonnet\n  firn model set ollama/qwen3:8b --project", Args: args(1, 1, "one model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if project && all {
				return usage(cmd, "--project and --all cannot be combined")
			}
			return p.setModel(cmd.Context(), args[0], project)
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "for the project of the current directory only")
	cmd.Flags().BoolVar(&all, "all", false, "for all chats (default)")
	return cmd
}

func (p modelCommands) modelUnsetCommand() *cobra.Command {
	var project, all bool
	cmd := &cobra.Command{
		Use: "unset", Short: "Remove the choice of a model", Example: "  firn model unset --project", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if project && all {
				return usage(cmd, "--project and --all cannot be combined")
			}
			return p.unsetModel(cmd.Context(), project)
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "the choice for the project of the current directory")
	cmd.Flags().BoolVar(&all, "all", false, "the choice for all chats (default)")
	return cmd
}

// table returns the models to choose from.
func (p *program) table(s *config.Settings) modelchoice.Table {
	if p.models == nil {
		return modelchoice.Table{}
	}
	return p.models(s)
}

// resolveModel returns the model that a name means. Local servers are asked only if no model
// of the catalog fits.
func (p *program) resolveModel(ctx context.Context, s *config.Settings, name string) (string, error) {
	t := p.table(s)
	if p.models == nil {
		return name, nil
	}
	id, err := modelchoice.Resolve(name, t.Offers, t.Providers)
	if err != nil {
		id, err = modelchoice.Resolve(name, t.All(ctx), t.Providers)
	}
	var unresolved *modelchoice.Unresolved
	if errors.As(err, &unresolved) && unresolved.Provider != "" {
		return "", &hinted{err, "providers: " + strings.Join(t.Providers, ", ")}
	}
	if errors.As(err, &unresolved) {
		return "", &hinted{err, "to list the models: firn model --all"}
	}
	return id, err
}

// isKnownModel reports whether a name can be given to firn model set.
func (p modelCommands) isKnownModel(ctx context.Context, s *config.Settings, name string) bool {
	_, err := p.resolveModel(ctx, s, name)
	return err == nil
}

// models is the result of firn model.
type models struct {
	Items []modelchoice.Offer `json:"items"`
	Total int                 `json:"total"`
	// Current is the model of new chats here, and Why where it comes from.
	Current string `json:"current"`
	Why     string `json:"why"`
}

// chooseModel shows a picker at a terminal, and a list otherwise.
func (p modelCommands) chooseModel(ctx context.Context, words []string, project, all bool) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	t := p.table(s)
	offers := sortOffers(t.All(ctx))
	offers = slices.DeleteFunc(offers, func(o modelchoice.Offer) bool {
		return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(strings.ToLower(o.ID), strings.ToLower(w)) })
	})
	if len(offers) == 0 && len(words) > 0 {
		_, err := p.resolveModel(ctx, s, strings.Join(words, "-"))
		return cmp.Or(err, error(&hinted{failure.Of(firn.ErrNotFound, "no model fits %q", strings.Join(words, " ")), "to list all models: firn model --all"}))
	}
	choice := p.startChoice(ctx, s, "", workingProject())
	m := models{Items: offers, Total: len(offers)}
	m.Current, m.Why = choice.resolved()
	if !p.json && !all && isTerminal(p.stdin) && isTerminal(p.stderr) && isTerminal(p.stdout) && p.env("TERM") != "dumb" {
		return p.pickModel(ctx, m, project)
	}
	if !p.json && !all && len(words) == 0 {
		m.Items = usableOffers(m.Items, m.Current)
	}
	return p.print(m, func() string { return modelsText(m, columnsOf(p.stdout)) })
}

// isUsable reports whether a model can be used now.
func isUsable(o modelchoice.Offer) bool { return o.Ready || o.Local }

// usableOffers returns the models that can be used now, and the current one.
func usableOffers(offers []modelchoice.Offer, current string) (usable []modelchoice.Offer) {
	for _, o := range offers {
		if isUsable(o) || o.ID == current {
			usable = append(usable, o)
		}
	}
	return usable
}

// sortOffers puts the models that can be used now first: local ones, then those with a key.
func sortOffers(offers []modelchoice.Offer) []modelchoice.Offer {
	rank := func(o modelchoice.Offer) int {
		switch {
		case o.Local:
			return 0
		case o.Ready && o.ID != modelchoice.BuiltIn:
			return 1
		case o.Ready:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(offers, func(a, b modelchoice.Offer) int { return cmp.Compare(rank(a), rank(b)) })
	return offers
}

// offerHead names the columns of offerRow.
var offerHead = []string{"  MODEL", "WINDOW", "PRICE", "KEY"}

// offerRow formats a model for a list.
func offerRow(o modelchoice.Offer, current string) []string {
	mark := "  "
	if o.ID == current {
		mark = "* "
	}
	return append([]string{mark + prose.Clean(o.ID)}, offerDetails(o)...)
}

// offerDetails returns the window, the price and the state of the key.
func offerDetails(o modelchoice.Offer) []string {
	window, price, key := "?", "?", "none"
	if o.Window > 0 {
		window = prose.Thousands(o.Window)
	}
	switch {
	case o.Priced:
		price = money(o.Input) + "/" + money(o.Output)
	case o.Local:
		price = "free"
	}
	if o.ID == modelchoice.BuiltIn {
		price = "free"
	}
	switch {
	case o.Variable != "" && o.Ready:
		key = "ready"
	case o.Variable != "":
		key = "no key"
	case o.Local:
		key = "local"
	}
	return []string{window, price, key}
}

// money formats a price without needless digits.
func money(dollars float64) string {
	text := fmt.Sprintf("%.2f", dollars)
	return strings.TrimSuffix(text, ".00")
}

// modelColumns are the columns of the list. On narrow screens the price
// column is dropped first, then the window column.
var modelColumns = []prose.Column{{Min: 24}, {Right: true, Drop: 2}, {Right: true, Drop: 3}, {Drop: 1}}

// modelsText formats the list. A star marks the model of new chats.
func modelsText(m models, width int) string {
	rows := [][]string{offerHead}
	for _, o := range m.Items {
		rows = append(rows, offerRow(o, m.Current))
	}
	lines := prose.FitTable(rows, modelColumns, width)
	count := prose.Plural(m.Total, "model")
	if m.Total > len(m.Items) {
		usable := 0
		for _, o := range m.Items {
			if isUsable(o) {
				usable++
			}
		}
		count = fmt.Sprintf("%s usable now; %s need an API key: firn model --all", prose.Plural(usable, "model"), prose.Grouped(int64(m.Total-usable)))
		lines = append(lines, prose.Wrap(count, width)...)
		count = ""
	} else {
		count += " · "
	}
	lines = append(lines, prose.Wrap(fmt.Sprintf("%snew chats here use %s (%s); to change it: firn model set MODEL", count, m.Current, m.Why), width)...)
	return strings.Join(lines, "\n") + "\n"
}

// pickModel lets the user choose from a list.
func (p modelCommands) pickModel(ctx context.Context, m models, project bool) error {
	in, ok1 := fileOf(p.stdin)
	talk, ok2 := fileOf(p.stderr)
	if !ok1 || !ok2 {
		return p.print(m, func() string { return modelsText(m, columnsOf(p.stdout)) })
	}
	dev, release := line.Files(in, talk)
	defer release()
	term, err := line.Open(dev, line.Options{Styles: true, Palette: p.palette()})
	if err != nil {
		return err
	}
	rows := [][]string{offerHead}
	selected := 0
	for i, o := range m.Items {
		rows = append(rows, offerRow(o, m.Current))
		if o.ID == m.Current {
			selected = i
		}
	}
	picked := term.Pick(ctx, chat.ModelChoice(rows, selected))
	if err := term.Close(); err != nil {
		return err
	}
	if picked < 0 {
		return p.print(m, func() string { return "unchanged: " + m.Current + "\n" })
	}
	return p.setModel(ctx, m.Items[picked].ID, project)
}

// modelChange is the result of firn model set and unset.
type modelChange struct {
	Model   string `json:"model"`
	Project string `json:"project,omitempty"`
	File    string `json:"file"`
	// Warning says why the choice has no effect yet; empty if it has.
	Warning string `json:"warning,omitempty"`
	// Undo is the command that restores the earlier choice; empty if none does.
	Undo string `json:"undo,omitempty"`
}

// keepModel saves the choice of a model.
func (p *program) keepModel(ctx context.Context, s *config.Settings, id, project string) (modelChange, error) {
	path, flag := modelPath(s, project)
	change := modelChange{Model: id, Project: project, File: s.Path(), Undo: p.again("firn model unset" + flag)}
	if old, ok := s.InFile(path); ok {
		change.Undo = modelCommands{p}.undoOfModel(ctx, s, old, flag)
	}
	if _, err := s.Set(path, id); err != nil {
		return change, &hinted{err, "docs/configuration.md lists the values of each setting"}
	}
	for _, o := range p.table(s).Offers {
		if o.ID == id && !o.Ready {
			change.Warning = o.Variable + " is not set: put the API key into it before the next chat"
		}
	}
	if change.Warning == "" {
		change.Warning = uncatalogedText(id, p.table(s).Offers)
	}
	if p.env("FIRN_MODEL") != "" {
		change.Warning = "FIRN_MODEL is set and takes precedence"
	}
	return change, nil
}

// undoOfModel returns the command that restores a choice; empty if the model is unknown.
func (p modelCommands) undoOfModel(ctx context.Context, s *config.Settings, old, flag string) string {
	if !p.isKnownModel(ctx, s, old) {
		return ""
	}
	return p.again("firn model set " + quote(old) + flag)
}

func (p modelCommands) setModel(ctx context.Context, name string, project bool) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	id, err := p.resolveModel(ctx, s, name)
	if err != nil {
		return err
	}
	dir := ""
	if project {
		dir = workingProject()
	}
	change, err := p.keepModel(ctx, s, id, dir)
	if err != nil {
		return err
	}
	return p.print(change, func() string { return change.text() })
}

func (c modelChange) text() string {
	where := "all chats"
	if c.Project != "" {
		where = "chats in " + prose.Clean(c.Project)
	}
	text := fmt.Sprintf("model of %s: %s\n", where, c.Model)
	if c.Model == "" {
		text = fmt.Sprintf("the model of %s is no longer chosen\n", where)
	}
	if c.Warning != "" {
		text += c.Warning + "\n"
	}
	if c.Undo != "" {
		text += "undo: " + c.Undo + "\n"
	}
	return text
}

func (p modelCommands) unsetModel(ctx context.Context, project bool) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	dir := ""
	if project {
		dir = workingProject()
	}
	path, flag := modelPath(s, dir)
	old, ok := s.InFile(path)
	if !ok {
		return &hinted{failure.Of(firn.ErrNotFound, "no model is chosen in %s", s.Path()), "to choose one: firn model set MODEL" + flag}
	}
	change := modelChange{Project: dir, File: s.Path(), Undo: p.undoOfModel(ctx, s, old, flag)}
	if _, err := s.Unset(path); err != nil {
		return err
	}
	return p.print(change, func() string { return change.text() })
}

// modelPath returns the setting that holds the choice, for a project or for all chats, and the
// flag that selects it. If the default agent has a model of its own in the file, that is the
// one.
func modelPath(s *config.Settings, project string) (path, flag string) {
	if project != "" {
		return config.JoinPath("projects", project, "model"), " --project"
	}
	if own := config.JoinPath("agents", s.DefaultAgent, "model"); s.OwnsModel(s.DefaultAgent) {
		return own, ""
	}
	return "defaults.model", ""
}

// workingProject returns the project of the current directory; empty if it is unknown.
func workingProject() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return projectRoot(dir)
}
