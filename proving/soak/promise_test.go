//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPromise runs the scenario with a session of 20 MB; make promise runs it with 10 GB.
func TestPromise(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		t.Log("not root: no disk can be filled")
		return
	}
	dir, err := os.MkdirTemp("", "promise") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "firn")
	if out, err := exec.Command("go", "build", "-o", program, "firn.dev/cmd/firn").CombinedOutput(); err != nil {
		t.Fatalf("build firn: %v\n%s", err, out)
	}
	d, err := newMemoryDisk(dir, 200<<20)
	if err != nil {
		t.Fatalf("no disk can be filled (this requires root): %v", err)
	}
	if err := keepPromise(t.Context(), options{Dir: dir, Program: program, Log: t.Output()}, 20_000_000, d); err != nil {
		t.Error(err)
	}
}
