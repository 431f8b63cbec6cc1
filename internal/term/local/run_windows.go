package local

import (
	"cmp"
	"context"
	"os/exec"
	"syscall"
)

// shell returns a command in the command interpreter. Its children are not killed with it.
func (m Machine) shell(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, cmp.Or(m.env("COMSPEC"), "cmd.exe"))
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `/s /c "` + command + `"`}
	return cmd
}
