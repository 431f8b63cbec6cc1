package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/base/typo"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/chat"
	"firn.dev/wire"
)

// memoryFlags select the notes.
type memoryFlags struct{ wire.MemoryPlace }

func (f *memoryFlags) add(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVarP(&f.Agent, "agent", "a", "", "notes of this `agent` (default the default agent)")
	flags.StringVar(&f.Key, "key", "", "include notes about the person or group of this `key`")
	flags.StringVar(&f.Project, "project", "", "include notes about this `directory`")
	flags.StringVar(&f.Scope, "scope", "", "only notes with this `subject`: agent, user or project")
}

// place returns the selected notes, with an absolute directory.
func (f *memoryFlags) place(cmd *cobra.Command) (wire.MemoryPlace, error) {
	at := f.MemoryPlace
	if scopes := []string{wire.MemoryOfAgent, wire.MemoryOfUser, wire.MemoryOfProject}; at.Scope != "" && !slices.Contains(scopes, at.Scope) {
		if near := typo.Nearest(at.Scope, scopes, 2); near != "" {
			return at, &usageError{message: fmt.Sprintf("unknown subject of notes %q", at.Scope), hint: "did you mean --scope " + near + "?"}
		}
		return at, usage(cmd, "unknown subject of notes %q: expected agent, user or project", at.Scope)
	}
	if at.Project != "" {
		dir, err := filepath.Abs(at.Project)
		if err != nil {
			return at, usage(cmd, "no such directory: %q", at.Project)
		}
		at.Project = dir
	}
	return at, nil
}

// memoryCommands are the commands of notes.
type memoryCommands struct{ *program }

func (p memoryCommands) memoryCommand() *cobra.Command {
	f := &memoryFlags{}
	cmd := &cobra.Command{
		Use:     "memory",
		GroupID: "find",
		Short:   "Manage notes: facts saved beyond one session",
		Long: `Notes are facts saved beyond one session: plain Markdown files written by
agents and people. Matching notes are added to the window before each turn,
with their origin. Every change keeps the old version, and firn memory undo
restores it.`,
		Example: "  firn memory add 'Releases are on Fridays.'\n  firn memory search release\n  firn memory dream --plan",
		Args:    cobra.ArbitraryArgs,
		RunE:    p.unknown,
	}
	f.add(cmd)
	cmd.AddCommand(p.memoryLs(f), p.memoryShow(f), p.memorySearch(f), p.memoryAdd(f), p.memoryEdit(f), p.memoryForget(f), p.memoryClear(f), p.memoryDream(f), p.memoryChanges(f), p.memoryUndo(f))
	return cmd
}

// withMemory makes a command call do with the selected notes.
func (p memoryCommands) withMemory(f *memoryFlags, why purpose, do func(ctx context.Context, c *client.Client, at wire.MemoryPlace, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		at, err := f.place(cmd)
		if err != nil {
			return err
		}
		return p.with(why, func(ctx context.Context, c *client.Client, args []string) error { return do(ctx, c, at, args) })(cmd, args)
	}
}

func (p memoryCommands) memoryLs(f *memoryFlags) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List notes", Args: none, Example: "  firn memory ls\n  firn memory ls --project . --json",
		RunE: p.withMemory(f, readOnly, func(ctx context.Context, c *client.Client, at wire.MemoryPlace, _ []string) error {
			notes, err := c.Memory.Notes(ctx, at)
			if err != nil {
				return err
			}
			return p.print(notes, func() string { return notesText(notes) + noProjectNotes(at, notes) })
		}),
	}
}

// noProjectNotes returns a line if notes about a project were asked for and there are none, but
// others; empty if not.
func noProjectNotes(at wire.MemoryPlace, notes []wire.Note) string {
	about := func(n wire.Note) bool { return strings.HasPrefix(n.Ref, wire.MemoryOfProject+"/") }
	if at.Project == "" || len(notes) == 0 || slices.ContainsFunc(notes, about) {
		return ""
	}
	return fmt.Sprintf("no notes about %s; to add one: firn memory add --project %s TEXT\n", prose.Clean(at.Project), quote(at.Project))
}

func notesText(notes []wire.Note) string {
	if len(notes) == 0 {
		return "no notes; to add one: firn memory add TEXT\n"
	}
	rows := [][]string{{"NOTE", "TYPE", "SURE", "MADE", "FACTS", "ABOUT"}}
	for _, n := range notes {
		made, facts := "", ""
		if !n.Created.IsZero() {
			made = n.Created.Format("2006-01-02")
		}
		if n.Count > 0 {
			facts = strconv.Itoa(n.Count)
		}
		rows = append(rows, []string{prose.Clean(n.Ref), prose.OneLine(n.Type, 16), percent(n.Confidence), made, facts, prose.OneLine(cmp.Or(n.Description, n.Title), 60)})
	}
	return strings.Join(prose.Table(rows), "\n") + "\n"
}

func percent(c float64) string {
	if c == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", c*100)
}

func (p memoryCommands) memoryShow(f *memoryFlags) *cobra.Command {
	return &cobra.Command{
		Use: "show NOTE", Short: "Show a note and the names of its facts", Args: args(1, 1, "the name of a note"), Example: "  firn memory show release-plan\n  firn memory show agent/extracted",
		RunE: p.withMemory(f, readOnly, func(ctx context.Context, c *client.Client, at wire.MemoryPlace, args []string) error {
			n, err := c.Memory.Note(ctx, at, args[0])
			if err != nil {
				return err
			}
			return p.print(n, func() string { return noteText(n) })
		}),
	}
}

func noteText(n wire.Note) string {
	head := []string{prose.Clean(n.Ref)}
	for _, more := range []string{prose.OneLine(n.Title, 80), prose.OneLine(n.Type, 20), percent(n.Confidence)} {
		if more != "" {
			head = append(head, more)
		}
	}
	lines := []string{strings.Join(head, " · ")}
	if len(n.Sources) > 0 {
		lines = append(lines, "from "+prose.Clean(strings.Join(n.Sources, ", ")))
	}
	lines = append(lines, prose.Clean(n.File), "", strings.TrimRight(cleanText(n.Body), "\n"))
	if len(n.Facts) > 0 {
		lines = append(lines, "")
		for _, fact := range n.Facts {
			state := ""
			if fact.Superseded {
				state = "superseded: "
			}
			lines = append(lines, fmt.Sprintf("%s  %s%s", prose.Clean(fact.Ref), state, prose.OneLine(fact.Text, 80)))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// cleanText sanitizes a text line by line.
func cleanText(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = prose.Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (p memoryCommands) memorySearch(f *memoryFlags) *cobra.Command {
	count := bound(10)
	cmd := &cobra.Command{
		Use: "search WORD...", Short: "Search notes", Args: args(1, -1, "words to search for"), Example: "  firn memory search release day",
	}
	cmd.Flags().VarP(&count, "number", "n", "show at most `N` hits")
	cmd.RunE = p.withMemory(f, readOnly, func(ctx context.Context, c *client.Client, at wire.MemoryPlace, args []string) error {
		hits, err := c.Memory.Recall(ctx, at, strings.Join(args, " "), int(count))
		if err != nil {
			return err
		}
		return p.print(hits, func() string { return recalledText(hits) })
	})
	return cmd
}

func recalledText(hits []wire.Recalled) string {
	if len(hits) == 0 {
		return "no matching notes\n"
	}
	var lines []string
	for _, h := range hits {
		place := []string{prose.Clean(h.Ref)}
		for _, more := range []string{prose.OneLine(h.Title, 60), prose.OneLine(h.Type, 20), percent(h.Confidence)} {
			if more != "" {
				place = append(place, more)
			}
		}
		if !h.Time.IsZero() {
			place = append(place, h.Time.Format("2006-01-02"))
		}
		lines = append(lines, strings.Join(place, " · "), "  "+prose.OneLine(h.Text, 200))
		if h.Scope != "" && len(h.Sources) > 0 {
			lines = append(lines, "  from "+prose.Clean(strings.Join(h.Sources, ", ")))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func (p memoryCommands) memoryAdd(f *memoryFlags) *cobra.Command {
	var n wire.NewNote
	cmd := &cobra.Command{
		Use: "add TEXT...", Short: "Add a note", Args: args(1, -1, "the text, or - for stdin"),
		Long: `Add a note. By default the text goes into the note of the day, each line as a
separate fact; --name creates or replaces a note with that name. Facts that
exist are not added again.`,
		Example: "  firn memory add 'Releases are on Fridays.' --type decision\n  firn memory add --name 'House rules' - < rules.md",
	}
	flags := cmd.Flags()
	flags.StringVar(&n.Name, "name", "", "create or replace the note with this `name`")
	flags.StringVar(&n.Type, "type", "", "`type` of the note: preference, project, pattern, decision, constraint, or another word")
	flags.StringVar(&n.Description, "description", "", "one-line `description` of the note")
	cmd.RunE = p.withMemory(f, mayChange, func(ctx context.Context, c *client.Client, at wire.MemoryPlace, args []string) error {
		if err := p.mustBeProject(cmd, at.Project); err != nil {
			return err
		}
		n.Text = strings.Join(args, " ")
		if n.Text == "-" {
			text, err := io.ReadAll(io.LimitReader(p.input(ctx), 1<<20))
			if err != nil {
				return fmt.Errorf("read the text of the note: %w", err)
			}
			n.Text = string(text)
		}
		kept, err := c.Memory.Remember(ctx, at, n)
		if err != nil {
			return err
		}
		return p.print(kept, func() string { return keptText(at, kept) + "\n" })
	})
	return cmd
}

// mustBeProject returns an error if there is no such directory to add notes about. That of
// another machine's gateway cannot be checked.
func (p memoryCommands) mustBeProject(cmd *cobra.Command, dir string) error {
	if dir == "" {
		return nil
	}
	if settings, err := p.settings(); err == nil && settings.Client.Gateway != "" {
		return nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usage(cmd, "no such directory: %s", quote(dir))
	}
	return nil
}

// undoMemory returns the command that undoes a change to the selected notes. The scope is
// needed only with the key of one of the agent's own conversations.
func undoMemory(at wire.MemoryPlace, change string) string {
	if at.Scope != wire.MemoryOfUser {
		at.Scope = ""
	}
	words := []string{"firn", "memory", "undo", change}
	for _, flag := range []struct{ name, value string }{{"--agent", at.Agent}, {"--key", at.Key}, {"--project", at.Project}, {"--scope", at.Scope}} {
		if flag.value != "" {
			words = append(words, flag.name, flag.value)
		}
	}
	return quoteAll(words)
}

func keptText(at wire.MemoryPlace, k wire.Remembered) string {
	name := prose.Clean(k.Scope + "/" + k.Note)
	text := fmt.Sprintf("added to %s: %s", name, prose.Plural(len(k.Refs), "fact"))
	switch {
	case len(k.Refs) == 0:
		return "already known"
	case k.Refs[0] == k.Scope+"/"+k.Note: // a whole note, which has a name
		text = "saved as " + name
	case k.Known > 0:
		text += fmt.Sprintf("; %d already known", k.Known)
	}
	return text + "\nundo: " + undoMemory(at, k.Change)
}

// remembering, forgetting and noting return the chat's functions for notes.
func (p chatCommands) remembering(c *client.Client) func(context.Context, string, string) (string, error) {
	return func(ctx context.Context, agent, text string) (string, error) {
		at := wire.MemoryPlace{Agent: agent}
		kept, err := c.Memory.Remember(ctx, at, wire.NewNote{Text: text})
		return p.repeatFlags(keptText(at, kept)), err
	}
}

func (p chatCommands) forgetting(c *client.Client) func(context.Context, string, string) (string, error) {
	return func(ctx context.Context, agent, what string) (string, error) {
		at := wire.MemoryPlace{Agent: agent}
		change, err := c.Memory.Forget(ctx, at, what)
		return "removed; undo: " + p.again(undoMemory(at, change.ID)), err
	}
}

func noting(c *client.Client) func(context.Context, string, string, int) ([]chat.Hit, error) {
	return func(ctx context.Context, agent, query string, limit int) ([]chat.Hit, error) {
		var hits []chat.Hit
		at := wire.MemoryPlace{Agent: agent}
		if query == "" {
			notes, err := c.Memory.Notes(ctx, at)
			for _, n := range notes {
				hits = append(hits, chat.Hit{Source: n.Ref, Where: n.Type, Text: cmp.Or(n.Description, n.Title, prose.Plural(n.Count, "fact")), Time: n.Created})
			}
			return hits, err
		}
		at.Scope = wire.MemoryOfAgent
		found, err := c.Memory.Recall(ctx, at, query, limit)
		for _, h := range found {
			hits = append(hits, chat.Hit{Source: h.Ref, Text: h.Text, Time: h.Time})
		}
		return hits, err
	}
}
