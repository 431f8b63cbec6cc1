//go:build darwin || freebsd

package vfs

import (
	"net"

	"golang.org/x/sys/unix"
)

// PeerUID returns the user ID of the process at the other end of a Unix socket, as of the
// time it connected. known is false on systems that do not provide it.
func PeerUID(c *net.UnixConn) (uid int, known bool, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, true, err
	}
	var cred *unix.Xucred
	if outer := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) }); outer != nil {
		return 0, true, outer
	}
	if err != nil {
		return 0, true, err
	}
	return int(cred.Uid), true, nil
}
