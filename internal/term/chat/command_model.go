package chat

import (
	"context"
	"slices"
	"strings"

	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
	"firn.dev/wire"
)

// Flags of /model that also save the model for new chats.
const (
	keepProject = "--project"
	keepAll     = "--all"
)

// modelColumns are the columns of ModelChoice. On narrow screens the price
// column is dropped first, then the window column.
var modelColumns = []prose.Column{{Min: 24}, {Right: true, Drop: 2}, {Right: true, Drop: 3}, {Drop: 1}}

// ModelChoice returns a choice among models: rows of name, window, price and key after a
// header row. Names that do not fit are cut.
func ModelChoice(rows [][]string, selected int) line.Choice {
	return line.Choice{Title: "Model", Rows: prose.Columns(rows[1:], "lrrl"), Selected: selected, Fit: func(width int) (string, []string) {
		lines := prose.FitTable(rows, modelColumns, width)
		return lines[0], lines[1:]
	}}
}

// chooseModel sets the model of this session, and with --project or --all that of new chats.
// Without a name it shows a picker, or the model if there is no terminal.
func (c choiceCommands) chooseModel(ctx context.Context, rest string) error {
	words := strings.Fields(rest)
	project, all := slices.Contains(words, keepProject), slices.Contains(words, keepAll)
	name := strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == keepProject || w == keepAll }), " ")
	if name == "" {
		picked, err := c.pickModel(ctx)
		if err != nil || picked == "" {
			return err
		}
		name = picked
	} else if c.o.ResolveModel != nil {
		id, err := c.o.ResolveModel(ctx, name)
		if err != nil {
			return err
		}
		name = id
	}
	if err := c.patch(ctx, wire.Patch{Model: &name}); err != nil {
		return err
	}
	c.model = ""
	c.screen.printf("model for this session: %s", prose.Clean(name))
	if c.o.MissingKey != nil {
		if variable := c.o.MissingKey(name); variable != "" {
			c.screen.printf("it needs an API key in %s, which is not set; firn/offline needs none", prose.Clean(variable))
		}
	}
	if project || all {
		return c.keepModel(ctx, name, project)
	}
	if c.o.KeepModel != nil {
		c.screen.printf("for new chats too: /model %s --project or --all", prose.Clean(name))
	}
	return nil
}

// keepModel saves the model for new chats.
func (c choiceCommands) keepModel(ctx context.Context, id string, project bool) error {
	if c.o.KeepModel == nil {
		return nil
	}
	text, err := c.o.KeepModel(ctx, id, project)
	if err != nil {
		return err
	}
	c.screen.lines(strings.Split(strings.TrimRight(text, "\n"), "\n"))
	return nil
}

// pickModel shows the models to choose from and returns the chosen one, or prints the current
// model if there is no terminal.
func (c choiceCommands) pickModel(ctx context.Context) (string, error) {
	s, err := c.fetchSession(ctx)
	if err != nil {
		return "", err
	}
	current := c.chosenModel(s)
	if c.o.Models == nil || c.term == nil {
		c.screen.printf("model %s; providers: %s", current, strings.Join(c.o.Providers, ", "))
		return "", nil
	}
	head, ids, details := c.o.Models(ctx)
	rows := [][]string{append([]string{"MODEL"}, head...)}
	for i, id := range ids {
		rows = append(rows, append([]string{prose.Clean(id)}, details[i]...))
	}
	picked := c.term.Pick(ctx, ModelChoice(rows, max(slices.Index(ids, current), 0)))
	if picked < 0 || ids[picked] == current {
		return "", nil
	}
	return ids[picked], nil
}
