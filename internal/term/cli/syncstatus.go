package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/ops/sessionsync"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

func (p syncCommands) syncStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the sync targets, machines and open branches",
		Long: `Show the sync targets, the machines that publish on them, sessions that grew
on several machines, entries kept aside because of conflicts, what stays on
this machine, and receipts of purges that were repeated here or elsewhere. It
does not read the targets.`,
		Example: "  firn sync status",
		Args:    args(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.openSync(cmd.Context())
			if err != nil {
				return err
			}
			all, err := s.status()
			if err == nil {
				err = p.dropChosen(cmd.Context(), all)
			}
			if err != nil {
				return err
			}
			receipts, err := sessionsync.ReadReceipts(s.files(), s.dir, s.config)
			if err != nil {
				return err
			}
			out := struct {
				Machine  string                       `json:"machine"`
				Exclude  sessionsync.Exclude          `json:"exclude,omitzero"`
				Targets  []sessionsync.Status         `json:"targets"`
				Receipts []sessionsync.SessionReceipt `json:"receipts,omitempty"`
			}{s.config.Name, s.config.Exclude, all, receipts}
			return p.print(out, func() string { return p.statusText(s, all, receipts) })
		},
	}
}

// dropChosen removes the branches that the user chose since the last sync, and those that
// another target names too. If the sessions cannot be read, it keeps the recorded branches.
func (p syncCommands) dropChosen(ctx context.Context, all []sessionsync.Status) (err error) {
	if !slices.ContainsFunc(all, func(s sessionsync.Status) bool { return len(s.Heads) > 0 }) {
		return nil
	}
	open := func(heads []sessionsync.OtherHead) []sessionsync.OtherHead { return heads }
	c, release, err := p.connect(ctx, GatewayOptions{ReadOnly: true, Report: func(string) {}})
	if err == nil {
		defer func() { err = errors.Join(err, release()) }()
		open = func(heads []sessionsync.OtherHead) []sessionsync.OtherHead {
			return sessionsync.Open(ctx, sessionsync.NewGateway(c), heads)
		}
	}
	shown := make(map[sessionsync.OtherHead]bool)
	for i := range all {
		all[i].Heads = slices.DeleteFunc(open(all[i].Heads), func(h sessionsync.OtherHead) bool {
			twice := shown[h]
			shown[h] = true
			return twice
		})
	}
	return ctx.Err()
}

// status returns the states of all targets.
func (s *syncHome) status() ([]sessionsync.Status, error) {
	var all []sessionsync.Status
	if len(s.config.Targets) == 0 {
		return nil, nil
	}
	names, err := s.targets(nil)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		one, err := sessionsync.ReadStatus(s.files(), s.dir, name, s.config)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// statusText formats the states of all targets.
func (p syncCommands) statusText(s *syncHome, all []sessionsync.Status, receipts []sessionsync.SessionReceipt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "this machine: %s\n", prose.Clean(s.config.Name))
	if len(all) == 0 {
		b.WriteString("no targets; to add one: firn sync add NAME TARGET\n")
	}
	for _, one := range all {
		last := "never synced"
		if !one.Last.IsZero() {
			last = "last synced " + prose.Ago(one.Last, p.now())
		}
		fmt.Fprintf(&b, "%s: %s, %s, %s\n", one.Name, prose.Clean(one.Target), prose.Plural(one.Sessions, "session"), last)
		for _, m := range one.Machines {
			b.WriteString("  " + p.machineText(m) + "\n")
		}
		for _, h := range one.Heads {
			b.WriteString("  " + headText(h) + "\n")
		}
		if one.Conflicts > 0 {
			fmt.Fprintf(&b, "  %s with the ID of another entry, kept in %s\n", prose.Count(one.Conflicts, "entry", "entries"), prose.Clean(filepath.Join(s.dir, one.Name, "conflicts")))
		}
	}
	for _, r := range receipts {
		fmt.Fprintf(&b, "purged on %s, %s: %s\n", prose.Clean(r.Name), r.At.Local().Format("2006-01-02 15:04"), receiptText(r))
	}
	for _, line := range excludeLines(s.config.Exclude) {
		b.WriteString("stays on this machine: " + line + "\n")
	}
	return b.String()
}

func receiptText(r sessionsync.SessionReceipt) string {
	if len(r.Entries) > 0 {
		return fmt.Sprintf("%s of session %s", prose.Count(len(r.Entries), "entry", "entries"), prose.Short(r.Session))
	}
	return "session " + prose.Short(r.Session)
}

func (p syncCommands) machineText(m sessionsync.Machine) string {
	text := "machine " + prose.Clean(m.Name)
	if m.Own {
		text += " (this one)"
	}
	if !m.Last.IsZero() {
		text += ", published " + prose.Ago(m.Last, p.now())
	}
	if m.Waiting > 0 {
		text += fmt.Sprintf("; %s not imported completely", prose.Plural(m.Waiting, "manifest"))
	}
	return text
}

// excludeLines lists what stays on this machine.
func excludeLines(e sessionsync.Exclude) []string {
	var all []string
	for _, id := range e.Sessions {
		all = append(all, "session "+prose.Short(id))
	}
	for _, key := range e.Keys {
		all = append(all, "sessions of the key "+prose.Clean(key))
	}
	for _, dir := range e.Projects {
		all = append(all, "sessions of the project "+prose.Clean(dir))
	}
	if e.Notes {
		all = append(all, "notes")
	}
	return all
}

func (p syncCommands) syncLogCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:     "log",
		Short:   "List past syncs",
		Long:    "List past syncs, oldest first: what was imported, published and skipped.",
		Example: "  firn sync log\n  firn sync log --limit 100 --json",
		Args:    args(0, 0, "no arguments"),
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "maximum `number` of syncs")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if limit < 1 {
			return usage(cmd, "--limit must be at least 1")
		}
		s, err := p.openSync(cmd.Context())
		if err != nil {
			return err
		}
		all, err := sessionsync.ReadLog(s.files(), s.dir, limit)
		if err != nil {
			return err
		}
		return p.print(all, func() string { return logText(all) })
	}
	return cmd
}

// logText formats past syncs.
func logText(all []sessionsync.Report) string {
	if len(all) == 0 {
		return "no syncs yet\n"
	}
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%s  %s: %s\n", r.Time.Local().Format("2006-01-02 15:04:05"), r.Target, countsText(&r))
		for _, problem := range r.Problems {
			fmt.Fprintf(&b, "  problem: %s\n", prose.Clean(problem))
		}
		if r.Error != "" {
			fmt.Fprintf(&b, "  failed: %s\n", prose.OneLine(r.Error, 200))
		}
	}
	return b.String()
}

// excluding are the flags of firn sync exclude and include.
type excluding struct {
	key, project string
	notes        bool
}

func (p syncCommands) syncExcludeCommand() *cobra.Command {
	return p.excludeCommand(&cobra.Command{
		Use:   "exclude [SESSION]",
		Short: "Keep sessions or notes on this machine",
		Long: `Keep sessions on this machine: a session, the sessions of a key (--key) or of
a project directory (--project). They are never published, and neither are
notes that name them. Entries that were published before stay on the targets
and on other machines. --notes keeps all notes and imports none.

` + sessionHelp,
		Example: "  firn sync exclude 0198c5a2\n  firn sync exclude --key agent:main:diary\n  firn sync exclude --project ~/private\n  firn sync exclude --notes",
	}, true)
}

func (p syncCommands) syncIncludeCommand() *cobra.Command {
	return p.excludeCommand(&cobra.Command{
		Use:     "include [SESSION]",
		Short:   "Sync sessions or notes that were kept on this machine",
		Long:    "Undo firn sync exclude: the next sync publishes them again.\n\n" + sessionHelp,
		Example: "  firn sync include 0198c5a2\n  firn sync include --project ~/private",
	}, false)
}

// excludeCommand completes a command that changes what stays on this machine.
func (p syncCommands) excludeCommand(cmd *cobra.Command, on bool) *cobra.Command {
	var e excluding
	cmd.Args = args(0, 1, "at most one session")
	cmd.Flags().StringVar(&e.key, "key", "", "the sessions of this `key`")
	cmd.Flags().StringVar(&e.project, "project", "", "the sessions of this project `directory` and below")
	cmd.Flags().BoolVar(&e.notes, "notes", false, "all notes")
	cmd.ValidArgsFunction = p.completeSession(false)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := len(args)
		if e.notes {
			given++
		}
		for _, text := range []string{e.key, e.project} {
			if text != "" {
				given++
			}
		}
		if given != 1 {
			return usage(cmd, "give a session, --key, --project or --notes")
		}
		if len(args) == 0 {
			return p.exclude(cmd.Context(), on, "", e)
		}
		return p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
			session, err := p.session(ctx, c, args[0])
			if err != nil {
				return err
			}
			return p.exclude(ctx, on, session.ID, e)
		})(cmd, args)
	}
	return cmd
}

// exclude changes what stays on this machine.
func (p syncCommands) exclude(ctx context.Context, on bool, id firn.ID, e excluding) error {
	s, err := p.openSync(ctx)
	if err != nil {
		return err
	}
	if e.project != "" {
		if e.project, err = filepath.Abs(e.project); err != nil {
			return err
		}
		if e.project == string(filepath.Separator) {
			return failure.Of(firn.ErrInvalid, "a project cannot be the root directory")
		}
	}
	var changed bool
	var what, undo string
	err = s.change(func(c *sessionsync.Config) (bool, error) {
		x := &c.Exclude
		switch {
		case id != "":
			x.Sessions, changed = switchItem(x.Sessions, id, on)
			what, undo = "session "+prose.Short(id), string(id)
		case e.key != "":
			x.Keys, changed = switchItem(x.Keys, e.key, on)
			what, undo = "sessions of the key "+prose.Clean(e.key), "--key "+quote(e.key)
		case e.notes:
			changed, x.Notes = x.Notes != on, on
			what, undo = "notes", "--notes"
		default:
			x.Projects, changed = switchItem(x.Projects, e.project, on)
			what, undo = "sessions of the project "+prose.Clean(e.project), "--project "+quote(e.project)
		}
		return changed, nil
	})
	if err != nil {
		return err
	}
	state, back := "are synced", "exclude"
	if on {
		state, back = "stay on this machine", "include"
	}
	if id != "" {
		state = strings.Replace(strings.Replace(state, "are", "is", 1), "stay", "stays", 1)
	}
	return p.print(s.config.Exclude, func() string {
		if !changed {
			return fmt.Sprintf("%s already %s; no changes made\n", what, state)
		}
		return fmt.Sprintf("%s %s\nundo: %s\n", what, state, p.again("firn sync "+back+" "+undo))
	})
}

// switchItem adds a value to a list or removes it. It reports whether the list changed.
func switchItem[T comparable](list []T, value T, on bool) ([]T, bool) {
	has := slices.Contains(list, value)
	switch {
	case has == on:
		return list, false
	case on:
		return append(slices.Clip(list), value), true
	}
	return slices.DeleteFunc(slices.Clone(list), func(x T) bool { return x == value }), true
}

// otherHeads returns rows about the heads of a session on other machines.
func (p *program) otherHeads(s wire.Session) [][]string {
	settings, err := p.settings()
	if err != nil || settings.Client.Gateway != "" {
		return nil
	}
	dir := sessionsync.Dir(settings.Home)
	config, err := sessionsync.ReadConfig(syncFiles(dir), dir, "")
	if err != nil || len(config.Targets) == 0 {
		return nil
	}
	all, err := (&syncHome{dir: dir, config: config}).status()
	if err != nil {
		return nil
	}
	var rows [][]string
	for _, one := range all {
		for _, h := range one.Heads {
			if row := []string{"also grew on", fmt.Sprintf("%s: firn rewind %s %s", prose.Clean(h.Machine), prose.Short(h.Session), h.Entry)}; h.Session == s.ID && !slices.ContainsFunc(rows, func(r []string) bool { return slices.Equal(r, row) }) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}
