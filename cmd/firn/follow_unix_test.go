//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"firn"
	"firn/store"
)

// firnIn runs firn on a home and returns what it prints.
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

// TestFollow waits for what is added to a session by other processes, with and
// without a gateway.
func TestFollow(t *testing.T) {
	for _, served := range []bool{false, true} {
		home := t.TempDir()
		if served {
			serveHome(t, home)
		}
		id := firnIn(t, home, "new", "--title", "followed")
		firnIn(t, home, "append", id, "--user", "the first")
		out := newEar(t)
		tail := firnCommand(home, "tail", "-f", id)
		tail.Stdout = out
		if err := tail.Start(); err != nil {
			t.Fatal(err)
		}
		out.await("the first")
		firnIn(t, home, "append", id, "--user", "the second")
		out.await("the second")
		if err := tail.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if tail.Wait(); tail.ProcessState.ExitCode() != 130 {
			t.Errorf("it ended with %d", tail.ProcessState.ExitCode())
		}
		if n := strings.Count(out.String(), "the first"); n != 1 {
			t.Errorf("the first was told %d times", n)
		}
	}
}

// serveHome runs a gateway until the test ends.
func serveHome(t *testing.T, home string) {
	t.Helper()
	out := newEar(t)
	cmd := firnCommand(home, "serve", "--json")
	cmd.Stdout, cmd.Stderr = out, newEar(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.await(`"address"`)
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	})
}

// TestTwoChats lets two chats type into one session at once, through a gateway:
// there is one order, every message is answered, and nothing forks.
func TestTwoChats(t *testing.T) {
	home := t.TempDir()
	serveHome(t, home)
	firnIn(t, home, "chat", "-p", "Hello.")
	const each = 8
	var wait sync.WaitGroup
	for who := range 2 {
		wait.Go(func() {
			var lines strings.Builder
			for i := range each {
				fmt.Fprintf(&lines, "I am %c%d.\n", 'A'+who, i)
			}
			cmd := firnCommand(home, "chat")
			cmd.Stdin = strings.NewReader(lines.String())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("chat %d: %v\n%s", who, err, out)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wait.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("the chats do not end")
	}
	said := userSaid(t, home)
	for who := range 2 {
		at := 0
		for i := range each {
			text := fmt.Sprintf("I am %c%d.", 'A'+who, i)
			if n := strings.Count(said, text); n != 1 {
				t.Fatalf("%s was said %d times:\n%s", text, n, said)
			}
			next := strings.Index(said, text)
			if next < at {
				t.Errorf("%s is out of order", text)
			}
			at = next
		}
	}
	if tree := firnIn(t, home, "tree", "-", "-n", "all"); !strings.Contains(tree, ", 1 branch") {
		t.Errorf("the session has forked:\n%s", tree)
	}
}

// userSaid is all that the user said in the only session of a home.
func userSaid(t *testing.T, home string) string {
	t.Helper()
	var said strings.Builder
	for rec, err := range look(t, home).Read(t.Context(), onlySession(t, home), store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		if e, err := rec.Entry(); err == nil {
			if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleUser {
				said.WriteString(m.Text() + "\n")
			}
		}
	}
	return said.String()
}
