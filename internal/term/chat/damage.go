package chat

import (
	"context"
	"fmt"

	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// mostDamage is how many damaged places the chat names one by one.
const mostDamage = 5

// tellDamage names what the model is not sent because it could not be read, and
// what is out of place. It says nothing of what is not live.
func (c *chat) tellDamage(s wire.Session) {
	for _, line := range damageLines(s) {
		c.screen.say("%s", line)
	}
}

// warn is tellDamage before a question that is asked alone. It is told whether or
// not somebody sits there.
func (c *chat) warn(ctx context.Context, to screen) error {
	s, err := c.look(ctx)
	if err != nil {
		return err
	}
	for _, line := range damageLines(s) {
		to.say("%s", line)
	}
	return nil
}

// damageLines name the damage in the live part of a session, and what to do.
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
		lines = append(lines, "The model is not sent what could not be read.")
	}
	return append(lines, fmt.Sprintf("run: firn verify %s", s.ID))
}
