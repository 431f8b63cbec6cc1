package vfs

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// ListenUnix listens on a Unix socket at path that only the owner can connect to,
// regardless of the umask. The mode is set before the socket is bound to its name, so other
// users can never connect. Closing the listener does not remove the file, because it may
// belong to another process by then.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if outer := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), filePerm) }); outer != nil {
			return outer
		}
		return err
	}}
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l, nil
}

// PeerUID returns the user ID of the process at the other end of a Unix socket, as of the
// time it connected. known is false on systems that do not provide it.
func PeerUID(c *net.UnixConn) (uid int, known bool, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, true, err
	}
	var cred *unix.Ucred
	if outer := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); outer != nil {
		return 0, true, outer
	}
	if err != nil {
		return 0, true, err
	}
	return int(cred.Uid), true, nil
}
