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
		Short:   "Repair sessions by appending to them (plans only, without --apply)",
		Long: `Show what can be repaired in a session, or in all sessions of the home; with
--apply, repair it.

A repair only appends to a transcript: a missing final newline, a placeholder
for a lost entry, a new head if the old one is part of a cycle. The only thing
ever cut is an incomplete last line, which is saved to a separate file first;
opening the session for writing does the same. All other damage stays as it is,
and readers skip what they cannot read.

Before that, commit logs of crashed processes are replayed: entries of
transcripts lost in a power failure are restored, and the logs are removed.`,
		Example: "  firn repair\n  firn repair 0198c5a2 --apply",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if apply && plan {
				return usage(cmd, "--plan and --apply cannot be combined")
			}
			target, st, err := p.resolveTarget(cmd, args)
			if err == nil && st != nil {
				err = st.mustBeFiles("repair sessions", "to list the damage: firn verify; to restore from a mirror or backup: firn migrate")
			}
			if err != nil {
				return err
			}
			return p.repair(cmd, target, apply)
		},
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "apply the repairs")
	cmd.Flags().BoolVar(&plan, "plan", false, "print the plan without changing anything (the default)")
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
