package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/sessionsync"
	"firn.dev/internal/render/prose"
)

// syncCommands are the commands that keep the sessions of several machines the same.
type syncCommands struct{ *program }

func (p syncCommands) syncCommand() *cobra.Command {
	var o syncing
	cmd := &cobra.Command{
		Use:     "sync [NAME]",
		GroupID: "care",
		Short:   "Keep the sessions of several machines the same",
		Long: `Sync the sessions of this home with those of other machines, through a target
that all of them can reach: a folder, such as a mounted share, an S3 bucket, or
a folder on another machine over ssh. Without NAME, sync with every target.

Everything on a target is encrypted and compressed; anyone who can read the
target sees sizes and times only. Nothing there is ever changed. Entries that are
missing here are added; existing ones are never changed. If a session grew on
two machines, both branches are kept, and the conversation continues where it
was on each machine; firn rewind chooses the other branch.

An interrupted sync is continued by the next one. Exits with 9 if something had
to be skipped; the rest is synced. See docs/sync.md.

--watch keeps syncing until Ctrl-C: every 30 seconds (--every), and soon after
sessions change here if a gateway serves the home. Only changes are printed. A
target that fails is named once and tried again, less and less often.

--limit is the bandwidth, such as 500kB/s, of reading and writing together.
--republish publishes everything again, for a target that lost files.`,
		Example: "  firn sync add share /mnt/share/firn\n  firn sync\n  firn sync --watch --limit 1MB/s\n  firn sync status",
		Args:    args(0, 1, "at most one target"),
	}
	cmd.Flags().BoolVar(&o.republish, "republish", false, "publish everything again")
	cmd.Flags().BoolVar(&o.watch, "watch", false, "keep syncing until Ctrl-C")
	cmd.Flags().DurationVar(&o.every, "every", watchEvery, "`time` between two syncs of --watch")
	cmd.Flags().StringVar(&o.limit, "limit", "", "maximum `bandwidth`, such as 500kB/s or 2MB/s")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !o.watch && cmd.Flags().Changed("every"):
			return usage(cmd, "--every requires --watch")
		case o.watch && o.republish:
			return usage(cmd, "--republish is for a single sync")
		case o.every < time.Second:
			return usage(cmd, "--every must be at least 1s")
		}
		err := p.syncAll(cmd.Context(), args, o)
		if len(args) == 1 && errors.Is(err, errNoTarget) {
			if near := nearestCommand(cmd, args[0]); near != "" {
				return &hinted{err, "did you mean firn sync " + near + "?"}
			}
		}
		return err
	}
	cmd.AddCommand(p.syncAddCommand(), p.syncRmCommand(), p.syncStatusCommand(), p.syncLogCommand(), p.syncIdentityCommand(),
		p.syncExcludeCommand(), p.syncIncludeCommand(), p.syncServeCommand())
	return cmd
}

// syncHome is the sync state of a home. Host is the name of the machine if it has no other.
type syncHome struct {
	home, dir, host string
	config          *sessionsync.Config
}

// syncFiles returns the file system for the sync state in a directory of a home.
func syncFiles(dir string) vfs.FS { return sealfs.Home(filepath.Dir(dir)) }

func (s *syncHome) files() vfs.FS { return syncFiles(s.dir) }

// change changes the configuration and reads it again; fn reports whether it changed it.
func (s *syncHome) change(fn func(c *sessionsync.Config) (bool, error)) error {
	return sessionsync.Change(s.files(), s.dir, s.host, func(c *sessionsync.Config) (bool, error) {
		s.config = c
		return fn(c)
	})
}

// openSync reads the configuration of sync. It fails for another tool's folder and for the
// gateway of another home.
func (p syncCommands) openSync(ctx context.Context) (*syncHome, error) {
	if err := p.mustBeOurs(); err != nil {
		return nil, err
	}
	st, err := p.storeInUse(ctx)
	if err != nil {
		return nil, err
	}
	if err := st.mustBeLocal("sync"); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	s := &syncHome{home: st.home, dir: sessionsync.Dir(st.home), host: host}
	s.config, err = sessionsync.ReadConfig(s.files(), s.dir, host)
	return s, err
}

// errNoTarget means that there is no sync target of a name.
var errNoTarget = fmt.Errorf("no such target: %w", firn.ErrNotFound)

// targets returns the targets that the arguments name; all without arguments.
func (s *syncHome) targets(args []string) ([]string, error) {
	if len(args) == 0 {
		if len(s.config.Targets) == 0 {
			return nil, &hinted{failure.Of(firn.ErrNotFound, "this home has no sync target"), "to add one: firn sync add NAME TARGET"}
		}
		return slices.Sorted(maps.Keys(s.config.Targets)), nil
	}
	if s.config.Targets[args[0]] == "" {
		return nil, &hinted{failure.Of(errNoTarget, "there is no sync target %q", args[0]), "to list them: firn sync status"}
	}
	return args, nil
}

// syncing are the flags of firn sync.
type syncing struct {
	republish, watch bool
	every            time.Duration
	limit            string
}

// syncRun is what syncs with the same targets have in common.
type syncRun struct {
	*syncHome
	names     []string
	identity  *sessionsync.Identity
	rate      *sessionsync.Rate
	republish bool
}

// newSyncRun prepares syncs with the targets that the arguments name.
func (p syncCommands) newSyncRun(ctx context.Context, args []string, o syncing) (*syncRun, error) {
	limit, err := parseRate(o.limit)
	rate := sessionsync.NewRate(limit)
	if err != nil {
		return nil, err
	}
	s, err := p.openSync(ctx)
	if err != nil {
		return nil, err
	}
	names, err := s.targets(args)
	if err != nil {
		return nil, err
	}
	identity, err := sessionsync.ReadIdentity(s.files(), s.dir)
	if err == nil && identity == nil {
		err = &hinted{failure.Of(firn.ErrNotFound, "this home has no sync identity"), "bring it from another machine: firn sync add NAME TARGET --identity FILE"}
	}
	return &syncRun{s, names, identity, rate, o.republish}, err
}

// syncAll syncs with targets, one after the other.
func (p syncCommands) syncAll(ctx context.Context, args []string, o syncing) (err error) {
	r, err := p.newSyncRun(ctx, args, o)
	if err != nil {
		return err
	}
	if o.watch {
		return p.watchTargets(ctx, r, o.every)
	}
	c, release, err := p.connect(ctx, GatewayOptions{Report: func(string) {}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	return p.syncEach(ctx, r.names, func(name string) (*sessionsync.Report, error) { return p.syncOne(ctx, r, c, name) })
}

// syncOne syncs with one target once. It reads the configuration again, since exclusions may
// have changed during a watch.
func (p syncCommands) syncOne(ctx context.Context, r *syncRun, c *client.Client, name string) (report *sessionsync.Report, err error) {
	settings, err := p.settings()
	if err != nil {
		return nil, err
	}
	config, err := sessionsync.ReadConfig(syncFiles(r.dir), r.dir, r.host)
	if err != nil {
		return nil, err
	}
	if config.Targets[name] == "" {
		return nil, errTargetRemoved
	}
	target, release, err := openTarget(ctx, config.Targets[name], r.rate)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	bar := p.newBar("syncing")
	defer bar.Clear()
	return sessionsync.Run(ctx, sessionsync.Options{
		FS: syncFiles(r.dir), Dir: r.dir, Name: name, Config: config, Identity: r.identity, Local: sessionsync.NewGateway(c),
		Notes:  sessionsync.HomeNotes{FS: syncFiles(r.dir), Home: r.home, Agents: settings.Memory.Dir},
		Target: target, Republish: r.republish, Now: time.Now, Progress: bar.Phase,
	})
}

// syncEach syncs with each target and prints the results. A target that fails does not keep
// the others from being synced.
func (p syncCommands) syncEach(ctx context.Context, names []string, run func(name string) (*sessionsync.Report, error)) error {
	var reports []*sessionsync.Report
	var failed error
	for _, name := range names {
		r, err := run(name)
		switch {
		case err == nil:
			reports = append(reports, r)
		case failed == nil:
			failed = fmt.Errorf("sync with %s: %w", name, err)
		default:
			failed = fmt.Errorf("%w; sync with %s: %w", failed, name, err)
		}
		if ctx.Err() != nil || errors.Is(err, firn.ErrLocked) {
			break
		}
	}
	if len(reports) > 0 || failed == nil {
		if err := p.print(reports, func() string { return syncText(reports) }); err != nil {
			return err
		}
	}
	if failed == nil && slices.ContainsFunc(reports, func(r *sessionsync.Report) bool { return len(r.Problems) > 0 }) {
		return errPartial
	}
	return failed
}

// syncText formats the results of syncs.
func syncText(reports []*sessionsync.Report) string {
	var b strings.Builder
	shown := make(map[sessionsync.OtherHead]bool)
	for _, r := range reports {
		fmt.Fprintf(&b, "%s: %s\n", r.Target, countsText(r))
		b.WriteString(changesLines(r.Changes))
		for _, h := range r.Heads {
			if !shown[h] { // two targets may name the same branch
				b.WriteString("  " + headText(h) + "\n")
			}
			shown[h] = true
		}
		for _, problem := range r.Problems {
			fmt.Fprintf(&b, "  problem: %s\n", prose.Clean(problem))
		}
	}
	return b.String()
}

// mostChanges is the number of changes that are listed.
const mostChanges = 20

// changesLines lists the changes of sessions that did not grow, as titles and keys.
func changesLines(all []sessionsync.SessionChange) string {
	var b strings.Builder
	for i, c := range all {
		if i == mostChanges {
			fmt.Fprintf(&b, "  … and %s more\n", prose.Plural(len(all)-i, "change"))
			break
		}
		word := "changed on another machine"
		if c.Published {
			word = "published"
		}
		fmt.Fprintf(&b, "  session %s: %s (%s)\n", prose.Short(c.Session), strings.Join(c.What, ", "), word)
	}
	return b.String()
}

// countsText formats the numbers of a sync.
func countsText(r *sessionsync.Report) string {
	var parts []string
	if r.Imported > 0 {
		parts = append(parts, fmt.Sprintf("imported %s of %s", prose.Count(r.Imported, "entry", "entries"), prose.Plural(r.Sessions, "session")))
	}
	if r.Published > 0 {
		parts = append(parts, fmt.Sprintf("published %s in %s", prose.Count(r.Published, "entry", "entries"), prose.Size(r.Bytes)))
	}
	if r.Marked > 0 {
		parts = append(parts, fmt.Sprintf("%s archived, removed, restored or purged as on other machines", prose.Plural(r.Marked, "session")))
	}
	if r.Notes > 0 {
		parts = append(parts, prose.Plural(r.Notes, "note")+" updated from other machines")
	}
	if r.PublishedNotes > 0 {
		parts = append(parts, "published "+prose.Plural(r.PublishedNotes, "note"))
	}
	if len(parts) == 0 && r.Bytes > 0 {
		parts = append(parts, "published "+prose.Size(r.Bytes))
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing new")
	}
	if r.Kept > 0 {
		parts = append(parts, fmt.Sprintf("%s kept on this machine", prose.Plural(r.Kept, "session")))
	}
	return strings.Join(parts, "; ")
}

// headText formats the head of a session on another machine, and how to choose it.
func headText(h sessionsync.OtherHead) string {
	return fmt.Sprintf("session %s also grew on %s; to continue there: firn rewind %s %s", prose.Short(h.Session), prose.Clean(h.Machine), prose.Short(h.Session), h.Entry)
}
