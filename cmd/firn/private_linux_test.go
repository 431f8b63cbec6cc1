package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"firn.dev/internal/term/line/linetest"
)

// TestEnvironmentIsPrivate: another process of the same user, as the commands that
// agents run are, cannot read the environment of a gateway or of a chat.
func TestEnvironmentIsPrivate(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("this test must run as root: only root can become another user")
	}
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	read := func(pid int) (string, error) {
		cmd := exec.Command("cat", fmt.Sprintf("/proc/%d/environ", pid))
		cmd.Dir, cmd.SysProcAttr = "/", nobody
		out, err := cmd.Output()
		return string(out), err
	}
	// An unprotected process must be readable, or the test checks nothing.
	sleep := exec.Command("sleep", "1000")
	sleep.Env, sleep.Dir, sleep.SysProcAttr = []string{"SECRET=tulip"}, "/", nobody
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleep.Wait() //nolint:errcheck // it is killed
	defer sleep.Process.Kill()
	if got, err := read(sleep.Process.Pid); err != nil || !strings.Contains(got, "tulip") {
		t.Fatalf("of another program %q is read, %v", got, err)
	}
	path, err := exec.LookPath("firn")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Open(path) // the user nobody may not be able to access its path
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	home, err := os.MkdirTemp("", "firn")
	if err == nil {
		err = os.Chown(home, 65534, 65534)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	out := linetest.NewRecorder(t)
	cmd := firnCommand(home, "serve", "--json")
	cmd.Path, cmd.Err, cmd.ExtraFiles = "/proc/self/fd/3", nil, []*os.File{program}
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=tulip", "HOME="+home)
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.SysProcAttr = out, linetest.NewRecorder(t), "/", nobody
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Await(`"address"`)
	if got, err := read(cmd.Process.Pid); err == nil || got != "" {
		t.Errorf("of the gateway %d bytes are read, %v", len(got), err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
