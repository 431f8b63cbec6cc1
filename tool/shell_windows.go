package tool

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// defaultShell is what runs commands.
var defaultShell = []string{"cmd", "/c"}

// prepare makes the command the first of a process group, and hands cmd.exe its
// line as it is: it does not read quotes as other programs do.
func prepare(cmd *exec.Cmd, program []string, command string) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	if len(program) == 2 && program[0] == "cmd" && program[1] == "/c" {
		cmd.SysProcAttr.CmdLine = `cmd /s /c "` + command + `"`
	}
}

// ask has nothing gentle to ask with: a process without a window hears nothing.
func ask(cmd *exec.Cmd) { end(cmd) }

// end ends the command and all that come from it, as far as they can be found.
func end(cmd *exec.Cmd) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
	_ = cmd.Process.Kill()
}

// abandon lets go of r. Who reads from it may only stop when those do who hold
// its other end: pipes cannot be given up here.
func abandon(*os.File) {}

// awaitAbandoned does not wait, as that could be for ever.
func awaitAbandoned(<-chan struct{}) {}
