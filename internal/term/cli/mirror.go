package cli

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/ops/migrate"
	"firn.dev/internal/render/progress"
)

func (p storeCommands) mirrorCommand() *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use:     "mirror [DIRECTORY]",
		GroupID: "care",
		Short:   "Copy all sessions to plain files, as a backup",
		Long: `Update a copy of all sessions: plain JSONL files in a directory, which firn
--home DIRECTORY reads like any other home. Only new data is copied; purged
entries are purged in the copy too. Changes made in the copy are lost.

The default directory is store.mirror from the settings. A gateway updates the
same copy every store.mirror_every. The sessions come from the store of the
home, or through the gateway of the home or the one given by --gateway.

--every repeats the update until the command is stopped.`,
		Example: "  firn mirror /backup/firn\n  firn --home /backup/firn --store file: ls",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(cmd, "firn mirror takes one directory, not %d", len(args))
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&every, "every", 0, "repeat after this `duration`, until stopped")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if every < 0 || every > 0 && every < time.Second {
			return usage(cmd, "--every must be at least one second")
		}
		return p.mirror(cmd, args, every)
	}
	return cmd
}

func (p storeCommands) mirror(cmd *cobra.Command, args []string, every time.Duration) error {
	if err := p.mustBeOurs(); err != nil {
		return err
	}
	st, err := p.storeInUse(cmd.Context())
	if err != nil {
		return err
	}
	settings, err := p.settings()
	if err != nil {
		return err
	}
	dir := settings.Store.Mirror
	if len(args) > 0 {
		if dir, err = filepath.Abs(args[0]); err != nil {
			return err
		}
	}
	if dir == "" {
		return usage(cmd, "give a directory for the copy, or set store.mirror")
	}
	for {
		bar := p.newBar("copying")
		r, err := p.copyTo(cmd.Context(), st, dir, bar, p.note)
		bar.Clear()
		if err == nil {
			err = p.reportMigration(r, "the others were copied; run it again")
		}
		if err != nil || every == 0 {
			return err
		}
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-cmd.Context().Done():
			timer.Stop()
			return nil // stopped by the user between two copies
		}
	}
}

// copyTo updates a copy of all sessions of a store in a directory. It reads them through
// the gateway, or one in this process.
func (p storeCommands) copyTo(ctx context.Context, st *sessionStore, dir string, bar *progress.Bar, report func(string)) (r *migrate.Report, err error) {
	if p.copy == nil {
		return nil, failure.Of(firn.ErrUnsupported, "this program cannot copy sessions")
	}
	settings, err := p.settings()
	if err != nil {
		return nil, err
	}
	c, release, err := p.connect(ctx, GatewayOptions{ReadOnly: true, Report: func(string) {}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	carrying := CopyOptions{Settings: settings, Source: c, To: dir, Report: report, Progress: bar.Phase}
	if st.gateway != "" {
		carrying.From = st.gateway
	}
	return p.copy(ctx, carrying)
}
