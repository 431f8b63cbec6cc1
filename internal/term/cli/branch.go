package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p changeCommands) forkCommand() *cobra.Command {
	var f wire.Fork
	var at string
	var plan bool
	cmd := &cobra.Command{
		Use:     "fork SESSION",
		GroupID: "sessions",
		Short:   "Start a new session from an entry of another one",
		Long: `Start a new session that continues from an entry of another one, and print its
id. All entries leading to that entry are copied; the other session does not
change.

` + sessionHelp + "\n\n" + entryHelp,
		Example: "  firn fork -\n  firn fork 0198c5a2 --at HEAD~2 --title 'second attempt'", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			s, err := p.session(ctx, c, args[0])
			if err != nil {
				return err
			}
			f.At = firn.EntryID(at)
			if plan {
				return p.planFork(ctx, c, s, f)
			}
			made, err := c.Fork(ctx, s.ID, f)
			if err != nil {
				return err
			}
			return p.print(made, func() string { return string(made.ID) + "\n" })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&at, "at", "", "last `entry` to copy (default HEAD)")
	flags.StringVar(&f.Title, "title", "", "`title` of the new session")
	flags.StringVar(&f.Key, "key", "", "point this `key` at the new session")
	flags.BoolVar(&plan, "plan", false, "print the plan without changing anything")
	return cmd
}

// planFork prints the entry at which a fork would start.
func (p changeCommands) planFork(ctx context.Context, c *client.Client, s wire.Session, f wire.Fork) error {
	n, err := p.node(ctx, c, s.ID, cmp.Or(string(f.At), "HEAD"))
	if err != nil {
		return err
	}
	would := fmt.Sprintf("would start a new session from #%d %s: %s", n.N, prose.AuthorOf(n), prose.OneLine(n.Preview, 60))
	if f.Key != "" {
		would += "; " + prose.Clean(f.Key) + " would point at it"
	}
	return p.plan(s.ID, "fork", would)
}

func (p changeCommands) rewindCommand() *cobra.Command {
	var m wire.Move
	var plan bool
	var files fileFlags
	cmd := &cobra.Command{
		Use:     "rewind SESSION [ENTRY]",
		GroupID: "sessions",
		Short:   "Move the head of a session to an earlier or later entry",
		Long: `Move the head of a session: the next message follows the given entry. Without
an entry, go back one turn, or -n turns. The entries left behind stay in the
log on a branch, and you can rewind to them again.

` + sessionHelp + "\n\n" + entryHelp,
		Example: "  firn rewind - -n 2\n  firn rewind 0198c5a2 before-refactor", Args: args(1, 2, "a session and optionally an entry"), ValidArgsFunction: p.completeSession(false),
	}
	cmd.Flags().IntVarP(&m.Back, "turns", "n", 0, "go back `N` turns")
	cmd.Flags().BoolVar(&m.Summary, "summary", false, "summarize the abandoned branch for the model")
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	files.add(cmd)
	cmd.RunE = p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
		switch {
		case len(args) == 2 && m.Back != 0:
			return usage(cmd, "firn rewind takes an entry or -n, not both")
		case m.Back < 0 || m.Back == 0 && cmd.Flags().Changed("turns"):
			return usage(cmd, "firn rewind cannot go back %d turns", m.Back)
		case len(args) == 2:
			m.To = firn.EntryID(args[1])
		case m.Back == 0:
			m.Back = 1
		}
		if err := files.check(cmd, m); err != nil {
			return err
		}
		return p.rewind(ctx, c, args[0], m, plan, files)
	})
	return cmd
}

// rewind moves the head of a session.
func (p changeCommands) rewind(ctx context.Context, c *client.Client, ref string, m wire.Move, plan bool, files fileFlags) error {
	s, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	switch {
	case plan && files.wanted():
		return planFiles(ctx, p.program, c, s, m, files)
	case files.only:
		return rewindOnlyFiles(ctx, p.program, c, s, m, files)
	case files.both:
		return rewindBoth(ctx, p.program, c, s, m, files)
	}
	if plan {
		to := string(m.To)
		if to == "" {
			to = fmt.Sprintf("HEAD~%d", m.Back)
		}
		n, err := p.node(ctx, c, s.ID, to)
		if err != nil {
			return err
		}
		return p.plan(s.ID, "rewind", fmt.Sprintf("would rewind to #%d %s: %s", n.N, prose.AuthorOf(n), prose.OneLine(n.Preview, 60)))
	}
	moved, err := c.Rewind(ctx, s.ID, m)
	if err != nil {
		return err
	}
	if moved.Entry == "" {
		return p.print(moved, func() string {
			return fmt.Sprintf("%s%s is already at %s; no changes made\n", prose.Short(s.ID), quotedName(s.Title), toText(moved.To))
		})
	}
	return p.print(moved, func() string { return rewindText(s, moved) })
}

func rewindText(s wire.Session, m wire.Moved) string {
	short := prose.Short(s.ID)
	text := fmt.Sprintf("rewound %s%s to %s · %s left on a branch · 0 bytes removed\n", short, quotedName(s.Title), toText(m.To), prose.Count(m.Left, "entry", "entries"))
	if m.Text != "" {
		text += fmt.Sprintf("your message was: %s\n", prose.OneLine(m.Text, 100))
	}
	if m.From != "" {
		text += fmt.Sprintf("undo: firn rewind %s %s\n", short, m.From)
	}
	return text
}

func toText(to firn.EntryID) string {
	if to == "" || to == firn.Root {
		return "the start"
	}
	return string(to)
}

func (p changeCommands) labelCommand() *cobra.Command {
	var remove, plan bool
	cmd := &cobra.Command{
		Use:     "label SESSION ENTRY NAME",
		GroupID: "sessions",
		Short:   "Label an entry, to refer to it by name",
		Long: `Label an entry. A label can be used wherever an entry is expected. Entries
with the label pin are kept verbatim in every compaction.

` + sessionHelp + "\n\n" + entryHelp,
		Example: "  firn label - HEAD before-refactor\n  firn label - before-refactor --remove", Args: args(2, 3, "a session, an entry and a name"), ValidArgsFunction: p.completeSession(false),
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the label")
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if remove == (len(args) == 3) {
			return usage(cmd, "firn label takes a session, an entry and either a name or --remove")
		}
		return p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			return p.label(ctx, c, args, plan)
		})(cmd, args)
	}
	return cmd
}

// label labels an entry, or removes its label if no name is given.
func (p changeCommands) label(ctx context.Context, c *client.Client, args []string, plan bool) error {
	s, err := p.session(ctx, c, args[0])
	if err != nil {
		return err
	}
	e, err := c.Entry(ctx, s.ID, args[1], false) // rejects an ambiguous name
	if err != nil {
		return err
	}
	n, err := p.node(ctx, c, s.ID, lineID(e, args[1]))
	if err != nil {
		return err
	}
	l := wire.Label{Entry: string(n.ID)}
	if len(args) == 3 {
		l.Name = strings.Join(strings.Fields(args[2]), " ")
	}
	what := fmt.Sprintf("#%d %s: %s", n.N, prose.AuthorOf(n), prose.OneLine(n.Preview, 60))
	switch {
	case plan && l.Name == "":
		return p.plan(s.ID, "label", "would remove the label of "+what)
	case plan:
		return p.plan(s.ID, "label", "would set the label "+prose.Clean(l.Name)+": "+what)
	case l.Name == n.Label && l.Name == "":
		return p.print(wire.Appended{}, func() string { return what + "\nit has no label; no changes made\n" })
	case l.Name == n.Label:
		return p.print(wire.Appended{}, func() string {
			return fmt.Sprintf("%s\nits label is already %s; no changes made\n", what, prose.Clean(l.Name))
		})
	}
	done, err := c.Label(ctx, s.ID, l)
	if err != nil {
		return err
	}
	return p.print(done, func() string { return labelText(s.ID, n, l.Name) })
}

// lineID returns the ID in the line of an entry, or ref if it has none.
func lineID(e wire.Entry, ref string) string {
	var line struct{ ID string }
	if json.Unmarshal(e.Line, &line) != nil || line.ID == "" {
		return ref
	}
	return line.ID
}

// labelText describes the label of an entry. The undo command uses the entry's ID, since
// labels need not be unique.
func labelText(id firn.ID, n wire.Node, name string) string {
	text := fmt.Sprintf("labeled %s: %s\n", n.ID, prose.Clean(name))
	if name == "" {
		text = fmt.Sprintf("removed from %s the label %s\n", n.ID, prose.Clean(n.Label))
	}
	if n.Label == "" {
		return text + fmt.Sprintf("undo: firn label %s %s --remove\n", prose.Short(id), n.ID)
	}
	return text + fmt.Sprintf("undo: firn label %s %s %s\n", prose.Short(id), n.ID, quote(prose.Clean(n.Label)))
}

func (p changeCommands) renameCommand() *cobra.Command {
	var remove, plan bool
	cmd := &cobra.Command{
		Use:     "rename SESSION TITLE",
		GroupID: "sessions",
		Short:   "Set the title of a session",
		Long: `Set the title of a session. A title you set is never replaced automatically. A
session without a title is listed by the start of its first message.

` + sessionHelp,
		Example: "  firn rename - 'a trip to Oslo'\n  firn rename - --remove", Args: args(1, 2, "a session and a title"), ValidArgsFunction: p.completeSession(false),
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the title")
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if remove == (len(args) == 2) {
			return usage(cmd, "firn rename takes a session and either a title or --remove")
		}
		return p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			title := ""
			if !remove {
				title = args[1]
			}
			return p.rename(ctx, c, args[0], title, plan)
		})(cmd, args)
	}
	return cmd
}

// rename sets the title of a session, or removes it if title is empty.
func (p changeCommands) rename(ctx context.Context, c *client.Client, ref, title string, plan bool) error {
	s, err := p.session(ctx, c, ref)
	switch {
	case err != nil:
		return err
	case title == "" && s.Title == "":
		return p.print(s, func() string { return prose.Short(s.ID) + quotedName(nameOf(s)) + " has no title; no changes made\n" })
	case plan && title == "":
		return p.plan(s.ID, "rename", fmt.Sprintf("would remove from %s the title%s", prose.Short(s.ID), quotedName(s.Title)))
	case plan:
		return p.plan(s.ID, "rename", fmt.Sprintf("would rename %s%s to%s", prose.Short(s.ID), quotedName(s.Title), quotedName(title)))
	}
	now, err := c.Patch(ctx, s.ID, wire.Patch{Title: &title})
	if err != nil {
		return err
	}
	done := fmt.Sprintf("renamed %s to%s\n", prose.Short(now.ID), quotedName(now.Title))
	if title == "" {
		done = fmt.Sprintf("removed from %s the title%s\n", prose.Short(now.ID), quotedName(s.Title))
	}
	if s.Title == "" && p.inPlace {
		return p.print(now, func() string { return done }) // few tools can remove a title
	}
	return p.print(now, func() string { return done + undoRename(s) })
}

// undoRename returns a line with the command that restores the old title, or the state
// without one.
func undoRename(s wire.Session) string {
	if s.Title == "" {
		return fmt.Sprintf("undo: firn rename %s --remove\n", prose.Short(s.ID))
	}
	return fmt.Sprintf("undo: firn rename %s %s\n", prose.Short(s.ID), quote(prose.Clean(s.Title)))
}
