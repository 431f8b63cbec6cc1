package cli

import (
	"github.com/spf13/cobra"

	"firn.dev/internal/ops/doctor"
)

func (p checkCommands) repairCommand() *cobra.Command {
	var apply, plan bool
	cmd := &cobra.Command{
		Use:     "repair [SESSION|FILE]",
		GroupID: "care",
		Short:   "Mend what adding to a file can mend (a plan, unless --apply)",
		Long: `Say what can be mended in a session, or in all sessions of the home, and with
--apply do it.

A repair only adds to a transcript: the newline that its last line lacks, a
stand-in for an entry that is lost, a new head if the old one leads in a circle. The
one thing that is ever cut is an unfinished last line, which is saved in a file of
its own first; whoever opens the session to write does the same. All else that is
damaged is left as it is, and is read around.

Before that, commit logs that a process left behind when it died are replayed: what
a power cut took from transcripts of the home is put back, and the logs are removed.`,
		Example: "  firn repair\n  firn repair 0198c5a2 --apply",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if apply && plan {
				return usage(cmd, "firn repair either plans or applies, not both")
			}
			target, st, err := p.resolveTarget(cmd, args)
			if err == nil && st != nil {
				err = st.mustBeFiles("repair sessions", "firn verify tells what is damaged; what a mirror or a backup has can be carried back with firn migrate")
			}
			if err != nil {
				return err
			}
			return p.repair(cmd, target, apply)
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "do it")
	cmd.Flags().BoolVar(&plan, "plan", false, "only say what would be done (the default)")
	return cmd
}

func (p checkCommands) repair(cmd *cobra.Command, target doctor.Target, apply bool) error {
	do := doctor.MakePlan
	if apply {
		do = doctor.Repair
	}
	bar := p.newBar("reading")
	plan, err := do(cmd.Context(), target, doctor.Options{Progress: bar.Set})
	bar.Clear()
	if err != nil {
		return err
	}
	if err := p.print(plan, plan.Text); err != nil {
		return err
	}
	return repaired(plan)
}

// repaired returns the error of a repair: that of the failure if every step failed, or the
// error of a partial failure.
func repaired(plan *doctor.Plan) error {
	switch failed := len(plan.Failed); {
	case failed == 0:
		return nil
	case failed == 1 && len(plan.Steps) == 0:
		return plan.Err()
	}
	return errPartial
}
