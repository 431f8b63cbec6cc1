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
	flags.StringVar(&f.view, "view", view, "`view` to print: disk (all entries), branch (entries leading to the head) or window (sent to the model next)")
	flags.BoolVar(&f.raw, "raw", false, "print the lines of the file unchanged")
	flags.BoolVar(&f.full, "full", false, "print tool results and thinking in full")
	flags.BoolVarP(&f.follow, "follow", "f", false, "keep printing new entries until Ctrl-C")
}

func (f *catFlags) check(cmd *cobra.Command, json bool) error {
	switch {
	case !slices.Contains([]string{wire.ViewDisk, wire.ViewBranch, wire.ViewWindow}, f.view):
		return usage(cmd, "unknown view %q; the views are disk, branch and window", f.view)
	case f.raw && json:
		return usage(cmd, "--raw and --json cannot be combined")
	case f.follow && f.view == wire.ViewWindow:
		return usage(cmd, "a window cannot be followed; use --view branch or disk")
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
		Short:   "Print the entries of a session",
		Long: `Print the entries of a session, oldest first. --json prints each entry as one
line of JSON with its position; --raw prints the line of the file unchanged.
Left out are the partial answers saved during streaming once the answer is
complete, usage records, and entries marked as not for display
("display":false). --full, --json, --raw and --view disk include them.

` + damageHelp + "\n\n" + sessionHelp,
		Example: "  firn cat -\n  firn cat 0198c5a2 --view disk --from '#203'\n  firn cat @agent:main:main -f", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
	}
	f.add(cmd, wire.ViewBranch)
	cmd.Flags().StringVar(&f.from, "from", "", "start at this `entry`")
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
		return p.reportDamage(s, damage)
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
			fmt.Fprintf(p.stderr, "session %s was taken over from another tool; printing it from the start\n", id)
		}
		if event.Name != wire.EntryAppended && event.Name != wire.HeadMoved {
			continue
		}
		var e wire.Entry
		if err := json.Unmarshal(event.Data, &e); err != nil {
			return fmt.Errorf("read event of session %s: %w", id, err)
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
		return fmt.Errorf("print entry: %w", err)
	}
	return nil
}

func (p transcriptCommands) tailCommand() *cobra.Command {
	f := catFlags{count: 10}
	cmd := &cobra.Command{
		Use:     "tail SESSION",
		GroupID: "look",
		Short:   "Print the last entries of a session; with -f, follow it",
		Long:    "Print the last entries of a session; with -f, keep printing new ones.\n\n" + damageHelp + "\n\n" + sessionHelp,
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
		return p.reportDamage(s, damage)
	}
	if after == 0 {
		after = s.End
	}
	return p.follow(ctx, c, s.ID, after, f)
}
