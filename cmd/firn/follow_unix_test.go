//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"firn.dev/internal/term/line/linetest"
)

// firnIn runs firn on a home and returns its output.
func firnIn(t *testing.T, home string, args ...string) string {
	t.Helper()
	out, err := firnCommand(home, args...).Output()
	if err != nil {
		t.Fatalf("firn %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

func firnCommand(home string, args ...string) *exec.Cmd {
	cmd := exec.Command("firn", args...)
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=")
	return cmd
}

// TestFollow waits for entries added by other processes, with and without a gateway.
func TestFollow(t *testing.T) {
	for _, served := range []bool{false, true} {
		home := t.TempDir()
		if served {
			serveHome(t, home)
		}
		id := firnIn(t, home, "new", "--title", "followed")
		firnIn(t, home, "append", id, "--user", "the first")
		out := linetest.NewRecorder(t)
		tail := firnCommand(home, "tail", "-f", id)
		tail.Stdout = out
		if err := tail.Start(); err != nil {
			t.Fatal(err)
		}
		out.Await("the first")
		// Only firn itself writes such entries, so they go into the file.
		file, err := os.OpenFile(filepath.Join(home, "agents", "main", "sessions", id+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString(`{"type":"custom","id":"d1","customType":"firn.draft","data":{"answer":"x","text":"half"},"timestamp":"2026-11-10T10:00:00.000Z"}` + "\n" +
			`{"type":"custom","id":"d2","parentId":"d1","customType":"firn.usage","data":{},"timestamp":"2026-11-10T10:00:00.000Z"}` + "\n")
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		firnIn(t, home, "append", id, "--user", "the second")
		out.Await("the second")
		if err := tail.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if tail.Wait(); tail.ProcessState.ExitCode() != 130 {
			t.Errorf("it ended with %d", tail.ProcessState.ExitCode())
		}
		if n := strings.Count(out.String(), "the first"); n != 1 {
			t.Errorf("the first was printed %d times", n)
		}
		if strings.Contains(out.String(), "custom") { // an answer that is being given, and counts
			t.Errorf("it printed %s", out.String())
		}
	}
}

// serveHome runs a gateway until the test ends.
func serveHome(t *testing.T, home string) {
	t.Helper()
	serveWith(t, firnCommand(home).Env)
}

// serveWith runs a gateway with an environment until the test ends.
func serveWith(t *testing.T, env []string) {
	t.Helper()
	out := linetest.NewRecorder(t)
	cmd := exec.Command("firn", "serve", "--json")
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = out, linetest.NewRecorder(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Await(`"address"`)
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	})
}
