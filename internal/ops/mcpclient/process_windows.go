package mcpclient

import "os/exec"

// inGroup does nothing: only the process itself is ended.
func inGroup(*exec.Cmd) {}

// terminateGroup does nothing: a process without a console cannot be asked.
func terminateGroup(*exec.Cmd) {}

// killGroup kills the process.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
