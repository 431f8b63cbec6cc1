package cli

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// damageHelp describes in help texts how reading commands handle damage.
const damageHelp = `Entries that cannot be read are marked ⚠ in place; everything else is shown.
If content was lost, the command exits with 8, as firn verify does.`

// damaged counts the damage that a command found in a session.
type damaged struct {
	lost, misplaced int
}

// add counts damage.
func (d *damaged) add(list ...wire.Damage) {
	for _, one := range list {
		if one.Lost {
			d.lost += one.Count()
		} else {
			d.misplaced += one.Count()
		}
	}
}

// entry counts the damage of an entry, if any.
func (d *damaged) entry(e wire.Entry) {
	if e.Damage != nil {
		d.add(*e.Damage)
	}
}

// damageError means that a part of a session could not be read. The rest was printed.
type damageError struct{ message string }

func (e *damageError) Error() string { return e.message }

// Unwrap returns ErrCorrupt, which determines the exit code.
func (e *damageError) Unwrap() error { return firn.ErrCorrupt }

// reportDamage prints the damage of a session and the remedy on stderr. It returns an error
// if content was lost, or if the session has a fault, such as no complete header. For
// misplaced entries it only prints a warning, unless --json is set, since the JSON includes
// them.
func (p *program) reportDamage(s wire.Session, d damaged) error {
	id, hint := s.ID, damageHint(s.ID)
	switch {
	case d.lost == 0 && s.Fault != "":
		return &hinted{&damageError{fmt.Sprintf("session %s is damaged: %s", id, prose.OneLine(s.Fault, 200))}, hint}
	case d.lost > 0:
		return &hinted{&damageError{fmt.Sprintf("%s of session %s cannot be read", prose.Plural(d.lost, "place"), id)}, hint}
	case d.misplaced > 0:
		p.notef("firn: %s in the wrong order in session %s\nhint: %s\n", prose.Count(d.misplaced, "entry is", "entries are"), id, hint)
	}
	return nil
}

// damageHint returns the hint for damage in a session.
func damageHint(id firn.ID) string {
	return fmt.Sprintf("run firn verify %s, then firn repair %s; a mirror or backup may still have the lost data", id, id)
}

// unreadRows returns the rows of firn show about damage.
func unreadRows(s wire.Session, list []wire.Damage) [][]string {
	var d damaged
	d.add(list...)
	lost := max(d.lost, s.Unread)
	var rows [][]string
	if lost > 0 {
		rows = append(rows, []string{"damage", fmt.Sprintf("⚠ %s cannot be read; run firn verify %s", prose.Plural(lost, "place"), s.ID)})
	}
	if d.misplaced > 0 {
		rows = append(rows, []string{"damage", fmt.Sprintf("⚠ %s in the wrong order; run firn verify %s", prose.Count(d.misplaced, "entry is", "entries are"), s.ID)})
	}
	for i, one := range list {
		if i == mostListed {
			rows = append(rows, []string{"", fmt.Sprintf("… and %d more", len(list)-i)})
			break
		}
		rows = append(rows, []string{"", prose.OneLine(one.String(), 200)})
	}
	return rows
}

// mostShown is the maximum size in bytes of a session that firn show reads completely for
// damage.
const mostShown = 64 << 20

// damageOf returns the damage of a session. For very long or unreadable sessions it
// covers only the live part.
func (p *program) damageOf(ctx context.Context, c *client.Client, s wire.Session) ([]wire.Damage, error) {
	if s.Bytes <= mostShown && s.Fault == "" {
		return c.Damage(ctx, s.ID)
	}
	if s.State == nil {
		return nil, nil
	}
	return s.State.Damage, nil
}

// mostListed is the number of damaged entries that are listed individually.
const mostListed = 10
