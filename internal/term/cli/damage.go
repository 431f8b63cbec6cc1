package cli

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// damageHelp says what reading commands do about damage.
const damageHelp = `What cannot be read is named at its place with ⚠, everything else is shown. If content
was lost the command ends with 8, as firn verify does.`

// damaged counts the damage that a command met in a session.
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

// entry counts the damage of an entry, if there is any.
func (d *damaged) entry(e wire.Entry) {
	if e.Damage != nil {
		d.add(*e.Damage)
	}
}

// unreadError says that part of a session could not be read. All else was shown.
type unreadError struct{ message string }

func (e *unreadError) Error() string { return e.message }

// Unwrap makes it an ErrCorrupt, and so an exit code.
func (e *unreadError) Unwrap() error { return firn.ErrCorrupt }

// conclude says on stderr what a command could not read of a session, and what to
// do about it. It returns an error if content was lost; if entries are only out of
// place it prints a warning, unless JSON is wanted, which has it.
func (p *program) conclude(id firn.ID, d damaged) error {
	hint := damageHint(id)
	switch {
	case d.lost > 0:
		return &hinted{&unreadError{fmt.Sprintf("%s of session %s could not be read", prose.Plural(d.lost, "place"), id)}, hint}
	case d.misplaced > 0:
		p.say("firn: %s out of place in session %s\nhint: %s\n", prose.Count(d.misplaced, "entry is", "entries are"), id, hint)
	}
	return nil
}

// damageHint says what can be done about damage in a session.
func damageHint(id firn.ID) string {
	return fmt.Sprintf("run: firn verify %s, then: firn repair %s; a mirror or backup may still have what is lost", id, id)
}

// unreadRows is the line of firn show about what cannot be read.
func unreadRows(s wire.Session, list []wire.Damage) [][]string {
	var d damaged
	d.add(list...)
	lost := max(d.lost, s.Unread)
	var rows [][]string
	if lost > 0 {
		rows = append(rows, []string{"damage", fmt.Sprintf("⚠ %s cannot be read; run: firn verify %s", prose.Plural(lost, "place"), s.ID)})
	}
	if d.misplaced > 0 {
		rows = append(rows, []string{"damage", fmt.Sprintf("⚠ %s out of place; run: firn verify %s", prose.Count(d.misplaced, "entry is", "entries are"), s.ID)})
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

// mostShown is how large a session is, in bytes, that firn show reads for damage.
const mostShown = 64 << 20

// damageOf lists the damage of a session: of all of it, unless it is very long.
func (p *program) damageOf(ctx context.Context, c *client.Client, s wire.Session) ([]wire.Damage, error) {
	if s.Bytes <= mostShown && s.Fault == "" {
		return c.Damage(ctx, s.ID)
	}
	if s.State == nil {
		return nil, nil
	}
	return s.State.Damage, nil
}

// mostListed is how many damaged places are listed one by one.
const mostListed = 10
