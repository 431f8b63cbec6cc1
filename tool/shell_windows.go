package tool

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// defaultShell is what runs commands.
var defaultShell = []string{"cmd", "/c"}

// processGroup is the process group of a command. If we are killed, it goes on.
type processGroup struct{ cmd *exec.Cmd }

// startGroup makes the command the first of a process group, and hands cmd.exe its
// line as it is: it does not read quotes as other programs do.
func startGroup(cmd *exec.Cmd, program []string, command string) (*processGroup, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	if len(program) == 2 && program[0] == "cmd" && program[1] == "/c" {
		cmd.SysProcAttr.CmdLine = `cmd /s /c "` + command + `"`
	}
	return &processGroup{cmd}, cmd.Start()
}

// ask has nothing gentle to ask with: a process without a window hears nothing.
func (g *processGroup) ask() { g.end() }

// end ends the command and all that come from it, as far as they can be found.
func (g *processGroup) end() {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(g.cmd.Process.Pid)).Run()
	_ = g.cmd.Process.Kill()
}

// close has nothing to let go of.
func (g *processGroup) close() {}

// abandon lets go of r. Who reads from it may only stop when those do who hold
// its other end: pipes cannot be given up here.
func abandon(*os.File) {}

// awaitAbandoned does not wait, as that could be for ever.
func awaitAbandoned(<-chan struct{}) {}
