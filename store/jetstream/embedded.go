package jetstream

import (
	"errors"
	"fmt"
	"time"

	"firn.dev"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server in this process that stands alone: no other process
// can reach it. It is for one machine that wants what a cluster has, and for
// tests; plain files are faster.
type Server struct{ server *server.Server }

// readyWait is how long a server may take to be ready.
const readyWait = 30 * time.Second

// NewServer starts a server that keeps its files in dir, and syncs them before
// it acknowledges.
func NewServer(dir string) (*Server, error) {
	if dir == "" {
		return nil, fmt.Errorf("start server: %w: it has no directory", firn.ErrInvalid)
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "firn", DontListen: true, JetStream: true, StoreDir: dir, SyncAlways: true,
		NoSigs: true, NoLog: true, MaxPayload: 2 << 20,
	})
	if err != nil {
		return nil, fmt.Errorf("start server in %s: %w", dir, err)
	}
	go s.Start()
	if !s.ReadyForConnections(readyWait) {
		s.Shutdown()
		return nil, fmt.Errorf("start server in %s: %w", dir, errors.New("it does not get ready"))
	}
	return &Server{s}, nil
}

// Close stops the server and waits until it has.
func (s *Server) Close() error {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	return nil
}
