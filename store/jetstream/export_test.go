package jetstream

import (
	"context"

	"github.com/nats-io/nats.go"
)

// Dial connects to a server in this process, for tests that inspect a store's data.
func (s *Server) Dial() (*nats.Conn, error) { return nats.Connect("", nats.InProcessServer(s.server)) }

// Keep runs one round of the background work.
func (st *Store) Keep(ctx context.Context) { st.keeper.sealDue(ctx) }

// KeepIndex does the same for the index.
func (st *Store) KeepIndex(ctx context.Context, few int) { st.keeper.index(ctx, few) }

// ManyMessages is the number of messages that a session in use may have after its seal.
const ManyMessages = manyMessages

// CountBatch returns the number of messages in a batch of a stream.
func (st *Store) CountBatch(ctx context.Context, stream string) (int, error) {
	messages, err := st.engine.batch(ctx, stream, ">", 1)
	return len(messages), err
}

// ConnectedServer returns the name of the server that a store is connected to; empty if none.
func ConnectedServer(st *Store) string {
	if !st.engine.nc.IsConnected() {
		return ""
	}
	return st.engine.nc.ConnectedServerName()
}
