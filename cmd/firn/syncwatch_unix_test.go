//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSyncWatch watches a home that a gateway serves: it syncs at once and soon after a change,
// names a target that fails once, and ends with Ctrl-C.
func TestSyncWatch(t *testing.T) {
	home, share, broken := t.TempDir(), t.TempDir(), t.TempDir()
	session := strings.TrimSpace(outputs(t, home, "new", "--title", "watched"))
	outputs(t, home, "sync", "add", "share", share)
	outputs(t, home, "sync", "add", "broken", broken)
	if err := os.RemoveAll(broken); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, nil, 0o600); err != nil { // no folder can be created there
		t.Fatal(err)
	}
	startServe(t, home)
	watch := program(home, "sync", "--watch", "--every", "1h")
	out, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	watch.Stderr = &errs
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	defer watch.Process.Kill()
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	if line := <-lines; !strings.HasPrefix(line, "share: published ") {
		t.Fatalf("the line is %q\n%s", line, errs.String())
	}
	for n, synced := 0, false; !synced; n++ { // the watch may not follow the gateway yet
		outputs(t, home, "rename", session, fmt.Sprint("title ", n))
		select {
		case line, ok := <-lines:
			synced = strings.HasPrefix(line, "share: published ")
			if !ok || !synced && !strings.HasPrefix(line, "  session ") { // a change that the last sync lists
				t.Fatalf("the line is %q\n%s", line, errs.String())
			}
		case <-time.After(5 * time.Second):
		}
	}
	if err := watch.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for range lines {
	}
	if err := watch.Wait(); err != nil {
		t.Errorf("the watch ended with %v\n%s", err, errs.String())
	}
	if n := strings.Count(errs.String(), "sync with broken: "); n != 1 {
		t.Errorf("the target that fails is named %d times:\n%s", n, errs.String())
	}
}
