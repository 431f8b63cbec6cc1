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
	// Server is the one whose replica it is.
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

// suspect reports the nearest replica if it does not have what was written,
// although it has the message that came last: then it does not only lag.
func (st *Store) suspect(ctx context.Context, id firn.ID, at store.Pos, seq uint64, fault error) {
	shard := st.names.shard(id)
	stream := st.names.stream(shard)
	m, err := st.engine.lastNear(ctx, stream, st.names.all(shard))
	if err != nil || m == nil || m.seq < seq {
		return
	}
	d := &Damage{id, at, st.engine.server(), fault.Error()}
	st.opts.Report(fmt.Sprintf("%v; it is read from the leader %q instead", d, st.engine.leader(ctx, stream)))
}
