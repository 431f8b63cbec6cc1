package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWhoLeavesTheGroupIsNotWaitedFor has a child that takes the output with it
// where it cannot be followed.
func TestWhoLeavesTheGroupIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	path := fifo(t, dir)
	done := start(t.Context(), t, impatient(t, dir), args{"command": `echo begun; setsid sh -c 'echo $$ >pid; exec 3>alive; echo up >&3; touch ready; exec sleep 1000' & while [ ! -e ready ]; do sleep 0.01; done`})
	alive := await(t, path)
	if r := <-done; r.err != nil || r.text != "begun\n" {
		t.Errorf("got %q, %v", r.text, r.err)
	}
	kill(t, filepath.Join(dir, "pid"))
	alive.ends()
}

func kill(t *testing.T, pidFile string) {
	t.Helper()
	data, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if err := json.Unmarshal(data, &pid); err != nil || pid < 2 {
		t.Fatalf("the process is %q, %v", data, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
