package jetstream

import (
	"context"
	"fmt"

	"firn"
	"firn/store"
)

// Damage says that a replica does not have what was written. It is an
// ErrCorrupt.
type Damage struct {
	Session firn.ID
	// At is the position of the first record that is missing or wrong.
	At store.Pos
	// Server is the one whose replica it is, or those that it may be.
	Server string
	// Detail says what was found.
	Detail string
}

// Error names the session and the server.
func (d *Damage) Error() string {
	return fmt.Sprintf("session %s: corrupt at record %d in the replica of server %q: %s", d.Session, d.At, d.Server, d.Detail)
}

// Unwrap makes damage an ErrCorrupt.
func (d *Damage) Unwrap() error { return firn.ErrCorrupt }

// damage makes the error for records that no server can be found to have.
func (st *Store) damage(id firn.ID, at store.Pos, fault error) error {
	stream := st.names.stream(st.names.shard(id))
	return &Damage{id, at, fmt.Sprintf("one of those that keep %s, as seen from %s", stream, st.engine.nc.ConnectedServerName()), fault.Error()}
}

// suspect reports which server does not have a message that the leader has, if
// it has a later one: then it does not only lag.
func (st *Store) suspect(ctx context.Context, id firn.ID, at store.Pos, seq, later uint64, fault error) {
	stream := st.names.stream(st.names.shard(id))
	for _, server := range st.engine.without(ctx, stream, seq, later) {
		d := &Damage{id, at, server, fmt.Sprintf("message %d is missing or not what was written, found since %v", seq, fault)}
		st.opts.Report(fmt.Sprintf("%v; it is read from the leader %q instead", d, st.engine.leader(ctx, stream)))
	}
}
