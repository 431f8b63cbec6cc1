package vfs

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// ListenUnix listens on a Unix socket at path that only the owner can connect
// to, whatever the umask is. The mode is set before the socket has a name, so
// there is no moment at which others can connect. Closing the listener leaves
// the file: it may be another process's by then.
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

// PeerUID returns the user id of the process at the other end of a Unix socket,
// as it was when that process connected. known is false where the system cannot
// tell.
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
