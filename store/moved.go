package store

import (
	"fmt"

	"firn.dev"
)

// Moved ends the following of a session that is kept elsewhere now, in a place
// where nothing has the position that it had: read it again from the start.
type Moved struct{ ID firn.ID }

// Error says what has happened.
func (m *Moved) Error() string {
	return fmt.Sprintf("follow session %s: it was taken over, and all positions have changed", m.ID)
}

// Unwrap makes it an ErrReplaced.
func (m *Moved) Unwrap() error { return firn.ErrReplaced }
