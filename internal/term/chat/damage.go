package chat

import (
	"context"
	"fmt"

	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// mostDamage is the number of damaged entries that are listed individually.
const mostDamage = 5

// showDamage lists unreadable or misplaced entries, which are not sent to the model. It
// ignores damage outside of the live part.
func (c *chat) showDamage(s wire.Session) {
	for _, line := range damageLines(s) {
		c.screen.printf("%s", line)
	}
}

// warnDamage prints the damage before a single question, even if stderr is not a terminal.
func (c *chat) warnDamage(ctx context.Context, to screen) error {
	s, err := c.fetchSession(ctx)
	if err != nil {
		return err
	}
	for _, line := range damageLines(s) {
		to.printf("%s", line)
	}
	return nil
}

// damageLines describes the damage in the live part of a session, and the remedy.
func damageLines(s wire.Session) []string {
	if s.State == nil || len(s.State.Damage) == 0 {
		return nil
	}
	var lines []string
	lost := 0
	for i, d := range s.State.Damage {
		if d.Lost {
			lost += d.Count()
		}
		if i < mostDamage {
			lines = append(lines, prose.Damage(d))
		}
	}
	if n := len(s.State.Damage) - mostDamage; n > 0 {
		lines = append(lines, fmt.Sprintf("⚠ and %d more places", n))
	}
	if lost > 0 {
		lines = append(lines, "Unreadable entries are not sent to the model.")
	}
	return append(lines, fmt.Sprintf("run firn verify %s", s.ID))
}
