package jetstream

import (
	"errors"
	"fmt"
	"time"

	"firn.dev"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a standalone NATS server in this process that no other process can reach. It is
// for tests and for single machines that need the features of a cluster; plain files are
// faster.
type Server struct{ server *server.Server }

// readyWait is the maximum startup time of a server.
const readyWait = 30 * time.Second

// NewServer starts a server that stores its files in dir and syncs them before it
// acknowledges.
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

// Close stops the server and waits for it to exit.
func (s *Server) Close() error {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	return nil
}
