package jetstream

import "github.com/nats-io/nats.go"

// Dial connects to a server in this process, for tests that look behind a store.
func (s *Server) Dial() (*nats.Conn, error) { return nats.Connect("", nats.InProcessServer(s.server)) }
