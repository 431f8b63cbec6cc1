//go:build !linux && !windows

package vfs

import (
	"context"
	"net"
	"os"
	"path/filepath"
)

// ListenUnix listens on a Unix socket at path that only the owner can connect to,
// regardless of the umask. The socket is created in a directory that only the owner can
// enter and moved to path after its mode is set, so other users can never connect. Closing
// the listener does not remove the file, because it may belong to another process by then.
func ListenUnix(ctx context.Context, path string) (net.Listener, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return nil, err
	}
	defer os.Remove(dir)
	made := filepath.Join(dir, "s")
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", made)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err = os.Chmod(made, filePerm); err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		l.Close()
		os.Remove(made)
		return nil, err
	}
	return l, nil
}
