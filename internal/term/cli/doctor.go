package cli

import (
	"context"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/render/prose"
)

func (p checkCommands) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		GroupID: "care",
		Short:   "Check the home: sessions, permissions, keys, trash bin, logs, disk",
		Long: `Check a home: verify every session, and check file permissions, keys, the
trash bin, unfinished work of a purge or power failure, and the disk. Nothing
is changed. Sessions in a store other than the home's own files are
checked there.

Faults accepted with firn verify --accept do not count.

Exits with 8 if there is a fault; warnings do not count.`,
		Example: "  firn doctor\n  firn doctor --home /srv/firn --json",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.mustBeOurs(); err != nil {
				return err
			}
			st, err := p.storeInUse(cmd.Context())
			if err == nil {
				err = st.mustBeLocal("check the home")
			}
			if err != nil {
				return err
			}
			report, err := p.examine(cmd, st)
			if err != nil {
				return err
			}
			return p.report(report)
		},
	}
}

// examine examines the home. Sessions outside of its own files are checked by the gateway.
func (p checkCommands) examine(cmd *cobra.Command, st *sessionStore) (*doctor.Report, error) {
	home, err := st.homeTarget()
	if err != nil {
		return nil, err
	}
	opts := doctor.Options{ModelHint: config.ModelHint}
	if settings, err := p.settings(); err == nil {
		opts.Model = settings.Search.Embeddings.Dir
	} else { // the files of the home are examined whatever the settings are
		p.notef("note: the settings are invalid: %s\nhint: for details: firn config check\n", prose.OneLine(err.Error(), 200))
	}
	if st.files != st.home {
		there := doctor.Elsewhere{Store: st.url}
		err := p.with(readOnly, func(ctx context.Context, c *client.Client, _ []string) error {
			r, err := p.checkRemote(ctx, c)
			if err == nil {
				err = r.setAside(st.home, false, "", p.now())
			}
			if err != nil {
				return err
			}
			there.Accepted = r.Accepted
			there.Sessions, there.Entries, there.Bytes = r.Of, r.Entries, r.Bytes
			for _, f := range r.Faults {
				there.Findings = append(there.Findings, doctor.Finding{Severity: doctor.Fault, Kind: doctor.Damaged, Session: firn.ID(f.Session), Message: f.What, Hint: "for details: firn verify"})
			}
			for _, d := range r.Differences {
				there.Findings = append(there.Findings, doctor.Finding{Severity: doctor.Info, Kind: doctor.Index, Session: firn.ID(d.Session), File: "index", Message: d.Detail, Hint: "it is updated at the next use"})
			}
			return nil
		})(cmd, nil)
		if err != nil {
			return nil, err
		}
		return doctor.ExamineRest(cmd.Context(), home, there, opts)
	}
	bar := p.newBar("reading")
	defer bar.Clear()
	opts.Progress = bar.Set
	return doctor.Examine(cmd.Context(), home, opts)
}
