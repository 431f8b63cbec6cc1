package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p memoryCommands) memoryForget(f *memoryFlags) *cobra.Command {
	return &cobra.Command{
		Use: "forget NOTE", SuggestFor: []string{"rm", "remove", "delete"}, Short: "Remove a note or one fact", Args: args(1, -1, "a note, a fact (note#id) or its text"),
		Example: "  firn memory forget release-plan\n  firn memory forget extracted#1a2b3c4d",
		RunE: p.withMemory(f, mayChange, func(ctx context.Context, c *client.Client, at wire.MemoryPlace, args []string) error {
			change, err := c.Memory.Forget(ctx, at, strings.Join(args, " "))
			if err != nil {
				return err
			}
			return p.print(change, func() string { return changeText("forgotten", at, change) })
		}),
	}
}

// changeText describes a change and how to undo it.
func changeText(word string, at wire.MemoryPlace, c wire.MemoryChange) string {
	lines := []string{fmt.Sprintf("%s: %s in %s", word, prose.Plural(len(c.Edits), "change"), prose.Clean(c.Scope))}
	lines = append(lines, editLines(c.Edits)...)
	return strings.Join(append(lines, "undo: "+undoMemory(at, c.ID)), "\n") + "\n"
}

// editLines formats the edits of a change with their evidence.
func editLines(edits []wire.MemoryEdit) []string {
	var lines []string
	for i, e := range edits {
		name := e.Note
		if name == "" {
			name = "MEMORY.md"
		}
		lines = append(lines, fmt.Sprintf("[%d] %s %s: %s", i, e.Do, prose.Clean(name), prose.OneLine(e.Why, 120)))
		for _, line := range e.Old {
			lines = append(lines, "    - "+prose.OneLine(line, 160))
		}
		for _, line := range e.New {
			lines = append(lines, "    + "+prose.OneLine(line, 160))
		}
		if len(e.Sources) > 0 {
			lines = append(lines, "    from "+prose.Clean(strings.Join(e.Sources, ", ")))
		}
	}
	return lines
}

func (p memoryCommands) memoryClear(f *memoryFlags) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "clear", Short: "Remove all notes of a scope; this can be undone", Args: none, Example: "  firn memory clear --yes",
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "remove them")
	cmd.RunE = p.withMemory(f, mayChange, func(ctx context.Context, c *client.Client, at wire.MemoryPlace, _ []string) error {
		if !yes {
			return usage(cmd, "this would remove all notes %s; confirm with --yes", clearedScope(at))
		}
		changes, err := c.Memory.Clear(ctx, at)
		if err != nil {
			return err
		}
		return p.print(changes, func() string {
			if len(changes) == 0 {
				return "there are no notes " + clearedScope(at) + "; no changes made\n"
			}
			var b strings.Builder
			for _, change := range changes {
				fmt.Fprintf(&b, "removed all notes %s: %s\nundo: %s\n", scopeText(change.Scope, at), prose.Plural(len(change.Files), "file"), undoMemory(at, change.ID))
			}
			return b.String()
		})
	})
	return cmd
}

// clearedScope describes the notes that firn memory clear removes.
func clearedScope(at wire.MemoryPlace) string {
	scope := at.Scope
	switch {
	case scope != "":
	case at.Project != "":
		scope = wire.MemoryOfProject
	case at.Key != "":
		scope = wire.MemoryOfUser
	}
	return scopeText(scope, at)
}

// scopeText describes the subject of notes.
func scopeText(scope string, at wire.MemoryPlace) string {
	switch {
	case scope == wire.MemoryOfProject && at.Project != "":
		return "about the project " + prose.Clean(at.Project)
	case scope == wire.MemoryOfUser && at.Key != "":
		return "about the person or group of " + prose.Clean(at.Key)
	case scope == wire.MemoryOfProject || scope == wire.MemoryOfUser:
		return "about the " + scope
	case at.Agent == "":
		return "of the default agent"
	}
	return "of the agent " + prose.Clean(at.Agent)
}

func (p memoryCommands) memoryDream(f *memoryFlags) *cobra.Command {
	var o wire.DreamOrder
	cmd := &cobra.Command{
		Use: "dream", Short: "Consolidate notes: extract new facts, merge, date and expire them", Args: none,
		Long: `Consolidate notes: extract facts from new conversations, make dates absolute,
merge duplicates, replace outdated facts, and update MEMORY.md. The gateway
does this automatically when idle. Every change is listed with its evidence.`,
		Example: "  firn memory dream --plan\n  firn memory dream --if-due",
	}
	cmd.Flags().BoolVar(&o.Plan, "plan", false, "print the plan without changing anything")
	cmd.Flags().BoolVar(&o.IfDue, "if-due", false, "do nothing unless the last run was a day ago and there are enough new conversations")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		why := mayChange
		if o.Plan {
			why = readOnly
		}
		return p.withMemory(f, why, func(ctx context.Context, c *client.Client, at wire.MemoryPlace, _ []string) error {
			dreams, err := c.Memory.Dream(ctx, at, o)
			if err != nil {
				return err
			}
			return p.print(dreams, func() string { return dreamsText(at, dreams) })
		})(cmd, args)
	}
	return cmd
}

func dreamsText(at wire.MemoryPlace, dreams []wire.Dream) string {
	var lines []string
	for _, d := range dreams {
		if d.Shut != "" {
			lines = append(lines, fmt.Sprintf("%s: not due (%s): %s", prose.Clean(d.Scope), d.Shut, prose.Clean(d.Why)))
			continue
		}
		word := "consolidated"
		if d.Planned {
			word = "would be consolidated"
		}
		lines = append(lines, fmt.Sprintf("%s: %s · %s read, %s found · %s", prose.Clean(d.Scope), word,
			prose.Plural(d.Sessions, "session"), prose.Plural(d.Found, "fact"), prose.Plural(len(d.Change.Edits), "change")))
		lines = append(lines, editLines(d.Change.Edits)...)
		for _, why := range d.Without {
			lines = append(lines, "note: "+prose.OneLine(why, 160))
		}
		if d.Change.ID != "" && len(d.Change.Edits) > 0 {
			lines = append(lines, "undo: "+undoMemory(at, d.Change.ID))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func (p memoryCommands) memoryChanges(f *memoryFlags) *cobra.Command {
	return &cobra.Command{
		Use: "changes", Short: "List changes to notes that can be undone", Args: none, Example: "  firn memory changes",
		RunE: p.withMemory(f, readOnly, func(ctx context.Context, c *client.Client, at wire.MemoryPlace, _ []string) error {
			changes, err := c.Memory.Changes(ctx, at)
			if err != nil {
				return err
			}
			return p.print(changes, func() string {
				if len(changes) == 0 {
					return "no changes\n"
				}
				rows := [][]string{{"CHANGE", "WHEN", "SCOPE", "WHAT", "EDITS", ""}}
				for _, c := range changes {
					state := ""
					if c.Undone {
						state = "undone"
					}
					rows = append(rows, []string{c.ID, c.Time.Local().Format("2006-01-02 15:04"), prose.Clean(c.Scope), c.Kind, fmt.Sprint(len(c.Edits)), state})
				}
				return strings.Join(prose.Table(rows), "\n") + "\n"
			})
		}),
	}
}

func (p memoryCommands) memoryUndo(f *memoryFlags) *cobra.Command {
	var u wire.UndoMemory
	cmd := &cobra.Command{
		Use: "undo [CHANGE]", Short: "Undo a change to notes: the latest, or the given one", Args: args(0, 1, "the id of a change"),
		Example: "  firn memory undo\n  firn memory undo 06fv3m8k2h1qa --edit 2",
	}
	cmd.Flags().IntSliceVar(&u.Edits, "edit", nil, "only the edit with this `number`; may be repeated")
	cmd.RunE = p.withMemory(f, mayChange, func(ctx context.Context, c *client.Client, at wire.MemoryPlace, args []string) error {
		id := ""
		if len(args) > 0 {
			id = args[0]
		} else if latest, err := latestChange(ctx, c, at); err != nil {
			return err
		} else if id = latest; id == "" {
			return &wire.Problem{Kind: wire.NotFound, Message: "there is no change to undo", Hint: "to list changes: firn memory changes; --key and --project select other notes"}
		}
		change, err := c.Memory.Undo(ctx, at, id, u)
		if err != nil {
			return err
		}
		return p.print(change, func() string { return changeText("undone", at, change) })
	})
	return cmd
}

// latestChange returns the latest change in effect; empty if there is none.
func latestChange(ctx context.Context, c *client.Client, at wire.MemoryPlace) (string, error) {
	changes, err := c.Memory.Changes(ctx, at)
	id := ""
	for _, c := range changes { // they may belong to several scopes
		if !c.Undone && c.Kind != "undo" && c.ID > id {
			id = c.ID
		}
	}
	return id, err
}
