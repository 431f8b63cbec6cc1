package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/sessionsync"
	"firn.dev/internal/render/prose"
)

// syncCommands are the commands that keep the sessions of several machines the same.
type syncCommands struct{ *program }

func (p syncCommands) syncCommand() *cobra.Command {
	var republish bool
	cmd := &cobra.Command{
		Use:     "sync [NAME]",
		GroupID: "care",
		Short:   "Keep the sessions of several machines the same",
		Long: `Sync the sessions of this home with those of other machines, through a folder
that all of them can reach, such as a mounted share. Without NAME, sync with
every target.

Everything on a target is encrypted and compressed; who can read the folder
sees sizes and times only. Nothing there is ever changed. Entries that are
missing here are added; existing ones are never changed. If a session grew on
two machines, both branches are kept, and the conversation continues where it
was on each machine; firn rewind chooses the other branch.

An interrupted sync is continued by the next one. Exits with 9 if something had
to be skipped; the rest is synced. See docs/sync.md.

--republish publishes everything again, for a target that lost files.`,
		Example: "  firn sync add share /mnt/share/firn\n  firn sync\n  firn sync status",
		Args:    args(0, 1, "at most one target"),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.syncAll(cmd.Context(), args, republish) },
	}
	cmd.Flags().BoolVar(&republish, "republish", false, "publish everything again")
	cmd.AddCommand(p.syncAddCommand(), p.syncRmCommand(), p.syncStatusCommand(), p.syncLogCommand(), p.syncIdentityCommand(),
		p.syncExcludeCommand(), p.syncIncludeCommand())
	return cmd
}

// syncHome is the sync state of a home. Host is the name of the machine if it has no other.
type syncHome struct {
	dir, host string
	config    *sessionsync.Config
}

// change changes the configuration and reads it again; fn reports whether it changed it.
func (s *syncHome) change(fn func(c *sessionsync.Config) (bool, error)) error {
	return syncHint(sessionsync.Change(vfs.OS{}, s.dir, s.host, func(c *sessionsync.Config) (bool, error) {
		s.config = c
		return fn(c)
	}))
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
	s := &syncHome{dir: sessionsync.Dir(st.home), host: host}
	s.config, err = sessionsync.ReadConfig(vfs.OS{}, s.dir, host)
	return s, syncHint(err)
}

// targets returns the targets that the arguments name; all without arguments.
func (s *syncHome) targets(args []string) ([]string, error) {
	if len(args) == 0 {
		if len(s.config.Targets) == 0 {
			return nil, &hinted{failure.Of(firn.ErrNotFound, "this home has no sync target"), "to add one: firn sync add NAME FOLDER"}
		}
		return slices.Sorted(maps.Keys(s.config.Targets)), nil
	}
	if s.config.Targets[args[0]] == "" {
		return nil, &hinted{failure.Of(firn.ErrNotFound, "there is no sync target %q", args[0]), "to list them: firn sync status"}
	}
	return args, nil
}

// syncHint adds the hint of a problem to the error.
func syncHint(err error) error {
	var problem *sessionsync.Problem
	if errors.As(err, &problem) {
		return &hinted{err, problem.Hint}
	}
	return err
}

// syncAll syncs with targets, one after the other.
func (p syncCommands) syncAll(ctx context.Context, args []string, republish bool) (err error) {
	s, err := p.openSync(ctx)
	if err != nil {
		return err
	}
	names, err := s.targets(args)
	if err != nil {
		return err
	}
	identity, err := sessionsync.ReadIdentity(vfs.OS{}, s.dir)
	if err == nil && identity == nil {
		err = &hinted{failure.Of(firn.ErrNotFound, "this home has no sync identity"), "bring it from another machine: firn sync add NAME FOLDER --identity FILE"}
	}
	if err != nil {
		return err
	}
	c, release, err := p.connect(ctx, GatewayOptions{Report: func(string) {}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	return p.syncEach(ctx, names, func(name string) (*sessionsync.Report, error) {
		bar := p.newBar("syncing")
		defer bar.Clear()
		return sessionsync.Run(ctx, sessionsync.Options{
			FS: vfs.OS{}, Dir: s.dir, Name: name, Config: s.config, Identity: identity, Local: sessionsync.NewGateway(c),
			Target: sessionsync.Folder{FS: vfs.OS{}, Dir: s.config.Targets[name]}, Republish: republish, Now: time.Now, Progress: bar.Phase,
		})
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
	return syncHint(failed)
}

// syncText formats the results of syncs.
func syncText(reports []*sessionsync.Report) string {
	var b strings.Builder
	shown := make(map[sessionsync.OtherHead]bool)
	for _, r := range reports {
		fmt.Fprintf(&b, "%s: %s\n", r.Target, countsText(r))
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
		parts = append(parts, fmt.Sprintf("%s archived, removed or purged as elsewhere", prose.Plural(r.Marked, "session")))
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

func (p syncCommands) syncAddCommand() *cobra.Command {
	var identity, machine string
	cmd := &cobra.Command{
		Use:   "add NAME FOLDER",
		Short: "Add a folder to sync with",
		Long: `Add a folder to sync with. The first machine creates the sync identity, the
key that encrypts everything on the targets. Other machines need the same one:
print it with firn sync identity and give it to --identity as a file, or as -
for stdin. It is a secret; it is never taken from an argument or the
environment.`,
		Example: "  firn sync add share /mnt/share/firn\n  ssh desktop firn sync identity | firn sync add share /mnt/share/firn --identity -",
		Args:    args(2, 2, "a name and a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.addTarget(cmd.Context(), args[0], args[1], identity, machine)
		},
	}
	cmd.Flags().StringVar(&identity, "identity", "", "`file` with the sync identity of another machine; - reads stdin")
	cmd.Flags().StringVar(&machine, "machine", "", "`name` of this machine on the others (default: its host name)")
	return cmd
}

// addTarget adds a target to the configuration.
func (p syncCommands) addTarget(ctx context.Context, name, folder, identity, machine string) error {
	s, err := p.openSync(ctx)
	if err == nil {
		err = syncHint(sessionsync.CheckName(name))
	}
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return &hinted{failure.Of(firn.ErrNotFound, "%s is not a folder", folder), "create it or mount the share first"}
	}
	given, err := p.readIdentity(ctx, identity)
	if err != nil {
		return err
	}
	var created bool
	err = s.change(func(c *sessionsync.Config) (bool, error) {
		if old := c.Targets[name]; old != "" {
			return false, &hinted{failure.Of(firn.ErrConflict, "the target %s exists: %s", name, old), "choose another name, or remove it: firn sync rm " + name}
		}
		if created, err = takeIdentity(ctx, s.dir, given, sessionsync.Folder{FS: vfs.OS{}, Dir: dir}); err != nil {
			return false, err
		}
		if c.Targets[name] = dir; machine != "" {
			c.Name = prose.OneLine(machine, 60)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	out := struct {
		Name   string `json:"name"`
		Target string `json:"target"`
	}{name, dir}
	return p.print(out, func() string {
		text := fmt.Sprintf("added %s: %s\n", name, prose.Clean(dir))
		if created {
			text += "created a sync identity; other machines need it: firn sync identity\n"
		}
		return text + "to sync: firn sync " + name + "\nundo: firn sync rm " + name + "\n"
	})
}

// takeIdentity stores the given identity, or creates one if the home has none. It reports
// whether it created one. It stores nothing if other machines use another one on the target.
func takeIdentity(ctx context.Context, dir string, given *sessionsync.Identity, target sessionsync.Target) (bool, error) {
	have, err := sessionsync.ReadIdentity(vfs.OS{}, dir)
	if err != nil {
		return false, err
	}
	if given == nil {
		if err := have.CheckAccess(ctx, target); err != nil || have != nil {
			return false, syncHint(err)
		}
		if have, err = sessionsync.NewIdentity(); err != nil {
			return false, err
		}
		return true, have.Write(vfs.OS{}, dir)
	}
	if have != nil && have.Recipient() != given.Recipient() {
		return false, &hinted{failure.Of(firn.ErrConflict, "this home has another sync identity"), "remove its targets and the file sync/identity of the home first"}
	}
	if err := given.CheckAccess(ctx, target); err != nil {
		return false, syncHint(err)
	}
	return false, given.Write(vfs.OS{}, dir)
}

// readIdentity reads an identity from a file or stdin; nil if none is given.
func (p syncCommands) readIdentity(ctx context.Context, from string) (*sessionsync.Identity, error) {
	if from == "" {
		return nil, nil
	}
	input := p.input(ctx)
	if from != "-" {
		file, err := os.Open(from)
		if err != nil {
			return nil, fmt.Errorf("read the sync identity: %w", err)
		}
		defer file.Close()
		input = file
	}
	text, err := io.ReadAll(io.LimitReader(input, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("read the sync identity: %w", err)
	}
	given, err := sessionsync.ParseIdentity(string(text))
	if err != nil {
		return nil, &hinted{err, "print it on the other machine: firn sync identity"}
	}
	return given, nil
}

func (p syncCommands) syncRmCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Stop syncing with a folder",
		Long: `Stop syncing with a folder. The sessions of this home and the files in the
folder stay as they are. If the folder is added again, the next sync compares
everything.`,
		Example: "  firn sync rm share",
		Args:    args(1, 1, "one target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := p.openSync(cmd.Context())
			if err != nil {
				return err
			}
			if _, err := s.targets(args); err != nil {
				return err
			}
			name, dir := args[0], s.config.Targets[args[0]]
			if err := sessionsync.RemoveTarget(vfs.OS{}, s.dir, name); err != nil {
				return syncHint(err)
			}
			return p.print(map[string]string{"removed": name}, func() string {
				return fmt.Sprintf("removed %s; the files in %s stay\nundo: firn sync add %s %s\n", name, prose.Clean(dir), name, quote(dir))
			})
		},
	}
}

func (p syncCommands) syncIdentityCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "identity",
		Short: "Print the sync identity for another machine",
		Long: `Print the sync identity, the secret that decrypts everything on the targets,
for firn sync add --identity on another machine.`,
		Example: "  firn sync identity > identity.txt",
		Args:    args(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.openSync(cmd.Context())
			if err != nil {
				return err
			}
			identity, err := sessionsync.ReadIdentity(vfs.OS{}, s.dir)
			if err == nil && identity == nil {
				err = &hinted{failure.Of(firn.ErrNotFound, "this home has no sync identity"), "it is created with the first target: firn sync add NAME FOLDER"}
			}
			if err != nil {
				return err
			}
			return p.print(map[string]string{"recipient": identity.Recipient(), "identity": identity.Text()}, identity.Text)
		},
	}
}
