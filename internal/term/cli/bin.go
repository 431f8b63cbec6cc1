package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// binHelp describes the trash bin in help texts.
const binHelp = `The trash bin holds sessions moved there by firn rm --bin or by maintenance.
They stay until erased by firn bin empty, maintenance.bin_retention or
maintenance.bin_max_bytes.`

// binnedHelp describes how to name a session in the trash bin.
const binnedHelp = `Refer to a session in the trash bin by its id, the first 4 or more characters
of it, or its exact title.`

func (p removeCommands) binCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "bin", GroupID: "sessions", Short: "List, restore and erase sessions in the trash bin", Long: binHelp, Args: cobra.ArbitraryArgs, RunE: p.unknown}
	cmd.AddCommand(p.binLsCommand(), p.binRestoreCommand(), p.binEmptyCommand())
	return cmd
}

func (p removeCommands) binLsCommand() *cobra.Command {
	count := bound(listBound)
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the sessions in the trash bin, most recently removed first", Long: binHelp, Example: "  firn bin ls", Args: none,
		RunE: p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error {
			bin, err := c.Bin(ctx, int(count))
			if err != nil {
				return err
			}
			return p.print(bin, func() string { return p.binText(bin) })
		}),
	}
	cmd.Flags().VarP(&count, "number", "n", "list at most `N`, or all")
	return cmd
}

// binText formats the list of the trash bin.
func (p removeCommands) binText(bin wire.Bin) string {
	if bin.Total == 0 {
		return "the trash bin is empty\n"
	}
	lines := p.binTable(bin.Items)
	sum := fmt.Sprintf("%s in the trash bin, %s", prose.Plural(bin.Total, "session"), prose.Size(bin.Bytes))
	if n := len(bin.Items); n < bin.Total {
		sum = fmt.Sprintf("%s of %s shown (-n all)", prose.Grouped(int64(n)), sum)
	}
	return strings.Join(append(lines, sum), "\n") + "\n"
}

// binTable formats a row for each session in the trash bin.
func (p removeCommands) binTable(items []wire.Binned) []string {
	rows := [][]string{{"SESSION", "TITLE", "SIZE", "REMOVED", "WHY"}}
	for _, b := range items {
		why := prose.OneLine(b.Reason, 32)
		if !b.Erased.IsZero() {
			why = strings.TrimSpace(why + " · erased after " + b.Erased.Local().Format("2006-01-02"))
		}
		if b.Error != "" {
			why = "not erased: " + prose.OneLine(b.Error, 80)
		} else if b.Fault != "" {
			why = "damaged: " + prose.OneLine(b.Fault, 80)
		}
		rows = append(rows, []string{string(b.Session), prose.OneLine(b.Title, 40), prose.Size(b.Bytes), prose.Ago(b.Removed, p.now()), why})
	}
	return prose.Table(rows)
}

func (p removeCommands) binRestoreCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restore SESSION…", Short: "Restore sessions from the trash bin", Long: "Restore sessions from the trash bin.\n\n" + binnedHelp, Example: "  firn bin restore 'A trip to Oslo'", Args: args(1, -1, "one or more sessions"),
		RunE: p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
			return p.each(args, func(ref string) error {
				b, err := p.inBin(ctx, c, ref)
				if err != nil {
					return err
				}
				return p.restore(ctx, c, wire.Session{ID: b.Session, Title: b.Title}, true)
			})
		}),
	}
}

// inBin finds a session in the trash bin by its ID, a prefix of it, or its title.
func (p removeCommands) inBin(ctx context.Context, c *client.Client, ref string) (wire.Binned, error) {
	bin, err := c.Bin(ctx, 0)
	if err != nil {
		return wire.Binned{}, err
	}
	var found []wire.Binned
	for _, b := range bin.Items {
		if string(b.Session) == ref {
			return b, nil
		}
		if b.Title == ref || len(ref) >= 4 && strings.HasPrefix(string(b.Session), ref) {
			found = append(found, b)
		}
	}
	switch len(found) {
	case 0:
		return wire.Binned{}, &hinted{failure.Of(firn.ErrNotFound, "session %q is not in the trash bin", prose.OneLine(ref, 60)), "firn bin ls"}
	case 1:
		return found[0], nil
	}
	ids := make([]firn.ID, len(found))
	for i, b := range found {
		ids[i] = b.Session
	}
	return wire.Binned{}, &usageError{message: fmt.Sprintf("%q matches %d sessions in the trash bin", prose.OneLine(ref, 60), len(found)), hint: "use one of these ids: " + listed(ids)}
}

func (p removeCommands) binEmptyCommand() *cobra.Command {
	var e wire.EmptyBin
	var older string
	cmd := &cobra.Command{
		Use: "empty [SESSION…]", Short: "Permanently erase sessions in the trash bin",
		Long: `Permanently erase all sessions in the trash bin, or the named ones. This
cannot be undone. A receipt of each session remains. Notes made from them
remain too: firn purge erases a session together with its notes. --plan shows
what would be erased, --yes erases it.

` + binnedHelp,
		Example: "  firn bin empty --plan\n  firn bin empty --older-than 30d --yes", Args: args(0, -1, "sessions in the trash bin"),
	}
	flags := cmd.Flags()
	flags.StringVar(&older, "older-than", "", "only sessions that have been in the trash bin for at least this `time`, such as 30d or 12h")
	flags.StringVar(&e.Reason, "reason", "", "`reason` recorded in the receipts")
	flags.BoolVar(&e.Sure, "yes", false, "erase them")
	flags.BoolVar(&e.Plan, "plan", false, "print the plan without changing anything")
	cmd.RunE = p.with(mayChange, func(ctx context.Context, c *client.Client, args []string) error {
		if older != "" {
			d, err := parseAge(older)
			if err != nil {
				return usage(cmd, "--older-than: %v", err)
			}
			e.Before = p.now().Add(-d)
		}
		for _, ref := range args {
			b, err := p.inBin(ctx, c, ref)
			if err != nil {
				return err
			}
			e.Sessions = append(e.Sessions, b.Session)
		}
		if !e.Plan && !e.Sure {
			return usage(cmd, "this would permanently erase sessions; list them with firn bin empty --plan, erase them with --yes")
		}
		return p.emptyBin(ctx, c, e)
	})
	return cmd
}

// emptyBin erases the selected sessions.
func (p removeCommands) emptyBin(ctx context.Context, c *client.Client, e wire.EmptyBin) error {
	out, err := c.EmptyBin(ctx, e)
	if err != nil {
		return err
	}
	if err := p.print(out, func() string { return p.emptiedText(out) }); err != nil || out.Failed == 0 {
		return err
	}
	return errPartial
}

// emptiedText formats the erased sessions, or the plan.
func (p removeCommands) emptiedText(out wire.EmptiedBin) string {
	if len(out.Items) == 0 {
		if out.Left == 0 {
			return "the trash bin is empty\n"
		}
		return fmt.Sprintf("nothing to erase · %s kept in the trash bin\n", prose.Plural(out.Left, "session"))
	}
	lines := p.binTable(out.Items)
	sum := fmt.Sprintf("erased %s, %s · %s left in the trash bin; this cannot be undone", prose.Plural(out.Erased, "session"), prose.Size(out.Bytes), prose.Grouped(int64(out.Left)))
	if out.Plan {
		sum = fmt.Sprintf("would permanently erase %s, %s; no changes made", prose.Plural(out.Erased, "session"), prose.Size(out.Bytes))
	}
	return strings.Join(append(lines, sum), "\n") + "\n"
}

// parseAge parses a duration that may be in days.
func parseAge(text string) (time.Duration, error) {
	then, err := parseExpiry(text, time.Time{})
	if err != nil {
		return 0, fmt.Errorf("expected a duration such as 30d or 12h, not %q", text)
	}
	return then.Sub(time.Time{}), nil
}

// findRemoved finds a session that is listed, hidden or in the trash bin. A valid unknown ID is
// returned as binned: the session may have been purged and have a receipt.
func (p removeCommands) findRemoved(ctx context.Context, c *client.Client, ref string) (s wire.Session, binned bool, err error) {
	s, err = p.session(ctx, c, ref)
	if !errors.Is(err, firn.ErrNotFound) {
		return s, false, err
	}
	b, binErr := p.inBin(ctx, c, ref)
	switch {
	case binErr == nil:
		return wire.Session{ID: b.Session, Agent: b.Agent, Key: b.Key, Title: b.Title, Bytes: b.Bytes}, true, nil
	case !errors.Is(binErr, firn.ErrNotFound) && !errors.Is(binErr, firn.ErrUnsupported):
		return s, false, binErr
	case firn.ID(ref).Check() == nil && !strings.ContainsAny(ref, " @"):
		return wire.Session{ID: firn.ID(ref)}, true, nil
	}
	return s, false, err
}

// binNote returns the number of sessions in the trash bin, to be printed below a list of hidden
// ones.
func (p removeCommands) binNote(ctx context.Context, c *client.Client, q client.Query) string {
	if !q.Hidden {
		return ""
	}
	bin, err := c.Bin(ctx, 1)
	if err != nil || bin.Total == 0 {
		return ""
	}
	return fmt.Sprintf("in the trash bin: %s, %s (firn bin ls)\n", prose.Plural(bin.Total, "session"), prose.Size(bin.Bytes))
}
