package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// removeCommands are the commands that archive, remove, restore and purge sessions.
type removeCommands struct{ *program }

func (p removeCommands) archiveCommand() *cobra.Command {
	var undo, plan bool
	cmd := &cobra.Command{
		Use:     "archive SESSION…",
		GroupID: "sessions",
		Short:   "Archive sessions: hide them from lists",
		Long: `Archive sessions: hide them from lists. --undo lists them again. Archived
sessions can be read as before, and resumed by name with firn chat -r, --key or
--main. firn chat without them starts a new session for the project, and -c
resumes the latest one that is not archived.

` + sessionHelp,
		Example: "  firn archive 0198c5a2\n  firn archive --undo 0198c5a2", Args: args(1, -1, "one or more sessions"), ValidArgsFunction: p.completeSession(true),
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			return p.each(args, func(ref string) error { return p.archive(ctx, c, ref, !undo, plan) })
		}),
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "list the sessions again")
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything")
	return cmd
}

// archive archives or unarchives a session.
func (p removeCommands) archive(ctx context.Context, c *client.Client, ref string, archived, plan bool) error {
	s, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	word, undo := "archived", "firn archive --undo "
	if !archived {
		word, undo = "unarchived", "firn archive "
	}
	if plan {
		return p.plan(s.ID, "archive", fmt.Sprintf("would be %s: %s%s", word, prose.Short(s.ID), quotedName(s.Title)))
	}
	if s.Archived == archived {
		state := map[bool]string{true: "is already archived", false: "is not archived"}[archived]
		return p.print(s, func() string {
			return fmt.Sprintf("%s%s %s; no changes made\n", prose.Short(s.ID), quotedName(s.Title), state)
		})
	}
	now, err := c.Patch(ctx, s.ID, wire.Patch{Archived: &archived})
	if err != nil {
		return err
	}
	return p.print(now, func() string {
		return fmt.Sprintf("%s %s%s · 0 bytes removed\nundo: %s%s\n", word, prose.Short(s.ID), quotedName(s.Title), undo, prose.Short(s.ID))
	})
}

func (p removeCommands) rmCommand() *cobra.Command {
	var q wire.Remove
	var entry string
	var plan bool
	cmd := &cobra.Command{
		Use:     "rm SESSION… | SESSION ENTRY",
		Aliases: []string{"remove", "delete"},
		GroupID: "sessions",
		Short:   "Hide sessions, or one entry; nothing is erased",
		Long: `Hide sessions: they are no longer listed, and no byte is removed. --bin moves
their files to the trash bin of the home. With --entry, or with '#220' or
HEAD~2 after the session, hide only that entry: it is no longer sent to the
model. HEAD is the last message that is not hidden. firn restore undoes all of
this; only firn purge and firn bin empty erase.

` + sessionHelp + "\n\n" + entryHelp,
		Example: "  firn rm 0198c5a2\n  firn rm - --entry '#220'", Args: args(1, -1, "one or more sessions"), ValidArgsFunction: p.completeSession(true),
	}
	flags := cmd.Flags()
	flags.BoolVar(&q.Bin, "bin", false, "move the files to the trash bin")
	flags.StringVar(&q.Reason, "reason", "", "`reason` to record")
	flags.StringVar(&entry, "entry", "", "hide only this `entry`")
	flags.BoolVar(&plan, "plan", false, "print the plan without changing anything")
	cmd.RunE = p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
		if entry == "" && len(args) == 2 && isEntry(args[1]) {
			args, entry = args[:1], args[1]
		}
		if entry != "" {
			if len(args) > 1 || q.Bin {
				return usage(cmd, "--entry takes one session and cannot be combined with --bin")
			}
			return p.hide(ctx, c, args[0], wire.Hide{Entry: entry, Reason: q.Reason}, plan)
		}
		return p.each(args, func(ref string) error { return p.rm(ctx, c, ref, q, plan) })
	})
	return cmd
}

// isEntry reports whether a word can only be an entry reference.
func isEntry(word string) bool {
	return strings.HasPrefix(word, "#") || strings.HasPrefix(word, "HEAD")
}

// rm hides a session, or moves it to the trash bin.
func (p removeCommands) rm(ctx context.Context, c *client.Client, ref string, q wire.Remove, plan bool) error {
	s, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	word := "hidden"
	if q.Bin {
		word = "moved to the trash bin"
	}
	if plan {
		return p.plan(s.ID, "rm", fmt.Sprintf("would be %s: %s%s, %s in %s", word, prose.Short(s.ID), quotedName(s.Title), prose.Size(s.Bytes), prose.Plural(s.Parts, "part")))
	}
	if s.Hidden && !q.Bin {
		return p.print(s, func() string {
			return fmt.Sprintf("%s%s is already hidden; no changes made\n", prose.Short(s.ID), quotedName(s.Title))
		})
	}
	done, err := c.Remove(ctx, s.ID, q)
	if err != nil {
		return err
	}
	return p.print(done, func() string {
		text := fmt.Sprintf("%s %s%s%s · %s removed\n", word, prose.Short(s.ID), quotedName(done.Title), partsOf(done), prose.Count(int(done.BytesRemoved), "byte", "bytes"))
		return text + "undo: firn restore " + prose.Short(s.ID) + "\n"
	})
}

// partsOf lists the files of a session with several parts.
func partsOf(r wire.Removed) string {
	if r.Parts < 2 {
		return ""
	}
	names := make([]string, len(r.Files))
	for i, f := range r.Files {
		names[i] = prose.Clean(filepath.Base(f))
	}
	return fmt.Sprintf(" · %d parts, %s: %s", r.Parts, prose.Size(r.Bytes), strings.Join(names, ", "))
}

// hide hides an entry.
func (p removeCommands) hide(ctx context.Context, c *client.Client, ref string, h wire.Hide, plan bool) error {
	s, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	n, err := visibleNode(ctx, c, s.ID, h.Entry)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("#%d %s: %s", n.N, prose.AuthorOf(n), prose.OneLine(n.Preview, 60))
	if plan {
		return p.plan(s.ID, "rm", "would hide "+what)
	}
	h.Entry = string(n.ID)
	done, err := c.Hide(ctx, s.ID, h)
	if err != nil {
		return err
	}
	return p.print(done, func() string {
		if len(done.IDs) == 0 {
			return what + "\nit is already hidden; no changes made\n"
		}
		return fmt.Sprintf("hidden %s · 0 bytes removed\nundo: firn restore %s %s\n", what, prose.Short(s.ID), n.ID)
	})
}

func (p removeCommands) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "restore SESSION [ENTRY]",
		GroupID: "sessions",
		Short:   "Undo firn rm: restore a session, or one entry",
		Long:    "Restore a session that was hidden or moved to the trash bin, or a hidden entry. Without ENTRY, - is the latest hidden session.\n\n" + sessionHelp + "\nRefer to a session in the trash bin by its id, the start of it, or its title:\nfirn bin ls.\n\n" + entryHelp,
		Example: "  firn restore 0198c5a2\n  firn restore - '#220'", Args: args(1, 2, "a session and optionally an entry"), ValidArgsFunction: p.completeSession(false),
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			if args[0] == latestSession && len(args) == 1 {
				args = p.latestHidden(ctx, c, args)
			}
			s, binned, err := p.findRemoved(ctx, c, args[0])
			if err != nil {
				return err
			}
			if len(args) == 2 {
				return p.showAgain(ctx, c, s.ID, args[1])
			}
			return p.restore(ctx, c, s, binned)
		}),
	}
}

// latestHidden returns the latest hidden session as the argument of a command, or the
// arguments as they are if there is none.
func (p removeCommands) latestHidden(ctx context.Context, c *client.Client, args []string) []string {
	page, err := c.SessionsPage(ctx, client.Query{Hidden: true, Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return args // the command reports what is wrong
	}
	return []string{string(page.Items[0].ID)}
}

// restore restores a session. If the session was not removed, it only prints that, without
// an undo command, which would hide it.
func (p removeCommands) restore(ctx context.Context, c *client.Client, s wire.Session, binned bool) error {
	if !binned && !s.Hidden {
		return p.print(s, func() string { return notHidden(s) })
	}
	now, err := c.Restore(ctx, s.ID)
	if err != nil {
		return err
	}
	undo := "firn rm "
	if binned {
		undo += "--bin "
	}
	return p.print(now, func() string {
		return fmt.Sprintf("restored %s%s\nundo: %s%s\n", prose.Short(now.ID), quotedName(now.Title), undo, prose.Short(now.ID))
	})
}

// notHidden returns the message that there is nothing to restore, with a suggestion.
func notHidden(s wire.Session) string {
	text := fmt.Sprintf("%s%s is not hidden; no changes made\n", prose.Short(s.ID), quotedName(s.Title))
	if s.Archived {
		text += "it is archived; to list it again: firn archive --undo " + prose.Short(s.ID) + "\n"
	}
	return text
}

// showAgain restores an entry.
func (p removeCommands) showAgain(ctx context.Context, c *client.Client, id firn.ID, entry string) error {
	done, err := c.Show(ctx, id, wire.Hide{Entry: entry})
	if err != nil {
		return err
	}
	return p.print(done, func() string {
		if len(done.IDs) == 0 {
			return fmt.Sprintf("%s is not hidden; no changes made\n", prose.Clean(entry))
		}
		return fmt.Sprintf("restored %s\nundo: firn rm %s --entry '%s'\n", prose.Clean(entry), prose.Short(id), prose.Clean(entry))
	})
}

func (p removeCommands) purgeCommand() *cobra.Command {
	var e wire.Erase
	var sure string
	var plan bool
	cmd := &cobra.Command{
		Use:     "purge SESSION [ENTRY…]",
		GroupID: "sessions",
		Short:   "Permanently erase a session, or entries of it",
		Long: `Permanently erase a session, or some of its entries. This cannot be undone; only
this command and firn bin empty remove messages. Notes based only on the erased
entries, titles made from them, and matching lines in the input history are
erased too. Copies out of reach are listed. A receipt without content remains.
To confirm, repeat the full id of the session with --sure. HEAD is the last
message that is not hidden.

` + sessionHelp + "\n\n" + entryHelp,
		Example: "  firn purge 0198c5a2 --plan\n  firn purge 0198c5a2 --sure 0198c5a2-5f6e-7abc-8def-0123456789ab", Args: args(1, -1, "a session and optionally entries"), ValidArgsFunction: p.completeSession(false),
	}
	flags := cmd.Flags()
	flags.StringVar(&sure, "sure", "", "full `id` of the session, to confirm")
	flags.StringVar(&e.Reason, "reason", "", "`reason` recorded in the receipt")
	flags.BoolVar(&plan, "plan", false, "print the plan without changing anything")
	cmd.RunE = p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
		e.Sure = firn.ID(sure)
		return p.purge(ctx, c, cmd, args, e, plan)
	})
	return cmd
}

// purge erases a session or entries of it.
func (p removeCommands) purge(ctx context.Context, c *client.Client, cmd *cobra.Command, args []string, e wire.Erase, plan bool) error {
	s, _, err := p.findRemoved(ctx, c, args[0])
	if err != nil {
		return err
	}
	id := s.ID
	what := "session " + string(id)
	for _, ref := range args[1:] {
		n, err := visibleNode(ctx, c, id, ref)
		if err != nil {
			return err
		}
		e.Entries = append(e.Entries, n.ID)
	}
	if n := len(e.Entries); n > 0 {
		what = fmt.Sprintf("%s of session %s", prose.Count(n, "entry", "entries"), id)
	}
	if plan {
		return p.planPurge(ctx, c, id, e, what)
	}
	if e.Sure != id {
		return usage(cmd, "this would permanently erase %s; to confirm, add --sure %s", what, id)
	}
	return p.erase(ctx, c, id, e, what)
}

// erase erases a session or entries, and their text in the input history.
func (p removeCommands) erase(ctx context.Context, c *client.Client, id firn.ID, e wire.Erase, what string) error {
	typed, unread, err := typedIn(ctx, c, id, e.Entries)
	if err != nil {
		return err
	}
	lines, err := chatCommands(p).eraseTyped(typed) // before the purge: if it fails, a second attempt still knows the text
	if err != nil {
		return err
	}
	receipt, err := c.Purge(ctx, id, e)
	if err != nil {
		return err
	}
	if receipt.Unread == "" && unread != nil {
		receipt.Unread = unread.Error()
	}
	p.noteLeft(ctx)
	return p.print(receipt, func() string { return purgeText(what+repeatedNote(receipt, e), receipt, lines+receipt.Typed) })
}

// purgePlan is the JSON form of the plan of firn purge.
type purgePlan struct {
	planned
	Entries   []firn.EntryID `json:"entries,omitempty"`
	Bytes     int64          `json:"bytes"`
	Files     []string       `json:"files,omitempty"`
	Unread    string         `json:"unread,omitempty"`
	Forks     []firn.ID      `json:"forks,omitempty"`
	Summaries []firn.EntryID `json:"summaries,omitempty"`
}

// planPurge prints the entries and files that would be erased, and their size.
func (p removeCommands) planPurge(ctx context.Context, c *client.Client, id firn.ID, e wire.Erase, what string) error {
	e.Plan = true
	r, err := c.Purge(ctx, id, e)
	if err != nil {
		return err
	}
	would := fmt.Sprintf("would erase %s, %s", what+repeatedNote(r, e), prose.Count(int(r.Bytes), "byte", "bytes"))
	switch n := prose.Plural(len(r.Files), "file"); {
	case len(r.Files) == 0:
	case len(e.Entries) > 0: // the other entries stay in firn's own files
		would += fmt.Sprintf(" with %s of mirrors that contain it", n)
	default:
		would += " in " + n
	}
	would += ", permanently"
	return p.print(purgePlan{planned{"purge", id, would}, r.Entries, r.Bytes, r.Files, r.Unread, r.Forks, r.Summaries}, func() string {
		return would + "; no changes made\n" + leftText(r)
	})
}

// purgeText formats a receipt.
func purgeText(what string, r wire.Receipt, lines int) string {
	if r.Already {
		return fmt.Sprintf("%s was already erased at %s (%s); no changes made\n", what, r.Done.Local().Format("2006-01-02 15:04"), prose.Count(int(r.Bytes), "byte", "bytes"))
	}
	text := fmt.Sprintf("erased %s · %s removed from %s; this cannot be undone\n", what, prose.Count(int(r.Bytes), "byte", "bytes"), prose.Plural(len(r.Files), "file"))
	if r.Notes > 0 {
		text += fmt.Sprintf("erased %s and their old versions from the notes: they had no other source\n", prose.Plural(r.Notes, "fact"))
	}
	if lines > 0 {
		text += fmt.Sprintf("erased %s from the input history\n", prose.Plural(lines, "line"))
	}
	return text + leftText(r) + "copies out of reach: exports, backups, mirrors until their next run, other\ntools' files, and requests already sent to models\n"
}

// repeatedNote returns the number of further entries that were erased because they repeat a
// named one.
func repeatedNote(r wire.Receipt, asked wire.Erase) string {
	n := len(r.Entries) - len(asked.Entries)
	if n <= 0 {
		return ""
	}
	return " and " + prose.Count(n, "entry that repeats it", "entries that repeat it")
}

// leftText lists the places that still contain some of the erased text.
func leftText(r wire.Receipt) string {
	text := ""
	if r.Unread != "" {
		text += fmt.Sprintf("part of it could not be read, so the input history may still contain lines of it: %s\n", prose.Clean(r.Unread))
	}
	if len(r.Forks) > 0 {
		text += fmt.Sprintf("copies remain in sessions forked from it: %s\n", listed(r.Forks))
	}
	if len(r.Summaries) > 0 {
		text += fmt.Sprintf("these summaries were made from it and may repeat it; check and purge them too: %s\n", listed(r.Summaries))
	}
	return text
}

// listed joins IDs with commas.
func listed[T ~string](ids []T) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = string(id)
	}
	return strings.Join(words, ", ")
}
