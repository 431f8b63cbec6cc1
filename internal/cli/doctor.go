package cli

import (
	"github.com/spf13/cobra"

	"firn/internal/doctor"
)

func (p *program) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		GroupID: "care",
		Short:   "Examine the home: sessions, permissions, keys, bin, logs, disk",
		Long: `Examine a home from top to bottom: verify every session, and look at who may read
the files, at the keys, at the bin, at what a purge or a power cut left undone, and
at the disk. Nothing is changed.

Exits with 8 if there is a fault; warnings are no faults.`,
		Example: "  firn doctor\n  firn doctor --home /srv/firn --json",
		Args:    none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, err := p.target(nil)
			if err != nil {
				return err
			}
			bar := p.newBar("reading")
			report, err := doctor.Examine(cmd.Context(), home, doctor.Options{Progress: bar.Set})
			bar.Clear()
			if err != nil {
				return err
			}
			if p.elsewhere(nil) {
				p.note("the sessions are not in files, and were not looked at; firn verify does")
			}
			return p.report(report)
		},
	}
}
