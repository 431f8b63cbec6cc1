package vfs

import (
	"context"
	"net"
)

// ListenUnix listens on a Unix socket at path. Who can connect is decided by the
// access list that the socket inherits from its directory: in a user's profile
// that is the user, the system and administrators. Closing the listener leaves
// the file: it may be another process's by then.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l, nil
}
