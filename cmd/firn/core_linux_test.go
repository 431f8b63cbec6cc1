package main

import (
	"fmt"
	"os"
	"regexp"
	"syscall"
	"testing"

	"firn.dev/internal/term/line/linetest"
)

// TestNoCoreDump checks the limits of a running gateway.
func TestNoCoreDump(t *testing.T) {
	out := linetest.NewRecorder(t)
	cmd := firnCommand(t.TempDir(), "serve", "--json")
	cmd.Stdout, cmd.Stderr = out, linetest.NewRecorder(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Await(`"address"`)
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", cmd.Process.Pid))
	if err != nil || !regexp.MustCompile(`(?m)^Max core file size +[01] `).Match(limits) {
		t.Errorf("the limits are %s, %v", limits, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
