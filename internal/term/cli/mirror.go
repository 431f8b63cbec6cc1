package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/ops/migrate"
	"firn.dev/internal/render/progress"
)

func (p storeCommands) mirrorCommand() *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use:     "mirror [DIRECTORY]",
		GroupID: "care",
		Short:   "Keep a copy of all sessions as plain files",
		Long: `Bring a copy of all sessions up to date: plain JSONL files in a directory, which
firn --home DIRECTORY reads like any other home. Only what is new is copied; what was
purged is purged there too. It is a copy: what somebody adds there is lost.

Without a directory it is store.mirror of the settings. A gateway does the same by
itself, every store.mirror_every. The sessions are those of the store that the home
uses, whatever that is; if a gateway serves the home, or --gateway names one, they are
read through it.

With --every it goes on, that often, until it is stopped.`,
		Example: "  firn mirror /backup/firn\n  firn --home /backup/firn --store file: ls",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(cmd, "firn mirror takes one directory, not %d", len(args))
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&every, "every", 0, "do it again after that `long`, until stopped")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if every < 0 || every > 0 && every < time.Second {
			return usage(cmd, "--every wants a second or more")
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
		return usage(cmd, "name a directory for the copy, or set store.mirror")
	}
	for {
		bar := p.newBar("copying")
		r, err := p.copyTo(cmd.Context(), st, dir, bar, p.note)
		bar.Clear()
		if err == nil {
			err = p.reportMigration(r, "the others are copied; run it again")
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
		return nil, fmt.Errorf("make a copy: this program cannot: %w", firn.ErrUnsupported)
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
