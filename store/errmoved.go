package store

import (
	"fmt"

	"firn.dev"
)

// Moved ends a Follow of a session that was moved to another store. Its positions are no
// longer valid: read it again from the start.
type Moved struct{ ID firn.ID }

// Error implements error.
func (m *Moved) Error() string {
	return fmt.Sprintf("follow session %s: it was taken over, and all positions have changed", m.ID)
}

// Unwrap returns firn.ErrReplaced.
func (m *Moved) Unwrap() error { return firn.ErrReplaced }
