//go:build linux && soak

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestSoak injects every fault once. It needs root and a separate disk, so only make
// soak-short runs it; make soak-hour runs for an hour.
func TestSoak(t *testing.T) {
	dir, err := os.MkdirTemp("", "soak") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "firn")
	if out, err := exec.Command("go", "build", "-o", program, "firn.dev/cmd/firn").CombinedOutput(); err != nil {
		t.Fatalf("build firn: %v\n%s", err, out)
	}
	s, err := soakFor(t.Context(), options{
		Dir: dir, Program: program, Every: 500 * time.Millisecond, Pause: 100 * time.Millisecond, Think: 60 * time.Millisecond,
		Sessions: 4, Making: 20, Between: 6, Seed: uint64(time.Now().UnixNano()), Strict: os.Getenv("CI") != "", Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(s.table())
	if !s.OK {
		t.Error("see above")
	}
	if s.Sent == 0 || s.Noted == 0 || s.Counts["events followed"] == 0 || len(s.Samples) == 0 {
		t.Error("nothing was done")
	}
}
