//go:build unix

package local

import (
	"cmp"
	"context"
	"os/exec"
	"syscall"
)

// shell returns a command in the user's shell, as the leader of a process group that is
// killed as a whole.
func (m Machine) shell(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, cmp.Or(m.env("SHELL"), "/bin/sh"), "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}
