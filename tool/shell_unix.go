//go:build unix

package tool

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// defaultShell is what runs commands.
var defaultShell = []string{"sh", "-c"}

// prepare makes the command the first of a process group.
func prepare(cmd *exec.Cmd, _ []string, _ string) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// ask asks all of the group to end.
func ask(cmd *exec.Cmd) { signal(cmd, syscall.SIGTERM) }

// end makes all of the group end.
func end(cmd *exec.Cmd) { signal(cmd, syscall.SIGKILL) }

// signal sends to the group, which keeps the number of the command for as long
// as anyone is in it. That nobody is, is no failure.
func signal(cmd *exec.Cmd, s syscall.Signal) {
	_ = syscall.Kill(-cmd.Process.Pid, s)
}

// abandon makes who reads from r stop at once.
func abandon(r *os.File) { _ = r.SetReadDeadline(time.Unix(1, 0)) }

// awaitAbandoned waits for who was made to stop.
func awaitAbandoned(copied <-chan struct{}) { <-copied }
