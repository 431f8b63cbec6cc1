package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/migrate"
	"firn.dev/internal/render/prose"
)

// CopyOptions describes a migration or mirror of sessions.
type CopyOptions struct {
	Settings *config.Settings
	// From and To are stores in the form of store.url. For a mirror, To is a directory, and
	// From names the source if it is not the store of the settings.
	From, To string
	// Source is the gateway whose sessions are mirrored.
	Source *client.Client
	// Copy only copies: the home keeps its store.
	Copy   bool
	Report func(message string)
	// Progress receives the number of bytes read and their total.
	Progress func(what string, done, total int64)
}

// storeCommands are the commands that copy a home: migrate, mirror and backup.
type storeCommands struct{ *program }

func (p storeCommands) migrateCommand() *cobra.Command {
	var from, to string
	var onlyCopy bool
	cmd := &cobra.Command{
		Use:     "migrate --from STORE --to STORE",
		GroupID: "care",
		Short:   "Copy all sessions from one store to another and switch to it",
		Long: `Copy all sessions from one store to another: every line byte for byte, the
keys, and the archived and removed state. Then everything is read again and
compared by SHA-256. The source does not change.

If the source is the store of this home, the home then switches to the target:
store.json records it, and every command and firn serve use it. The sessions in
the source remain as a copy. To go back, migrate in the other direction. With
--copy the home keeps its store.

A store is files (the plain files of the home), file: and another home,
nats://host:4222,host2:4222 for a cluster, or nats-embedded: and a directory.
The settings in [store] configure the connection to a cluster.

The command can be interrupted and run again: existing sessions are compared
and counted, and sessions that have grown are continued. A session that differs
in the target is reported and not changed. Stop the gateway first; messages
that arrive meanwhile are copied by the next run.

Exits with 5 if something differs.`,
		Example: "  firn migrate --from files --to nats://a:4222,b:4222,c:4222\n  firn migrate --from nats://a:4222 --to file:/backup/firn",
		Args:    none,
	}
	cmd.Flags().StringVar(&from, "from", "", "`store` to copy from")
	cmd.Flags().StringVar(&to, "to", "", "`store` to copy to")
	cmd.Flags().BoolVar(&onlyCopy, "copy", false, "only copy: the home keeps its store")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if from == "" || to == "" {
			return usage(cmd, "--from and --to are required")
		}
		return p.migrate(cmd, from, to, onlyCopy)
	}
	return cmd
}

func (p storeCommands) migrate(cmd *cobra.Command, from, to string, onlyCopy bool) (err error) {
	if p.carry == nil {
		return failure.Of(firn.ErrUnsupported, "this program cannot migrate sessions")
	}
	if err := p.mustBeOurs(); err != nil {
		return err
	}
	if p.store != "" {
		return usage(cmd, "use --from and --to instead of --store")
	}
	for _, side := range []*string{&from, &to} {
		if *side, err = storeURL(*side); err != nil {
			return usage(cmd, "%s", err.Error())
		}
	}
	settings, err := p.settings()
	if err != nil {
		return err
	}
	bar := p.newBar("copying")
	r, err := p.carry(cmd.Context(), CopyOptions{Settings: settings, From: from, To: to, Copy: onlyCopy, Report: p.note, Progress: bar.Phase})
	bar.Clear()
	if err != nil {
		return err
	}
	p.noteMoved(settings, r, to)
	return p.reportMigration(r, "the target was not changed; compare both, then remove or rename the wrong one")
}

// noteMoved prints which store holds the sessions from now on, and what remains in the old
// one.
func (p *program) noteMoved(settings *config.Settings, r *migrate.Report, to string) {
	if !r.Moved {
		if note, err := settings.CheckStore(vfs.OS{}, config.Reading); note == "" && err == nil {
			p.note(fmt.Sprintf("the home %s keeps using %s", settings.Home, config.StoreName(settings.Store.URL)))
		}
		return
	}
	p.note(fmt.Sprintf("the sessions of %s are now in %s; the sessions in the old store are a copy", settings.Home, config.StoreName(to)))
	if now, err := p.settings(); err == nil {
		if _, err := now.CheckStore(vfs.OS{}, config.Serving); err != nil {
			p.note(wrongStore(err).Error() + "; " + classify(wrongStore(err)).hint)
		}
	}
}

// note prints a warning.
func (p *program) note(message string) { fmt.Fprintf(p.stderr, "note: %s\n", message) }

// noteOnce returns a function that prints each distinct warning once.
func (p *program) noteOnce() func(message string) {
	var mu sync.Mutex
	known := make(map[string]bool)
	return func(message string) {
		mu.Lock()
		defer mu.Unlock()
		if !known[message] {
			known[message] = true
			p.note(message)
		}
	}
}

// storeURL normalizes a store from a flag. Relative paths are resolved.
func storeURL(text string) (string, error) {
	if text == "files" {
		text = "file:"
	}
	url, err := config.StoreURL(text, filepath.Abs)
	if err != nil {
		shown := quote(text)
		if strings.Contains(text, "@") { // it may contain a password
			shown = "given"
		}
		return "", fmt.Errorf("store %s: %w", shown, err)
	}
	return url, nil
}

// reportMigration prints a report, and returns an error if sessions differ.
func (p storeCommands) reportMigration(r *migrate.Report, hint string) error {
	if err := p.print(r, func() string { return migrationText(r) }); err != nil || r.OK() {
		return err
	}
	d := r.Differ[0]
	name := "session " + string(d.Session)
	if d.Key != "" {
		name = "key " + d.Key
	}
	if d.TooLarge {
		hint = "firn config set store.max_line 1gb"
	}
	text := fmt.Sprintf("%s differs: %s", name, d.Detail)
	if n := len(r.Differ); n > 1 {
		text = fmt.Sprintf("%d sessions or keys differ, first %s: %s", n, name, d.Detail)
	}
	return &hinted{failure.Of(firn.ErrConflict, "%s", text), hint}
}

// migrationText formats a report.
func migrationText(r *migrate.Report) string {
	var kinds []string
	for _, k := range []struct {
		n    int
		what string
	}{
		{r.New, "new"}, {r.Longer, "grown"}, {r.Same, "already there"}, {r.Before, "unchanged"}, {r.Replaced, "rewritten"}, {r.Purged, "purged"}, {len(r.Differ), "different"},
	} {
		if k.n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", k.n, k.what))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s", prose.Plural(r.Sessions, "session"))
	if len(kinds) > 0 {
		b.WriteString(": " + strings.Join(kinds, ", "))
	}
	fmt.Fprintf(&b, "\n%s added · %s of %s compared · %s\n",
		prose.Plural(int(r.Added), "line"), prose.Size(r.Bytes), prose.Plural(int(r.Lines), "line"), prose.Plural(r.Keys, "key"))
	if r.Lines > 0 {
		fmt.Fprintf(&b, "sha256 %s\n", r.Sum)
	}
	for _, d := range r.Differ {
		name := "session " + string(d.Session)
		if d.Key != "" {
			name = "key " + d.Key
		}
		fmt.Fprintf(&b, "✗ %s: %s\n", prose.Clean(name), prose.Clean(d.Detail))
	}
	return b.String()
}

// migrator is a function that migrates or mirrors sessions.
type migrator func(ctx context.Context, c CopyOptions) (*migrate.Report, error)
