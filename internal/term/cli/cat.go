package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// catFlags selects and formats entries.
type catFlags struct {
	view      string
	raw, full bool
	follow    bool
	from      string
	count     bound
}

func (f *catFlags) add(cmd *cobra.Command, view string) {
	flags := cmd.Flags()
	flags.StringVar(&f.view, "view", view, "what to show, a `view`: disk is all that is there, branch what leads to the head, window what the model is sent next")
	flags.BoolVar(&f.raw, "raw", false, "print the lines of the file as they are")
	flags.BoolVar(&f.full, "full", false, "show what tools returned and models thought as a whole")
	flags.BoolVarP(&f.follow, "follow", "f", false, "then wait, and print what is added, until Ctrl-C")
}

func (f *catFlags) check(cmd *cobra.Command, json bool) error {
	switch {
	case !slices.Contains([]string{wire.ViewDisk, wire.ViewBranch, wire.ViewWindow}, f.view):
		return usage(cmd, "there is no view %q; the views are disk, branch and window", f.view)
	case f.raw && json:
		return usage(cmd, "--raw prints lines as they are, --json what is known of them too; give one of them")
	case f.follow && f.view == wire.ViewWindow:
		return usage(cmd, "a window cannot be followed; --view branch or disk can")
	}
	return nil
}

// transcriptCommands are the commands that show the entries of sessions.
type transcriptCommands struct{ *program }

func (p transcriptCommands) catCommand() *cobra.Command {
	var f catFlags
	cmd := &cobra.Command{
		Use:     "cat SESSION",
		GroupID: "look",
		Short:   "Print what was said in a session",
		Long: `Print the entries of a session, oldest first. With --json each is an object on a line
of its own, with its place; with --raw it is the very line of the file. The pieces in
which an answer is kept while it comes are left out once it is there, and so are counts
of what was used and messages of programs that are not for display ("display":false);
--full, --json, --raw and --view disk have them.

` + damageHelp + "\n\n" + sessionHelp,
		Example: "  firn cat -\n  firn cat 0198c5a2 --view disk --from '#203'\n  firn cat @agent:main:main -f", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
	}
	f.add(cmd, wire.ViewBranch)
	cmd.Flags().StringVar(&f.from, "from", "", "begin with this `entry`")
	cmd.Flags().VarP(&f.count, "number", "n", "print at most `N` entries")
	cmd.RunE = p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
		if err := f.check(cmd, p.json); err != nil {
			return err
		}
		return p.cat(ctx, c, args[0], f)
	})
	return cmd
}

// cat prints entries from the beginning, or from an entry on.
func (p transcriptCommands) cat(ctx context.Context, c *client.Client, ref string, f catFlags) error {
	s, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	q := client.EntryQuery{View: f.view, Limit: f.limit(p.json)}
	if f.from != "" {
		if q.After, err = p.positionBefore(ctx, c, s.ID, f.from); err != nil {
			return err
		}
	}
	last, shown := q.After, bound(0)
	draft, damage := drafts{all: f.all(p.json), branch: f.view == wire.ViewBranch}, damaged{}
	for e, err := range c.Entries(ctx, s.ID, q) {
		if err != nil {
			return err
		}
		if last = max(last, e.Next); draft.leavesOut(e) {
			continue
		}
		if damage.entry(e); e.Gap == "" {
			shown++
		}
		if err := p.printEntry(e, f); err != nil {
			return err
		}
		if f.count > 0 && shown == f.count {
			draft.pieces = nil // entries after the limit were not requested
			break
		}
	}
	if err := p.printCutOff(draft.pieces); err != nil {
		return err
	}
	if !f.follow {
		return p.reportDamage(s.ID, damage)
	}
	return p.follow(ctx, c, s.ID, last, f)
}

// positionBefore returns the position before an entry.
func (p transcriptCommands) positionBefore(ctx context.Context, c *client.Client, id firn.ID, ref string) (firn.Pos, error) {
	node, err := p.node(ctx, c, id, ref)
	if err != nil {
		return 0, err
	}
	return node.At, nil
}

// follow prints entries as they are appended, until ctx is canceled.
func (p transcriptCommands) follow(ctx context.Context, c *client.Client, id firn.ID, after firn.Pos, f catFlags) error {
	draft := drafts{all: f.all(p.json), branch: f.view == wire.ViewBranch}
	for event, err := range c.Events(ctx, id, after) {
		if err != nil {
			return err
		}
		var missed wire.Missed
		if event.Name == wire.Gap && json.Unmarshal(event.Data, &missed) == nil && missed.Anew {
			fmt.Fprintf(p.stderr, "session %s was taken over from another tool; it is told again from the start\n", id)
		}
		if event.Name != wire.EntryAppended && event.Name != wire.HeadMoved {
			continue
		}
		var e wire.Entry
		if err := json.Unmarshal(event.Data, &e); err != nil {
			return fmt.Errorf("read an event of session %s: %w", id, err)
		}
		if draft.leavesOut(e) {
			continue
		}
		if err := p.printEntry(e, f); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// printEntry prints one entry.
func (p transcriptCommands) printEntry(e wire.Entry, f catFlags) error {
	var err error
	switch {
	case p.json:
		err = writeJSON(p.stdout, "", e)
	case f.raw && e.Gap != "": // a gap has no line
		if e.Damage != nil {
			fmt.Fprintln(p.stderr, prose.Damage(*e.Damage))
		}
		return nil
	case f.raw:
		_, err = fmt.Fprintf(p.stdout, "%s\n", e.Line)
	default:
		_, err = io.WriteString(p.stdout, prose.Entry(e, f.full))
	}
	if err != nil {
		return fmt.Errorf("print an entry: %w", err)
	}
	return nil
}

func (p transcriptCommands) tailCommand() *cobra.Command {
	f := catFlags{count: 10}
	cmd := &cobra.Command{
		Use:     "tail SESSION",
		GroupID: "look",
		Short:   "Print the last entries of a session, and with -f those that come",
		Long:    "Print the last entries of a session, and with -f those that are added.\n\n" + damageHelp + "\n\n" + sessionHelp,
		Example: "  firn tail -f -\n  firn tail -n 3 0198c5a2", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
	}
	f.add(cmd, wire.ViewBranch)
	cmd.Flags().VarP(&f.count, "number", "n", "print the last `N` entries")
	cmd.RunE = p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
		if err := f.check(cmd, p.json); err != nil {
			return err
		}
		return p.tail(ctx, c, args[0], f)
	})
	return cmd
}

// tail prints the last entries.
func (p transcriptCommands) tail(ctx context.Context, c *client.Client, ref string, f catFlags) error {
	s, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	var last []wire.Entry
	var damage damaged
	after, shown := firn.Pos(0), bound(0)
	draft := drafts{all: f.all(p.json), back: true, branch: f.view == wire.ViewBranch}
	for e, err := range c.Entries(ctx, s.ID, client.EntryQuery{View: f.view, Back: true, Limit: f.limit(p.json)}) {
		if err != nil {
			return err
		}
		if after = max(after, e.Next); draft.leavesOut(e) {
			continue
		}
		if damage.entry(e); e.Gap == "" {
			shown++
		}
		if last = append(last, e); f.count > 0 && shown == f.count {
			break
		}
	}
	for _, e := range slices.Backward(last) {
		if err := p.printEntry(e, f); err != nil {
			return err
		}
	}
	if err := p.printCutOff(draft.pieces); err != nil {
		return err
	}
	if !f.follow {
		return p.reportDamage(s.ID, damage)
	}
	if after == 0 {
		after = s.End
	}
	return p.follow(ctx, c, s.ID, after, f)
}
