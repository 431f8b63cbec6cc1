package jetstream

import (
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/store"
)

// Damage is the error for a replica that lacks records or has wrong ones. It is an
// ErrCorrupt.
type Damage struct {
	Session firn.ID
	// At is the position of the first record that is missing or wrong.
	At store.Pos
	// Server is the server with the damaged replica, or the candidates.
	Server string
	// Detail describes the fault.
	Detail string
}

// Error names the session and the server.
func (d *Damage) Error() string {
	return fmt.Sprintf("session %s: corrupt at record %d in the replica of server %q: %s", d.Session, d.At, d.Server, d.Detail)
}

// Unwrap makes damage an ErrCorrupt.
func (d *Damage) Unwrap() error { return firn.ErrCorrupt }

// withoutLeader returns the error for records that a replica lacks while no leader responds.
// If it may only lag, the error is retryable.
func (st *connection) withoutLeader(id firn.ID, at store.Pos, fault, away error) error {
	if errors.Is(fault, errBehind) {
		return &Unavailable{Cause: fmt.Errorf("a replica does not have record %d of session %s (%w), and no leader responds: %w", at, id, fault, away)}
	}
	stream := st.names.stream(st.names.shard(id))
	server := fmt.Sprintf("one of those that keep %s, as seen from %s", stream, st.engine.nc.ConnectedServerName())
	return &Damage{id, at, server, fmt.Sprintf("%v; and no leader responds: %v", fault, away)}
}
