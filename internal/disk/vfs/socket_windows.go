package vfs

import (
	"context"
	"net"
)

// ListenUnix listens on a Unix socket at path. The socket inherits the access list of its
// directory: in a user's profile, the user, the system and administrators can connect.
// Closing the listener does not remove the file, because it may belong to another process
// by then.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l, nil
}
