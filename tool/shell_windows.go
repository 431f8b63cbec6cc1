package tool

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// defaultShell runs commands.
var defaultShell = []string{"cmd", "/c"}

// processGroup is the process group of a command. It survives if this process is killed.
type processGroup struct{ cmd *exec.Cmd }

// startGroup starts the command as a group leader. Cmd.exe gets its command line unchanged,
// because its quoting rules differ from those of other programs.
func startGroup(cmd *exec.Cmd, program []string, command string) (*processGroup, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	if len(program) == 2 && program[0] == "cmd" && program[1] == "/c" {
		cmd.SysProcAttr.CmdLine = `cmd /s /c "` + command + `"`
	}
	return &processGroup{cmd}, cmd.Start()
}

// terminate kills the group: a process without a window cannot be asked to terminate.
func (g *processGroup) terminate() { g.kill() }

// kill ends the command and its descendants, as far as they can be found.
func (g *processGroup) kill() {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(g.cmd.Process.Pid)).Run()
	_ = g.cmd.Process.Kill()
}

// close does nothing on Windows.
func (g *processGroup) close() {}

// abandon does nothing on Windows: a read from a pipe ends only when its other end is
// closed.
func abandon(*os.File) {}

// waitCopied does not wait, because the reader may never end.
func waitCopied(<-chan struct{}) {}
