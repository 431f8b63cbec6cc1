package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInterrupt presses Ctrl-C while a large file is being read.
func TestInterrupt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.jsonl")
	line := `{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-15T02:45:47.243Z","message":{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("x", 8000) + `"}],"timestamp":1794710747206}}` + "\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(line, 8000)), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	output, code := interrupt(t, exec.Command("firn", "verify", "--progress", path))
	if code != 130 || !strings.Contains(output, "firn: interrupted\n") {
		t.Errorf("it exited with %d and printed %q", code, output)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime()) {
		t.Error("the file has changed")
	}
}

// interrupt starts a command and interrupts it in the middle of its output. A small pipe
// buffer ensures that the command is still writing. It returns the output and the exit
// code.
func interrupt(t *testing.T, cmd *exec.Cmd) (message string, code int) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	const setPipeSize = 1031 // F_SETPIPE_SZ
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, write.Fd(), setPipeSize, 4096); errno != 0 {
		t.Fatal(errno)
	}
	cmd.Stderr = write
	if err := errors.Join(cmd.Start(), write.Close()); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReaderSize(read, 16)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return first + string(rest), cmd.ProcessState.ExitCode()
}
