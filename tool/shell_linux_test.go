package tool_test

import (
	"os"
	"os/exec"
	"testing"
)

// strayer starts a process that leaves the process group, and waits until it runs.
const strayer = `echo begun; setsid sh -c 'trap "" HUP INT TERM; exec 3>alive; echo up >&3; touch ready; setsid sleep 1000 & exec sleep 1000' & while [ ! -e ready ]; do sleep 0.01; done`

// TestDetachedProcessesEnd checks that a process that leaves the process group of a command
// and keeps its output open ends with the command.
func TestDetachedProcessesEnd(t *testing.T) {
	dir := t.TempDir()
	path := fifo(t, dir)
	done := start(t.Context(), t, impatient(t, dir), args{"command": strayer})
	alive := await(t, path)
	if r := <-done; r.err != nil || r.text != "begun\n" {
		t.Errorf("got %q, %v", r.text, r.err)
	}
	alive.ends()
}

// strayChild names the directory in which TestStrayChild runs a command.
const strayChild = "FIRN_STRAY_CHILD"

// TestStrayChild is the process to be killed. It does nothing unless it is started for
// that.
func TestStrayChild(t *testing.T) {
	if dir := os.Getenv(strayChild); dir != "" {
		call(t, shell(t, dir), args{"command": strayer + "; sleep 1000"})
	}
}

// TestDetachedProcessesEndWithParent kills the process that runs a command with SIGKILL:
// processes that left the command's group end too.
func TestDetachedProcessesEndWithParent(t *testing.T) {
	dir := t.TempDir()
	path := fifo(t, dir)
	child := exec.Command(os.Args[0], "-test.run", "^TestStrayChild$")
	child.Env = append(os.Environ(), strayChild+"="+dir)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	alive := await(t, path)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	alive.ends()
}
