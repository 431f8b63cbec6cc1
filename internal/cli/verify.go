package cli

import (
	"github.com/spf13/cobra"

	"firn/internal/doctor"
)

func (p *program) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "verify [SESSION|FILE|DIRECTORY]",
		GroupID: "care",
		Short:   "Read every byte of sessions and say what is damaged",
		Long: `Read every byte of one session, or of all sessions of the home, and say what is
damaged. Nothing is changed.

A session is named by its id or the first 4 or more characters of it, or by the
path of its file, which may be anywhere. A directory means all files in it that
end in .jsonl. Of a whole home the indexes are compared with the sessions too.

Exits with 8 if there is a fault; warnings are no faults.`,
		Example: "  firn verify\n  firn verify 0198c5a2\n  firn verify ~/.pi/agent/sessions --json",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := p.target(args)
			if err != nil {
				return err
			}
			bar := p.newBar("reading")
			report, err := doctor.Verify(cmd.Context(), target, doctor.Options{Progress: bar.set})
			if err == nil {
				err = doctor.CompareIndexes(cmd.Context(), target, report)
			}
			bar.clear()
			if err != nil {
				return err
			}
			return p.report(report)
		},
	}
}

// report prints a report and makes an exit code of it.
func (p *program) report(r *doctor.Report) error {
	if err := p.print(r, r.Text); err != nil {
		return err
	}
	if !r.OK() {
		return errIntegrity
	}
	return nil
}
